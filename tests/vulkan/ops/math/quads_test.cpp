// Convolutions and matrix products of bytes by constant weights, with dot product instructions and without. The sums
// are exactly ONNX's integers, for all types, zero points, borders and groups; requantized results are exactly ONNX's
// bytes.
#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

// A tensor of bytes; `numbers` are its elements as integers.
struct Bytes {
  EpElementType type = EP_TYPE_UINT8;
  Dims dims;
  std::vector<int32_t> numbers;

  int32_t at(int64_t i) const { return numbers[numbers.size() == 1 ? 0 : static_cast<size_t>(i)]; }
  std::string TypeText() const {
    std::string text = type == EP_TYPE_INT8 ? "int8[" : "uint8[";
    for (size_t d = 0; d < dims.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(dims[d]);
    return text + "]";
  }
  std::string Constant(const std::string& name) const {
    std::string text = "const " + name + ": " + TypeText() + " = [";
    for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    return text + "]\n";
  }
  OpTensor Tensor() const {
    if (type == EP_TYPE_INT8) return Of<int8_t>(dims, {numbers.begin(), numbers.end()});
    return Of<uint8_t>(dims, {numbers.begin(), numbers.end()});
  }
};

std::string ListText(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
  return text + "]";
}

std::string FloatsText(const std::string& name, const std::vector<float>& numbers) {
  std::ostringstream text;
  text.precision(9);  // enough digits to restore each float exactly
  text << "const " << name << ": float[" << (numbers.size() == 1 ? "" : std::to_string(numbers.size())) << "] = [";
  for (size_t i = 0; i < numbers.size(); ++i) text << (i == 0 ? "" : ",") << numbers[i];
  return text.str() + "]\n";
}

struct Convolution {
  Bytes x, w, x_zero, w_zero;
  int64_t group = 1;
  std::vector<int64_t> pads, strides, dilations;  // pads: all begins, then all ends

  // Dimensions of the output; 0 or less if the kernel doesn't fit.
  std::vector<int64_t> OutputOf(const Dims& of, const Dims& kernel) const {
    std::vector<int64_t> out;
    for (size_t d = 0; d < strides.size(); ++d) {
      const int64_t window = (kernel[d + 2] - 1) * dilations[d] + 1;
      const int64_t room = of[d + 2] + pads[d] + pads[d + strides.size()] - window;
      out.push_back(room < 0 ? room : room / strides[d] + 1);
    }
    return out;
  }
  std::vector<int64_t> Output() const { return OutputOf(x.dims, w.dims); }

  // ONNX's definition of ConvInteger, computed one element after the other.
  std::vector<int32_t> Sums() const {
    const std::vector<int64_t> out = Output();
    const size_t spatial = out.size();
    std::vector<int64_t> kernel(w.dims.begin() + 2, w.dims.end());
    const auto count = [](const std::vector<int64_t>& of) {
      int64_t product = 1;
      for (const int64_t each : of) product *= each;
      return product;
    };
    std::vector<int32_t> sums;
    for (int64_t image = 0; image < x.dims[0]; ++image) {
      for (int64_t filter = 0; filter < w.dims[0]; ++filter) {
        const int64_t first = filter / (w.dims[0] / group) * w.dims[1];
        for (int64_t position = 0; position < count(out); ++position) {
          uint32_t sum = 0;
          for (int64_t channel = 0; channel < w.dims[1]; ++channel) {
            for (int64_t tap = 0; tap < count(kernel); ++tap) {
              int64_t at = 0, stride = 1, p = position, t = tap;
              bool inside = true;
              for (size_t d = spatial; d-- > 0;) {
                const int64_t place = p % out[d] * strides[d] - pads[d] + t % kernel[d] * dilations[d];
                inside = inside && place >= 0 && place < x.dims[d + 2];
                at += place * stride;
                stride *= x.dims[d + 2];
                p /= out[d];
                t /= kernel[d];
              }
              if (!inside) continue;
              at += (image * x.dims[1] + first + channel) * stride;
              sum += static_cast<uint32_t>(
                  (x.at(at) - x_zero.at(0)) *
                  (w.at((filter * w.dims[1] + channel) * count(kernel) + tap) - w_zero.at(filter)));
            }
          }
          sums.push_back(static_cast<int32_t>(sum));
        }
      }
    }
    return sums;
  }

  std::string Attributes() const {
    return "<group=" + std::to_string(group) + ", pads=" + ListText(pads) + ", strides=" + ListText(strides) +
           ", dilations=" + ListText(dilations) + ">";
  }
};

int64_t Count(const Dims& dims) { return dims.Count(); }

class Quads : public OpTest {
 protected:
  int64_t Random(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  Bytes RandomBytes(EpElementType type, const Dims& dims) {
    Bytes made{type, dims, {}};
    for (int64_t i = 0; i < Count(dims); ++i)
      made.numbers.push_back(static_cast<int32_t>(type == EP_TYPE_INT8 ? Random(-128, 127) : Random(0, 255)));
    return made;
  }
  // A convolution with one group, strides of 1, and a zero point for each filter.
  Convolution PlainConvolution(EpElementType x_type, const Dims& x, EpElementType w_type, const Dims& w,
                               std::vector<int64_t> pads = {0, 0, 0, 0}) {
    Convolution made;
    made.x = RandomBytes(x_type, x);
    made.w = RandomBytes(w_type, w);
    made.x_zero = RandomBytes(x_type, {});
    made.w_zero = RandomBytes(w_type, {w[0]});
    made.pads = std::move(pads);
    made.strides = made.dilations = {1, 1};
    return made;
  }
  EpElementType RandomType() { return Random(0, 1) == 0 ? EP_TYPE_INT8 : EP_TYPE_UINT8; }
  Convolution RandomConvolution() {
    Convolution made;
    const auto spatial = static_cast<size_t>(Random(1, 3));
    made.group = Random(0, 2) == 0 ? Random(2, 9) : 1;
    const int64_t channels = Random(1, 9);
    const int64_t filters = Random(1, 11);
    const bool depthwise = made.group > 1 && Random(0, 1) == 0;
    Dims x = {Random(1, 2), made.group * (depthwise ? 1 : channels)};
    Dims w = {made.group * (depthwise ? 1 : filters), depthwise ? 1 : channels};
    for (size_t d = 0; d < spatial; ++d) {
      w.push_back(Random(1, 3));
      made.strides.push_back(Random(1, 2));
      made.dilations.push_back(Random(1, 2));
      x.push_back(Random(w.back() * 2, spatial == 3 ? 6 : 12));
    }
    for (size_t i = 0; i < 2 * spatial; ++i) made.pads.push_back(Random(-1, 2));
    const std::vector<int64_t> out = made.OutputOf(x, w);
    if (*std::min_element(out.begin(), out.end()) < 1) made.pads.assign(2 * spatial, 0);
    made.x = RandomBytes(RandomType(), x);
    made.w = RandomBytes(RandomType(), w);
    made.x_zero = RandomBytes(made.x.type, {});
    made.w_zero = RandomBytes(made.w.type, Random(0, 1) == 0 ? Dims{} : Dims{w[0]});
    if (Random(0, 1) == 0)
      for (int32_t& number : made.w_zero.numbers) number = made.w.type == EP_TYPE_INT8 ? 0 : 128;
    return made;
  }

  void ExpectSums(const Convolution& conv, const std::string& shader) {
    const std::string text = "in x: " + conv.x.TypeText() + "\n" + conv.w.Constant("w") + conv.x_zero.Constant("xz") +
                             conv.w_zero.Constant("wz") + "y = ConvInteger@10" + conv.Attributes() +
                             "(x, w, xz, wz) : int32[" + std::string(conv.strides.size() + 1, '#') + "]\nout y\n";
    std::string graph;
    for (const char c : text) graph += c == '#' ? std::string("-1,") : std::string(1, c);
    graph.replace(graph.rfind(",]"), 2, ",-1]");
    SCOPED_TRACE(graph);
    const Tensors y = Run(graph, {conv.x.Tensor()});
    EXPECT_THAT(program().dispatches.back().shader, testing::StartsWith(shader));
    EXPECT_EQ(y[0].As<int32_t>(), conv.Sums());
  }

 private:
  std::mt19937 random_{17};
};

TEST_F(Quads, ConvolutionsOfAnyShapeGiveTheSums) {
  for (int i = 0; i < 24; ++i) ExpectSums(RandomConvolution(), "quads_");
}

TEST_F(Quads, ByDotProductsTheyAreTheSame) {
  Force(Capability::kDotProduct);
  for (int i = 0; i < 12; ++i) ExpectSums(RandomConvolution(), "quads_");
  ExpectSums(PlainConvolution(EP_TYPE_UINT8, {1, 8, 6, 6}, EP_TYPE_INT8, {9, 8, 3, 3}, {1, 0, 1, 2}),
             "quads_product_dot_8");
}

TEST_F(Quads, FewPositionsShareAWorkgroupOnDevicesThatHaveRealOnes) {
  Prefer(Capability::kSharedMemory);
  ExpectSums(PlainConvolution(EP_TYPE_UINT8, {2, 12, 7, 7}, EP_TYPE_UINT8, {50, 12, 1, 1}), "quads_product_8");
  EXPECT_EQ(program().dispatches.back().specialization[4], 8u);
}

// Channels that fill whole words and lie side by side need no rearrangement.
TEST_F(Quads, PlanesOfOneElementAreReadAsTheyAre) {
  ExpectSums(PlainConvolution(EP_TYPE_INT8, {3, 16, 1, 1}, EP_TYPE_INT8, {6, 16, 1, 1}), "quads_product_1");
  EXPECT_THAT(program().dispatches, testing::SizeIs(1));
}

// The pads -1 and +1 move the input's only row out of the window, so the output must not read it.
TEST_F(Quads, PlanesOfOneElementThatAreMovedAwayAreNotRead) {
  ExpectSums(PlainConvolution(EP_TYPE_INT8, {3, 16, 1, 1}, EP_TYPE_INT8, {6, 16, 1, 1}, {-1, 0, 1, 0}),
             "quads_product_1");
}

TEST_F(Quads, SeveralFiltersOfEachChannel) {
  for (const int64_t multiplier : {2, 9}) {
    Convolution conv = PlainConvolution(EP_TYPE_UINT8, {2, 5, 6, 7}, EP_TYPE_INT8, {5 * multiplier, 1, 3, 3});
    conv.group = 5;
    ExpectSums(conv, "quads_product_8");
  }
}

// Sums wrap around beyond int32, both in the kernel and in the sums of weights that the host precomputes.
TEST_F(Quads, SumsWrap) {
  Convolution conv = PlainConvolution(EP_TYPE_UINT8, {1, 40000, 1, 1}, EP_TYPE_INT8, {2, 40000, 1, 1});
  for (int32_t& number : conv.x.numbers) number = 255;
  for (int32_t& number : conv.w.numbers) number = -128;
  conv.x_zero.numbers = {0};
  conv.w_zero.numbers = {127, 126};
  ASSERT_GT(int64_t{40000} * 255 * 254, INT32_MAX);
  ExpectSums(conv, "quads_product_1");
}

// The padded plane has 2^29 elements in each of three dimensions, times 64 words at each position. The product is
// 2^93 words, which 64 bits would show as 0.
TEST_F(Quads, PaddedPlanesThatNobodyCanCountAreAnError) {
  const Bytes w = RandomBytes(EP_TYPE_INT8, {1, 256, 2, 2, 2});
  EXPECT_THAT(ReasonOf([&] {
                Run("in x: int8[1,256,1,1,1]\n" + w.Constant("w") +
                        "y = ConvInteger@10<pads=[536870911,536870911,536870911,0,0,0], "
                        "dilations=[536870911,536870911,536870911]>(x, w) : int32[1,1,1,1,1]\nout y\n",
                    {RandomBytes(EP_TYPE_INT8, {1, 256, 1, 1, 1}).Tensor()});
              }),
              testing::HasSubstr("fewer than 2^57 elements expected"));
}

TEST_F(Quads, MatrixProductsOfAnyShapeGiveTheSums) {
  for (int i = 0; i < 20; ++i) {
    if (i == 12) Force(Capability::kDotProduct);
    const int64_t m = Random(0, 1) == 0 ? 1 : Random(2, 20), k = Random(1, 40), n = Random(1, 30), batch = Random(1, 3);
    const Bytes a = RandomBytes(RandomType(), {batch, m, k}), b = RandomBytes(RandomType(), {k, n});
    const Bytes a_zero = RandomBytes(a.type, {}), b_zero = RandomBytes(b.type, Random(0, 1) == 0 ? Dims{} : Dims{n});
    const std::string graph = "in a: " + a.TypeText() + "\n" + b.Constant("b") + a_zero.Constant("az") +
                              b_zero.Constant("bz") + "y = MatMulInteger@10(a, b, az, bz) : int32[-1,-1,-1]\nout y\n";
    SCOPED_TRACE(graph);
    std::vector<int32_t> expected;
    for (int64_t row = 0; row < batch * m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        int32_t sum = 0;
        for (int64_t i_k = 0; i_k < k; ++i_k)
          sum += (a.at(row * k + i_k) - a_zero.at(0)) * (b.at(i_k * n + column) - b_zero.at(column));
        expected.push_back(sum);
      }
    }
    const Tensors y = Run(graph, {a.Tensor()});
    EXPECT_THAT(program().dispatches.back().shader, testing::StartsWith("quads_product"));
    EXPECT_EQ(y[0].As<int32_t>(), expected);
  }
}

// QLinearConv of the kit: a bias, bounds and a scale for each filter, and every way to store bytes.
TEST_F(Quads, QuantisedAgainTheyAreTheBytesThatOnnxSays) {
  for (int i = 0; i < 20; ++i) {
    if (i == 14) Force(Capability::kDotProduct);
    const Convolution conv = RandomConvolution();
    const int64_t filters = conv.w.dims[0];
    const EpElementType type = RandomType();
    const Bytes y_zero = RandomBytes(type, {});
    std::vector<float> w_scale;
    const int64_t scales = Random(0, 1) == 0 ? 1 : filters;
    for (int64_t f = 0; f < scales; ++f) w_scale.push_back(static_cast<float>(Random(1, 40)) / 1024.0f);
    const float x_scale = 0.25f, y_scale = static_cast<float>(Random(8, 400)) / 4.0f;
    std::string bias = "const bias: int32[" + std::to_string(filters) + "] = [";
    std::vector<int32_t> biases;
    for (int64_t f = 0; f < filters; ++f) {
      biases.push_back(static_cast<int32_t>(Random(-30000, 30000)));
      bias += (f == 0 ? "" : ",") + std::to_string(biases.back());
    }
    const auto lowest = type == EP_TYPE_INT8 ? -128 : 0;
    const bool bounded = Random(0, 1) == 0;
    const int64_t low = bounded ? lowest + 40 : lowest, high = bounded ? lowest + 200 : lowest + 255;
    const std::string attributes = conv.Attributes();
    std::string dims;
    for (size_t d = 0; d < conv.strides.size() + 2; ++d) dims += d == 0 ? "-1" : ",-1";
    const std::string graph =
        "in x: " + conv.x.TypeText() + "\n" + conv.w.Constant("w") + conv.x_zero.Constant("xz") +
        conv.w_zero.Constant("wz") + y_zero.Constant("yz") + FloatsText("xs", {x_scale}) + FloatsText("ws", w_scale) +
        FloatsText("ys", {y_scale}) + bias + "]\ny = " + (bounded ? "epiphyte.kit::QLinearConv@1" : "QLinearConv@10") +
        attributes.substr(0, attributes.size() - 1) +
        (bounded ? ", low=" + std::to_string(low) + ", high=" + std::to_string(high) : "") +
        ">(x, xs, xz, w, ws, wz, ys, yz, bias) : " + (type == EP_TYPE_INT8 ? "int8[" : "uint8[") + dims + "]\nout y\n";
    SCOPED_TRACE(graph);
    const std::vector<int32_t> sums = conv.Sums();
    int64_t positions = 1;
    for (const int64_t size : conv.Output()) positions *= size;
    std::vector<int32_t> expected;
    for (size_t at = 0; at < sums.size(); ++at) {
      const size_t filter = at / static_cast<size_t>(positions) % static_cast<size_t>(filters);
      const float factor = x_scale / y_scale * w_scale[w_scale.size() == 1 ? 0 : filter];
      const float value =
          std::nearbyint(static_cast<float>(sums[at] + biases[filter]) * factor) + static_cast<float>(y_zero.at(0));
      expected.push_back(static_cast<int32_t>(std::clamp(value, static_cast<float>(low), static_cast<float>(high))));
    }
    const Tensors y = Run(graph, {conv.x.Tensor()});
    EXPECT_THAT(program().dispatches.back().shader, testing::StartsWith("quads_"));
    std::vector<int32_t> found;
    for (const std::byte byte : y[0].bytes)
      found.push_back(type == EP_TYPE_INT8 ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte));
    EXPECT_EQ(found, expected);
  }
}

// A zero point that is known only at run time, as from DynamicQuantizeLinear, is subtracted in the kernel.
TEST_F(Quads, TheInputsZeroPointMayBeComputed) {
  const Bytes b = RandomBytes(EP_TYPE_INT8, {6, 5});
  const Bytes a = RandomBytes(EP_TYPE_UINT8, {2, 6}), zero = RandomBytes(EP_TYPE_UINT8, {});
  const Tensors y = Run(
      "in a: uint8[2,6]\nin az: uint8[]\n" + b.Constant("b") + "y = MatMulInteger@10(a, b, az) : int32[2,5]\nout y\n",
      {a.Tensor(), zero.Tensor()});
  EXPECT_EQ(program().dispatches.back().shader, "quads_product_8.i32");
  std::vector<int32_t> expected;
  for (int64_t i = 0; i < 10; ++i) {
    int32_t sum = 0;
    for (int64_t k = 0; k < 6; ++k) sum += (a.at(i / 5 * 6 + k) - zero.at(0)) * b.at(k * 5 + i % 5);
    expected.push_back(sum);
  }
  EXPECT_EQ(y[0].As<int32_t>(), expected);
}

// A zero point for each row of the first matrix needs the general kernel.
TEST_F(Quads, ZeroPointsOfRowsAreNotForThem) {
  const Tensors y =
      Run("in a: uint8[2,2]\nconst az: uint8[2] = [1,2]\nconst b: int8[2,1] = [1,1]\n"
          "y = MatMulInteger@10(a, b, az) : int32[2,1]\nout y\n",
          {Of<uint8_t>({2, 2}, {5, 6, 7, 8})});
  EXPECT_EQ(program().dispatches.back().shader, "matmul_integer.i32");
  EXPECT_THAT(y[0].As<int32_t>(), testing::ElementsAre(9, 11));
}

TEST_F(Quads, TheKitsProductHasABiasATransposedMatrixAndBounds) {
  const Tensors y =
      Run("in a: int8[2,3]\nconst s: float[] = [1]\nconst z: int8[] = [0]\nconst b: int8[2,3] = [1,2,3,-1,0,1]\n"
          "const bias: int32[2] = [10,-20]\n"
          "y = epiphyte.kit::QLinearMatMul@1<transB=1, low=-15, high=50>(a, s, z, b, s, z, s, z, bias) : "
          "int8[2,2]\nout y\n",
          {Of<int8_t>({2, 3}, {1, 2, 3, 10, 20, 30})});
  // Sums with bias are 14 + 10 and 2 - 20, then 140 + 10 and 20 - 20; they are clamped to -15 … 50.
  EXPECT_THAT(y[0].As<int8_t>(), testing::ElementsAre(24, -15, 50, 0));
}

TEST_F(Quads, TheKitsOperatorsNeedConstants) {
  EXPECT_THAT(ReasonOf([&] {
                Run("in a: int8[1,1]\nin b: int8[1,1]\nconst s: float[] = [1]\nconst z: int8[] = [0]\n"
                    "y = epiphyte.kit::QLinearMatMul@1(a, s, z, b, s, z, s, z) : int8[1,1]\nout y\n",
                    {Of<int8_t>({1, 1}, {1}), Of<int8_t>({1, 1}, {1})});
              }),
              testing::HasSubstr("input 3 is no constant"));
}

TEST_F(Quads, NibblesAreTakenAsConstantsAlone) {
  EXPECT_THAT(ReasonOf([&] {
                Run("in q: int4[2]\nconst s: float[] = [1]\ny = DequantizeLinear@21(q, s) : float[2]\nout y\n",
                    {OpTensor{EP_TYPE_INT4, {2}, std::vector<std::byte>(1)}});
              }),
              testing::HasSubstr("input 0 of a dequantisation of int4 is no constant"));
}

}  // namespace
}  // namespace epiphyte::vulkan
