// Quantized networks as plans: QDQ units and dynamic quantization run on bytes between the operators, also through
// contexts. Results are within a quantum of the float operators' results.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "plugins/cpu/exec/context.h"
#include "plugins/cpu/exec/fuse.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::string Numbers(int64_t count, int low, int high, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i)
    text +=
        (i == 0 ? "" : ", ") + std::to_string(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
  return text + "]";
}

std::vector<float> Reals(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> reals(-2, 2);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = reals(random);
  return values;
}

// A residual network of a few layers. Its depthwise convolution has more than one block of channels.
std::string Network() {
  return R"(
in x: float[2,3,12,12]
const s: float[] = [0.03125]
const z: uint8[] = [128]
const s0: float[] = [0.0625]
const z0: uint8[] = [0]
const ws: float[72] = )" +
         [] {
           std::string scales = "[";
           for (int i = 0; i < 72; ++i) scales += (i == 0 ? "" : ", ") + std::to_string(0.004 + 0.0001 * i);
           return scales + "]";
         }() +
         R"(
const w1: int8[72,3,3,3] = )" +
         Numbers(72 * 27, -127, 127, 1) + R"(
const b1: float[72] = )" +
         Numbers(72, -1, 1, 2) + R"(
const w2: int8[72,1,3,3] = )" +
         Numbers(72 * 9, -127, 127, 3) + R"(
const w3: uint8[72,72,1,1] = )" +
         Numbers(72 * 72, 0, 255, 4) + R"(
const w3s: float[] = [0.003]
const w3z: uint8[] = [120]
const w4: int8[72,10] = )" +
         Numbers(720, -127, 127, 5) + R"(
const w4s: float[] = [0.01]
const w4z: int8[] = [0]
xq = QuantizeLinear@13(x, s, z) : uint8[2,3,12,12]
xd = DequantizeLinear@13(xq, s, z) : float[2,3,12,12]
w1d = DequantizeLinear@13<axis=0>(w1, ws) : float[72,3,3,3]
c1 = Conv@11<pads=[1,1,1,1]>(xd, w1d, b1) : float[2,72,12,12]
r1 = Relu@14(c1) : float[2,72,12,12]
q1 = QuantizeLinear@13(r1, s0, z0) : uint8[2,72,12,12]
d1 = DequantizeLinear@13(q1, s0, z0) : float[2,72,12,12]
p = MaxPool@12<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(d1) : float[2,72,6,6]
qp = QuantizeLinear@13(p, s0, z0) : uint8[2,72,6,6]
dp = DequantizeLinear@13(qp, s0, z0) : float[2,72,6,6]
w2d = DequantizeLinear@13<axis=0>(w2, ws) : float[72,1,3,3]
c2 = Conv@11<group=72, pads=[1,1,1,1]>(dp, w2d) : float[2,72,6,6]
q2 = QuantizeLinear@13(c2, s, z) : uint8[2,72,6,6]
d2 = DequantizeLinear@13(q2, s, z) : float[2,72,6,6]
w3d = DequantizeLinear@13(w3, w3s, w3z) : float[72,72,1,1]
c3 = Conv@11(d2, w3d) : float[2,72,6,6]
q3 = QuantizeLinear@13(c3, s, z) : uint8[2,72,6,6]
d3 = DequantizeLinear@13(q3, s, z) : float[2,72,6,6]
a = Add@14(d3, dp) : float[2,72,6,6]
q4 = QuantizeLinear@13(a, s0, z) : uint8[2,72,6,6]
d4 = DequantizeLinear@13(q4, s0, z) : float[2,72,6,6]
t = Sigmoid@13(d4) : float[2,72,6,6]
q5 = QuantizeLinear@13(t, s, z0) : uint8[2,72,6,6]
d5 = DequantizeLinear@13(q5, s, z0) : float[2,72,6,6]
g = GlobalAveragePool@1(d5) : float[2,72,1,1]
q6 = QuantizeLinear@13(g, s, z0) : uint8[2,72,1,1]
d6 = DequantizeLinear@13(q6, s, z0) : float[2,72,1,1]
f = Flatten@13(d6) : float[2,72]
q7 = QuantizeLinear@13(f, s, z0) : uint8[2,72]
d7 = DequantizeLinear@13(q7, s, z0) : float[2,72]
w4d = DequantizeLinear@13(w4, w4s, w4z) : float[72,10]
m = MatMul@13(d7, w4d) : float[2,10]
q8 = QuantizeLinear@13(m, s0, z) : uint8[2,10]
y = DequantizeLinear@13(q8, s0, z) : float[2,10]
out y
)";
}

kit::ir::Graph GraphOf(const std::string& text) {
  kit::ir::Graph graph = kit::ir::FromText(text);
  kit::ir::Check(graph);
  graph.name = "partition";
  return graph;
}

TEST(QuantizedPlan, StaysInBytesFromTheFirstQuantizeLinearToTheLastDequantizeLinear) {
  kit::ir::Graph graph = GraphOf(Network());
  cpu::Fuse(graph, AllKernels());
  EXPECT_EQ(Operators(graph),
            "QuantizeLinear QLinearConv MaxPool QLinearConv QLinearConv QLinearElementwise* QLinearElementwise* "
            "QLinearAveragePool* Flatten QLinearMatMul DequantizeLinear");
}

TEST(QuantizedPlan, GivesWhatFloatsGiveToWithinAQuantum) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const std::vector<float> x = Reals(2 * 3 * 144, seed);
    PlanRunner plain(GraphOf(Network()), false), fused(GraphOf(Network()), true);
    const std::vector<float> expected = plain.Run({x});
    // Errors of a quantum in the inputs of the last product add up in its sums.
    EXPECT_THAT(fused.Run({x}), Pointwise(FloatNear(2 * 0.0625f), expected));
    EXPECT_THAT(fused.Run({x}), Pointwise(FloatNear(2 * 0.0625f), expected)) << "with the learned memory plan";
  }
}

TEST(QuantizedPlan, ProductsOfTwoComputedMatricesAreOfBytes) {
  const std::string text = R"(
in x: float[2,3,5,8]
in w: float[2,3,8,70]
const s: float[] = [0.03125]
const z: uint8[] = [130]
const sy: float[] = [0.25]
xq = QuantizeLinear@13(x, s, z) : uint8[2,3,5,8]
xd = DequantizeLinear@13(xq, s, z) : float[2,3,5,8]
wq = QuantizeLinear@13(w, s, z) : uint8[2,3,8,70]
wd = DequantizeLinear@13(wq, s, z) : float[2,3,8,70]
m = MatMul@13(xd, wd) : float[2,3,5,70]
q = QuantizeLinear@13(m, sy, z) : uint8[2,3,5,70]
y = DequantizeLinear@13(q, sy, z) : float[2,3,5,70]
out y
)";
  kit::ir::Graph graph = GraphOf(text);
  cpu::Fuse(graph, AllKernels());
  EXPECT_EQ(Operators(graph), "QuantizeLinear QuantizeLinear QLinearMatMul DequantizeLinear");
  const std::vector<float> x = Reals(240, 1), w = Reals(3360, 2);
  PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
  EXPECT_THAT(fused.Run({x, w}), Pointwise(FloatNear(0.25f), plain.Run({x, w})));
}

TEST(QuantizedPlan, OperatorsOnTwoOperandsAreOfBytes) {
  for (const std::string op : {"Add@14", "Sub@14", "Mul@14", "Div@14", "Max@13", "Min@13"}) {
    for (const std::string shape : {"2,3,5,8", "1,3,1,1"}) {
      const std::string text = R"(
in a: float[2,3,5,8]
in b: float[)" + shape + R"(]
const s: float[] = [0.03125]
const z: int8[] = [-3]
const s2: float[] = [0.015625]
const z2: int8[] = [-128]
const sy: float[] = [0.25]
aq = QuantizeLinear@13(a, s, z) : int8[2,3,5,8]
ad = DequantizeLinear@13(aq, s, z) : float[2,3,5,8]
bq = QuantizeLinear@13(b, s2, z2) : int8[)" +
                               shape + R"(]
bd = DequantizeLinear@13(bq, s2, z2) : float[)" +
                               shape + R"(]
c = )" + op + R"((ad, bd) : float[2,3,5,8]
q = QuantizeLinear@13(c, sy, z) : int8[2,3,5,8]
y = DequantizeLinear@13(q, sy, z) : float[2,3,5,8]
out y
)";
      SCOPED_TRACE(text);
      kit::ir::Graph graph = GraphOf(text);
      cpu::Fuse(graph, AllKernels());
      EXPECT_EQ(Operators(graph), "QuantizeLinear QuantizeLinear QLinearElementwise* DequantizeLinear");
      std::vector<float> b = Reals(shape == "1,3,1,1" ? 3 : 240, 2);
      for (float& value : b) value = std::abs(value) + 0.25f;  // a divisor away from 0
      const std::vector<float> a = Reals(240, 1);
      PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
      EXPECT_THAT(fused.Run({a, b}), Pointwise(FloatNear(0.25f), plain.Run({a, b})));
    }
  }
}

// Gelu in exporters' spelling, quantized after each of its operators.
TEST(QuantizedPlan, OperatorsOnOneTensorAreATableWithWhatTheyGiveOneByOne) {
  for (const std::string type : {"uint8", "int8"}) {
    const int low = type == "int8" ? -128 : 0;
    const auto number = [&](int of_uint8) { return std::to_string(of_uint8 + low); };
    const auto end = [&](const std::string& name, const std::string& scale, int zero) {
      return "const " + name + ": float[] = [" + scale + "]\nconst " + name + "z: " + type + "[] = [" + number(zero) +
             "]\n";
    };
    const auto unit = [&](const std::string& result, const std::string& operation, const std::string& scale) {
      return result + "f = " + operation + " : float[256]\n" + result + "q = QuantizeLinear@13(" + result + "f, " +
             scale + ", " + scale + "z) : " + type + "[256]\n" + result + " = DequantizeLinear@13(" + result + "q, " +
             scale + ", " + scale + "z) : float[256]\n";
    };
    const auto constant = [&](const std::string& name, int value, const std::string& scale) {
      return "const " + name + "q: " + type + "[] = [" + number(value) + "]\n" + name + " = DequantizeLinear@13(" +
             name + "q, " + scale + ", " + scale + "z) : float[]\n";
    };
    const std::string text = "in x: float[256]\n" + end("sx", "0.03", 119) + end("sd", "0.021", 119) +
                             end("se", "0.0078", 128) + end("sa", "0.0079", 1) + end("sm", "0.045", 8) +
                             end("sy", "0.022", 8) + end("sk", "0.0056", 0) +  //
                             constant("root", 253, "sk") + constant("one", 178, "sk") + constant("half", 89, "sk") +
                             unit("a", "Identity@13(x)", "sx") + unit("d", "Div@14(a, root)", "sd") +
                             unit("e", "Erf@13(d)", "se") + unit("p", "Add@14(e, one)", "sa") +
                             unit("m", "Mul@14(a, p)", "sm") + unit("y", "Mul@14(m, half)", "sy") + "out y\n";
    SCOPED_TRACE(text);
    kit::ir::Graph graph = GraphOf(text);
    cpu::Fuse(graph, AllKernels());
    EXPECT_THAT(Operators(graph), HasSubstr("QuantizeLinear QLinearElementwise* DequantizeLinear"));
    std::vector<float> x(256);
    for (int i = 0; i < 256; ++i) x[static_cast<size_t>(i)] = 0.03f * static_cast<float>(i - 119);
    PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
    EXPECT_EQ(fused.Run({x}), plain.Run({x}));
  }
}

// Rows shorter and longer than the block that is converted at once. No length is a multiple of the vector length.
TEST(QuantizedPlan, SoftmaxOfBytesGivesWhatItGivesBetweenItsNeighbours) {
  for (const std::string type : {"uint8", "int8"}) {
    for (const int64_t n : {1, 7, 128, 700, 2500}) {
      const int64_t rows = n > 500 ? 3 : 45;
      const std::string shape = "[" + std::to_string(rows) + "," + std::to_string(n) + "]";
      const std::string text = "in x: float" + shape + "\nconst s: float[] = [0.02]\nconst z: " + type +
                               "[] = [100]\nconst t: float[] = [0.0039]\nconst l: " + type + "[] = [" +
                               (type == "int8" ? "-128" : "0") + "]\nxq = QuantizeLinear@13(x, s, z) : " + type +
                               shape + "\nxd = DequantizeLinear@13(xq, s, z) : float" + shape +
                               "\nm = Softmax@13(xd) : float" + shape + "\nq = QuantizeLinear@13(m, t, l) : " + type +
                               shape + "\ny = DequantizeLinear@13(q, t, l) : float" + shape + "\nout y\n";
      SCOPED_TRACE(text);
      kit::ir::Graph graph = GraphOf(text);
      cpu::Fuse(graph, AllKernels());
      EXPECT_EQ(Operators(graph), "QuantizeLinear QLinearSoftmax* DequantizeLinear");
      const std::vector<float> x = Reals(rows * n, 3);
      PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
      EXPECT_EQ(fused.Run({x}), plain.Run({x}));
    }
  }
}

TEST(QuantizedPlan, LayerNormalizationOfBytesGivesWhatItGivesBetweenItsNeighbours) {
  for (const std::string type : {"uint8", "int8"}) {
    for (const int64_t n : {1, 7, 128, 700}) {
      for (const bool all : {false, true}) {
        const std::string shape = "[5,9," + std::to_string(n) + "]", last = "[" + std::to_string(n) + "]";
        const std::string text =
            "in x: float" + shape + "\nin g: float" + last + "\nconst s: float[] = [0.02]\nconst z: " + type +
            "[] = [100]\nconst t: float[] = [0.031]\nconst l: " + type + "[] = [7]\nconst b: float[] = [0.3]\n" +
            "xq = QuantizeLinear@13(x, s, z) : " + type + shape + "\nxd = DequantizeLinear@13(xq, s, z) : float" +
            shape + "\nm = LayerNormalization@17<axis=" + (all ? "1" : "-1") + ">(xd, g, b) : float" + shape +
            "\nq = QuantizeLinear@13(m, t, l) : " + type + shape + "\ny = DequantizeLinear@13(q, t, l) : float" +
            shape + "\nout y\n";
        SCOPED_TRACE(text);
        kit::ir::Graph graph = GraphOf(text);
        cpu::Fuse(graph, AllKernels());
        EXPECT_EQ(Operators(graph), "QuantizeLinear QLinearLayerNormalization* DequantizeLinear");
        const std::vector<float> x = Reals(45 * n, 3), g = Reals(n, 4);
        PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
        EXPECT_EQ(fused.Run({x, g}), plain.Run({x, g}));
      }
    }
  }
}

std::shared_ptr<const kit::ContextContainer> Stored(const cpu::Plan& plan, std::string* bytes) {
  const cpu::Plan* plans[] = {&plan};
  cpu::WriteContext(cpu::ContextKey::Here(1, "f32"), plans,
                    [&](const void* data, uint64_t size) { bytes->append(static_cast<const char*>(data), size); });
  return cpu::OpenContext(bytes->data(), bytes->size());
}

TEST(QuantizedPlan, ComesBackFromAContextWithItsPackedBytes) {
  const std::vector<float> x = Reals(2 * 3 * 144, 7);
  PlanRunner original(GraphOf(Network()));
  std::string bytes;
  const auto context = Stored(original.plan(), &bytes);
  kit::StoredGraph stored = kit::ReadGraph(*context, "partition", kit::GraphCheck::kLater);
  int dropped = 0;
  for (const kit::ir::Constant& constant : stored.graph.constants)
    dropped += constant.storage == kit::ir::Constant::Storage::kDropped;
  EXPECT_EQ(dropped, 4) << "weights that are packed";
  PlanRunner loaded(std::move(stored.graph), false, std::move(stored.packed), cpu::PlanOrigin::kContext);
  EXPECT_FALSE(loaded.plan().repacked());
  EXPECT_EQ(loaded.Run({x}), original.Run({x}));
}

// `precision: int8-dynamic` on a float network: results are close to the float results, and bit-identical through a
// context.
TEST(QuantizedPlan, AFloatNetworkWithDynamicallyQuantisedProducts) {
  const auto reals = [](int64_t count, unsigned seed) {
    std::string text = "[";
    for (const float value : Reals(count, seed)) text += (text.size() == 1 ? "" : ", ") + std::to_string(value);
    return text + "]";
  };
  const std::string text =
      "in x: float[2,8,9,9]\nconst w1: float[24,8,3,3] = " + reals(24 * 72, 1) +
      "\nconst b1: float[24] = " + reals(24, 2) + "\nconst w2: float[1944,40] = " + reals(1944 * 40, 3) +
      "\nconst b2: float[40] = " + reals(40, 4) + "\nconst w3: float[16,1944] = " + reals(1944 * 16, 5) + R"(
c = Conv@11<pads=[1,1,1,1]>(x, w1, b1) : float[2,24,9,9]
r = Relu@14(c) : float[2,24,9,9]
f = Flatten@13(r) : float[2,1944]
m = MatMul@13(f, w2) : float[2,40]
y = Add@14(m, b2) : float[2,40]
z = Gemm@13<alpha=0.5, transB=1>(f, w3) : float[2,16]
out y
out z
)";
  kit::ir::Graph graph = GraphOf(text);
  cpu::Fuse(graph, AllKernels(), {}, true);
  EXPECT_THAT(Operators(graph), testing::AllOf(HasSubstr("ConvIntegerToFloat*"), HasSubstr("MatMulIntegerToFloat*"),
                                               testing::Not(HasSubstr("Gemm")), testing::Not(HasSubstr("Conv "))));
  const std::vector<float> x = Reals(2 * 8 * 81, 7);
  PlanRunner exact(GraphOf(text)), quantized(std::move(graph), false);
  const std::vector<float> expected = exact.Run({x});
  const std::vector<float> found = quantized.Run({x});
  ASSERT_EQ(found.size(), expected.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    error += std::pow(found[i] - expected[i], 2.0);
    size += std::pow(expected[i], 2.0);
  }
  EXPECT_LT(std::sqrt(error / size), 0.02);
  EXPECT_GT(error, 0) << "was anything quantised?";
  std::string bytes;
  const auto context = Stored(quantized.plan(), &bytes);
  kit::StoredGraph stored = kit::ReadGraph(*context, "partition", kit::GraphCheck::kLater);
  PlanRunner loaded(std::move(stored.graph), false, std::move(stored.packed), cpu::PlanOrigin::kContext);
  EXPECT_EQ(loaded.Run({x}), found);
}

TEST(QuantizedPlan, AContextWhosePackedBytesAreMissingOrOfAnotherSizeIsRefused) {
  PlanRunner original(GraphOf(Network()));
  std::string bytes;
  const auto context = Stored(original.plan(), &bytes);
  for (const bool missing : {true, false}) {
    for (size_t i = 0; i < original.plan().packed().size(); ++i) {
      kit::StoredGraph stored = kit::ReadGraph(*context, "partition", kit::GraphCheck::kLater);
      if (missing) {
        stored.packed.erase(stored.packed.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        stored.packed[i].bytes -= 64;
      }
      EXPECT_THROW(PlanRunner(std::move(stored.graph), false, std::move(stored.packed), cpu::PlanOrigin::kContext),
                   kit::Error)
          << "entry " << i << (missing ? " missing" : " shortened");
    }
  }
}

TEST(QuantizedPlan, DynamicQuantisationIsOneProduct) {
  const std::string text = R"(
in x: float[5,40]
const b: int8[40,70] = )" + Numbers(2800, -127, 127, 1) +
                           R"(
const bz: int8[] = [0]
const bs: float[70] = )" + Numbers(70, 1, 3, 2) +
                           R"(
const c: float[70] = )" + Numbers(70, -3, 3, 3) +
                           R"(
xq, xs, xz = DynamicQuantizeLinear@11(x) : uint8[5,40], float[], uint8[]
i = MatMulInteger@10(xq, b, xz, bz) : int32[5,70]
f = Cast@13<to=1>(i) : float[5,70]
s = Mul@14(xs, bs) : float[70]
m = Mul@14(f, s) : float[5,70]
y = Add@14(m, c) : float[5,70]
out y
)";
  kit::ir::Graph graph = GraphOf(text);
  cpu::Fuse(graph, AllKernels());
  EXPECT_EQ(Operators(graph), "DynamicQuantizeLinear MatMulIntegerToFloat*");
  const std::vector<float> x = Reals(200, 1);
  PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
  EXPECT_THAT(fused.Run({x}), Pointwise(FloatNear(1e-2f), plain.Run({x})));
}

TEST(QuantizedPlan, DynamicConvolutionsKeepChannelsLast) {
  const std::string text = R"(
in x: float[1,8,7,9]
const w: uint8[20,8,3,3] = )" +
                           Numbers(1440, 0, 255, 1) + R"(
const wz: uint8[] = [130]
const ws: float[] = [0.01]
const d: uint8[20,1,3,3] = )" +
                           Numbers(180, 100, 160, 2) + R"(
const c: float[1,20,1,1] = )" +
                           Numbers(20, -3, 3, 3) + R"(
xq, xs, xz = DynamicQuantizeLinear@11(x) : uint8[1,8,7,9], float[], uint8[]
i = ConvInteger@10<pads=[1,1,1,1]>(xq, w, xz, wz) : int32[1,20,7,9]
f = Cast@13<to=1>(i) : float[1,20,7,9]
s = Mul@14(xs, ws) : float[]
m = Mul@14(f, s) : float[1,20,7,9]
b = Add@14(m, c) : float[1,20,7,9]
r = Relu@14(b) : float[1,20,7,9]
rq, rs, rz = DynamicQuantizeLinear@11(r) : uint8[1,20,7,9], float[], uint8[]
j = ConvInteger@10<group=20, pads=[1,1,1,1]>(rq, d, rz, wz) : int32[1,20,7,9]
g = Cast@13<to=1>(j) : float[1,20,7,9]
t = Mul@14(rs, ws) : float[]
n = Mul@14(g, t) : float[1,20,7,9]
y = Add@14(n, c) : float[1,20,7,9]
out y
)";
  kit::ir::Graph graph = GraphOf(text);
  cpu::Fuse(graph, AllKernels());
  EXPECT_THAT(Operators(graph), HasSubstr("DynamicQuantizeLinear ConvIntegerToFloat*"));
  const std::vector<float> x = Reals(8 * 63, 1);
  PlanRunner plain(GraphOf(text), false), fused(GraphOf(text), true);
  const std::vector<float> expected = plain.Run({x});
  EXPECT_THAT(fused.Run({x}), Pointwise(FloatNear(1e-3f), expected));
  EXPECT_THAT(fused.Run({x}), Pointwise(FloatNear(1e-3f), expected)) << "with the learned memory plan";
}

}  // namespace
}  // namespace epiphyte::test
