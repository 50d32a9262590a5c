// QDQ units in sessions: the plugin fuses DequantizeLinear, an operator and QuantizeLinear. The result is within one
// quantum of the CPU plugin's node-by-node result, or equal to it where ONNX defines the operator on integers.
#include <cmath>
#include <cstdlib>
#include <random>
#include <sstream>

#include "tests/vulkan/ops/operator_harness.h"
#include "tests/vulkan/ops/product_models.h"

namespace epiphyte::test {
namespace {

OperatorRun Opset21() { return {.opset = 21}; }

std::string NameOf(DataType type) { return type == DataType::kInt8 ? "int8" : "uint8"; }

// Returns the numbers as text, with enough digits to restore each float exactly.
template <typename T>
std::string ListText(const std::vector<T>& numbers) {
  std::ostringstream text;
  text.precision(9);
  for (size_t i = 0; i < numbers.size(); ++i) text << (i == 0 ? "" : ", ") << numbers[i];
  return text.str();
}

class QdqUnits : public OperatorTest {
 protected:
  int64_t Pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  DataType PickType() { return Pick(0, 1) == 0 ? DataType::kInt8 : DataType::kUint8; }
  std::vector<double> Bytes(DataType type, int64_t count) {
    std::vector<double> bytes;
    for (int64_t i = 0; i < count; ++i)
      bytes.push_back(static_cast<double>(type == DataType::kInt8 ? Pick(-128, 127) : Pick(0, 255)));
    return bytes;
  }
  // Returns the text of an initializer of bytes: "int8[2] w = {1, -2}".
  std::string BytesText(const std::string& name, DataType type, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::vector<int64_t> numbers;
    for (const double byte : Bytes(type, count)) numbers.push_back(static_cast<int64_t>(byte));
    return NameOf(type) + ShapeName(dims) + " " + name + " = {" + ListText(numbers) + "}";
  }
  std::vector<float> Scales(int64_t count, double least, double most) {
    std::vector<float> scales;
    for (int64_t i = 0; i < count; ++i)
      scales.push_back(static_cast<float>(least + (most - least) * static_cast<double>(Pick(0, 1000)) / 1000));
    return scales;
  }
  static std::string FloatsText(const std::string& name, const std::vector<float>& numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    return "float" + (count == 1 ? "" : ShapeName({count})) + " " + name + " = {" + ListText(numbers) + "}";
  }
  std::string ScalesText(const std::string& name, int64_t count, double least, double most) {
    return FloatsText(name, Scales(count, least, most));
  }
  ValuePtr Input(DataType type, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    return Numbers(type, dims, Bytes(type, count));
  }

  static int Number(const core::Value& value, size_t i) {
    return value.type() == DataType::kInt8 ? static_cast<const int8_t*>(value.data())[i]
                                           : static_cast<const uint8_t*>(value.data())[i];
  }
  // Returns the largest difference between elements of `a` and `b` at the same position.
  static int Distance(const core::Value& a, const core::Value& b) {
    EXPECT_EQ(a.type(), b.type());
    EXPECT_EQ(a.byte_size(), b.byte_size());
    int distance = 0;
    for (size_t i = 0; i < a.byte_size(); ++i) distance = std::max(distance, std::abs(Number(a, i) - Number(b, i)));
    return distance;
  }
  // `most`: allowed distance from the CPU plugin's result, in quanta.
  void ExpectQuanta(const std::string& model, const std::vector<ValuePtr>& inputs, int most) {
    SCOPED_TRACE(model);
    EXPECT_LE(Distance(*RunVulkan(model, inputs, Opset21())[0], *RunCpu(model, inputs, Opset21())[0]), most);
  }

 private:
  std::mt19937 random_{5};
};

TEST_F(QdqUnits, ConvolutionsOfEveryCombinationOfTypes) {
  for (int i = 0; i < 16; ++i) {
    const DataType x_type = (i & 1) == 0 ? DataType::kInt8 : DataType::kUint8;
    const DataType w_type = (i & 2) == 0 ? DataType::kInt8 : DataType::kUint8;
    const bool per_channel = (i & 4) != 0, relu = (i & 8) != 0;
    const int64_t group = Pick(1, 3), channels = group * Pick(1, 5), filters = group * Pick(1, 6);
    const int64_t size = Pick(4, 9), kernel = Pick(1, 3);
    const std::vector<int64_t> x = {Pick(1, 2), channels, size, size + 1},
                               w = {filters, channels / group, kernel, kernel};
    const int64_t scales = per_channel ? filters : 1;
    const std::string axis = per_channel ? "<axis = 0> " : "";
    const std::vector<int64_t> pads = {Pick(0, 2), Pick(0, 2), Pick(0, 2), Pick(0, 2)};
    const std::string attributes = " <group = " + std::to_string(group) + ", pads = [" + ListText(pads) +
                                   "], strides = [" + std::to_string(Pick(1, 2)) + ", 1]> ";
    const std::vector<float> w_scales = Scales(scales, 0.01, 0.03);
    std::vector<float> b_scales;
    for (const float scale : w_scales) b_scales.push_back(0.05f * scale);
    const std::string constants =
        "<float xs = {0.05}, " + BytesText("xz", x_type, {}) + ", " + BytesText("w", w_type, w) + ", " +
        FloatsText("ws", w_scales) + ", " + FloatsText("bs", b_scales) + ", " +
        BytesText("wz", w_type, per_channel ? std::vector<int64_t>{filters} : std::vector<int64_t>{}) +
        ", float ys = {0.4}, " + BytesText("yz", x_type, {}) + ", int32[" + std::to_string(filters) + "] b = {" +
        ListText(std::vector<int64_t>(static_cast<size_t>(filters), 333)) + "}> ";
    const std::string head = "g (" + NameOf(x_type) + ShapeName(x) + " x) => (" + NameOf(x_type) + "[] y) " + constants;
    const ValuePtr input = Input(x_type, x);
    const std::string qdq = head + "{ dx = DequantizeLinear(x, xs, xz) dw = DequantizeLinear " + axis +
                            "(w, ws, wz) db = DequantizeLinear " + axis + "(b, bs) c = Conv" + attributes +
                            "(dx, dw, db) " + (relu ? "r = Relu(c) " : "") + "y = QuantizeLinear(" +
                            (relu ? "r" : "c") + ", ys, yz) }";
    ExpectQuanta(qdq, {input}, 1);
    if (relu) continue;
    const std::string integer = head + "{ y = QLinearConv" + attributes + "(x, xs, xz, w, ws, wz, ys, yz, b) }";
    SCOPED_TRACE(integer);
    EXPECT_EQ(Distance(*RunVulkan(qdq, {input}, Opset21())[0], *RunCpu(integer, {input}, Opset21())[0]), 0);
    EXPECT_EQ(Distance(*RunVulkan(integer, {input}, Opset21())[0], *RunCpu(integer, {input}, Opset21())[0]), 0);
  }
}

TEST_F(QdqUnits, DepthwiseConvolutions) {
  for (const int64_t channels : {3, 8, 13})
    for (const int64_t stride : {1, 2}) {
      const std::string c = std::to_string(channels), s = std::to_string(stride);
      ExpectQuanta("g (uint8[2," + c + ",9,8] x) => (uint8[] y) <float xs = {0.05}, uint8 xz = {100}, " +
                       BytesText("w", DataType::kInt8, {channels, 1, 3, 3}) + ", " +
                       ScalesText("ws", channels, 0.01, 0.03) + ", " + BytesText("wz", DataType::kInt8, {channels}) +
                       ", float ys = {0.2}, uint8 yz = {0}> { dx = DequantizeLinear(x, xs, xz) dw = DequantizeLinear "
                       "<axis = 0> (w, ws, wz) c = Conv <group = " +
                       c + ", pads = [1, 1, 1, 1], strides = [" + s + "," + s +
                       "]> (dx, dw) lo = Constant <value_float = 0.0> () hi = Constant <value_float = 6.0> () "
                       "r = Clip(c, lo, hi) y = QuantizeLinear(r, ys, yz) }",
                   {Input(DataType::kUint8, {2, channels, 9, 8})}, 1);
    }
}

// Each unit packs the weights that it needs, and other readers still get the floats.
TEST_F(QdqUnits, WeightsThatTwoUnitsAndOthersRead) {
  const std::string model =
      "g (uint8[1,2,5,5] x) => (uint8[] y, uint8[] z, float[] f) <float xs = {0.05}, uint8 xz = {100}, " +
      BytesText("w", DataType::kInt8, {4, 2, 3, 3}) + ", " + ScalesText("ws", 4, 0.01, 0.03) +
      ", float ys = {0.2}, uint8 yz = {90}> { dx = DequantizeLinear(x, xs, xz) dw = DequantizeLinear <axis = 0> (w, "
      "ws) "
      "c = Conv(dx, dw) y = QuantizeLinear(c, ys, yz) d = Conv <pads = [1, 1, 1, 1]> (dx, dw) "
      "z = QuantizeLinear(d, ys, yz) f = Neg(dw) }";
  const ValuePtr input = Input(DataType::kUint8, {1, 2, 5, 5});
  const std::vector<ValuePtr> found = RunVulkan(model, {input}, Opset21()),
                              expected = RunCpu(model, {input}, Opset21());
  EXPECT_LE(Distance(*found[0], *expected[0]), 1);
  EXPECT_LE(Distance(*found[1], *expected[1]), 1);
  EXPECT_EQ(FloatsOf(*found[2]), FloatsOf(*expected[2]));
}

// A quantizer clipped the bias to int32. The sums must saturate: wrapped sums would end at the opposite bound.
TEST_F(QdqUnits, BiasesAtTheEndOfInt32Saturate) {
  for (const std::string bias : {"2147483647, -2147483648", "-2147483648, 2147483647"})
    ExpectQuanta(
        "g (uint8[1,2,3,3] x) => (uint8[] y) <float xs = {0.05}, uint8 xz = {100}, int8[2,2,1,1] w = {127, 127, "
        "-127, -127}, float ws = {0.01}, float bs = {0.0005}, float ys = {0.2}, uint8 yz = {90}, int32[2] b = {" +
            bias +
            "}> { dx = DequantizeLinear(x, xs, xz) dw = DequantizeLinear(w, ws) db = DequantizeLinear(b, bs) "
            "c = Conv(dx, dw, db) y = QuantizeLinear(c, ys, yz) }",
        {Input(DataType::kUint8, {1, 2, 3, 3})}, 0);
}

TEST_F(QdqUnits, AveragesOfWindowsAndPlanes) {
  for (const DataType type : {DataType::kInt8, DataType::kUint8})
    for (const char* op :
         {"GlobalAveragePool(d)", "AveragePool <kernel_shape = [3, 2], pads = [1, 1, 0, 1]> (d)",
          "AveragePool <kernel_shape = [2, 2], strides = [2, 2], count_include_pad = 1, ceil_mode = 1, "
          "pads = [1, 0, 0, 1]> (d)"})
      ExpectQuanta("g (" + NameOf(type) + "[2,5,7,6] x) => (" + NameOf(type) + "[] y) <float s = {0.05}, " +
                       BytesText("z", type, {}) + ", float ys = {0.03}> { d = DequantizeLinear(x, s, z) p = " + op +
                       " y = QuantizeLinear(p, ys, z) }",
                   {Input(type, {2, 5, 7, 6})}, 1);
}

TEST_F(QdqUnits, ConcatsOfDifferentScales) {
  for (const char* op : {"Concat <axis = 1> (da, db, da)", "Max(da, db, da)", "Min(da, db)"})
    ExpectQuanta(
        "g (int8[2,3,4] a, int8[2,3,4] b) => (int8[] y) <float s = {0.05}, float t = {0.02}, int8 az = {-7}, "
        "int8 bz = {90}> { da = DequantizeLinear(a, s, az) db = DequantizeLinear(b, t, bz) p = " +
            std::string(op) + " y = QuantizeLinear(p, t, bz) }",
        {Input(DataType::kInt8, {2, 3, 4}), Input(DataType::kInt8, {2, 3, 4})}, 0);
}

TEST_F(QdqUnits, ProductsByConstantMatrices) {
  for (int i = 0; i < 8; ++i) {
    const DataType a_type = PickType(), b_type = PickType();
    const int64_t m = i < 2 ? 1 : Pick(2, 30), k = Pick(1, 50), n = Pick(1, 40);
    const bool per_column = Pick(0, 1) == 0, gemm = Pick(0, 1) == 0, transposed = gemm && Pick(0, 1) == 0;
    const std::vector<int64_t> b = transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
    const std::string axis = per_column ? std::string("<axis = ") + (transposed ? "0" : "1") + "> " : "";
    const std::string product =
        gemm ? std::string("Gemm <transB = ") + (transposed ? "1" : "0") + "> (da, db, c)" : "MatMul(da, db)";
    ExpectQuanta("g (" + NameOf(a_type) + ShapeName({m, k}) + " a) => (" + NameOf(a_type) +
                     "[] y) <float s = {0.05}, " + BytesText("az", a_type, {}) + ", " + BytesText("b", b_type, b) +
                     ", " + ScalesText("bs", per_column ? n : 1, 0.01, 0.02) + ", " +
                     BytesText("bz", b_type, per_column ? std::vector<int64_t>{n} : std::vector<int64_t>{}) + ", " +
                     Initializer("c", {n}) + ", float ys = {0.6}, " + BytesText("yz", a_type, {}) +
                     "> { da = DequantizeLinear(a, s, az) db = DequantizeLinear " + axis +
                     "(b, bs, bz) p = " + product + " y = QuantizeLinear(p, ys, yz) }",
                 {Input(a_type, {m, k})}, 1);
  }
}

TEST_F(QdqUnits, OneByOneTheyAreTheSameArithmetic) {
  const std::vector<std::pair<std::string, std::vector<int64_t>>> cases = {
      {"Add(da, db)", {2, 4, 3, 8}}, {"Add(da, db)", {4, 1, 1}},    {"Mul(da, db)", {2, 4, 1, 1}},
      {"Sub(da, db)", {1, 3, 1}},    {"Div(da, db)", {2, 4, 3, 8}}, {"Max(da, db)", {2, 4, 3, 8}}};
  for (const DataType type : {DataType::kInt8, DataType::kUint8})
    for (const auto& [op, b] : cases) {
      ExpectQuanta("g (" + NameOf(type) + "[2,4,3,8] a, " + NameOf(type) + ShapeName(b) + " b) => (" + NameOf(type) +
                       "[] y) <float s = {0.05}, float t = {0.03}, " + BytesText("az", type, {}) + ", " +
                       BytesText("bz", type, {}) +
                       ", float ys = {0.07}> { da = DequantizeLinear(a, s, az) "
                       "db = DequantizeLinear(b, t, bz) p = " +
                       op + " y = QuantizeLinear(p, ys, bz) }",
                   {Input(type, {2, 4, 3, 8}), Input(type, b)}, op.starts_with("Div") ? 1 : 0);
    }
}

TEST_F(QdqUnits, Activations) {
  for (const DataType type : {DataType::kInt8, DataType::kUint8})
    for (const char* op : {"Relu(d)", "Sigmoid(d)", "Tanh(d)", "HardSwish(d)", "LeakyRelu <alpha = 0.1> (d)",
                           "HardSigmoid(d)", "Clip(d, lo, hi)", "Elu(d)"})
      ExpectQuanta("g (" + NameOf(type) + "[3,5,7] x) => (" + NameOf(type) + "[] y) <float s = {0.05}, " +
                       BytesText("z", type, {}) +
                       ", float ys = {0.03}, float lo = {-1.0}, float hi = {2.0}> "
                       "{ d = DequantizeLinear(x, s, z) p = " +
                       op + " y = QuantizeLinear(p, ys, z) }",
                   {Input(type, {3, 5, 7})}, 1);
}

TEST_F(QdqUnits, WhatOnlyMovesIsExact) {
  for (const char* op :
       {"Transpose(d)", "Reshape(d, shape)", "MaxPool <kernel_shape = [2, 2], pads = [1, 0, 0, 1]> (d)",
        "Concat <axis = 1> (d, d)", "DepthToSpace <blocksize = 2> (d)", "Relu(d)", "Clip(d, lo, hi)",
        "Slice(d, one, four)", "Resize(d, , sizes)"})
    ExpectQuanta(
        "g (uint8[1,4,6,5] x) => (uint8[] y) <float s = {0.05}, uint8 z = {77}, int64[2] shape = {6, 20}, "
        "float lo = {-1.0}, float hi = {2.0}, int64[1] one = {1}, int64[1] four = {4}, "
        "float[4] sizes = {1, 1, 2, 3}> { d = DequantizeLinear(x, s, z) p = " +
            std::string(op) + " y = QuantizeLinear(p, s, z) }",
        {Input(DataType::kUint8, {1, 4, 6, 5})}, 0);
}

// --- weights alone

TEST_F(QdqUnits, WeightsInBlocks) {
  for (const char* type : {"int8", "uint8"})
    for (const bool zeros : {false, true})
      for (const int64_t rows : {1, 3}) {
        const std::string t = type;
        std::vector<int64_t> numbers, zero;
        const int64_t low = t == "int8" ? -128 : 0, high = low + 255;
        for (int i = 0; i < 40 * 6; ++i) numbers.push_back(Pick(low, high));
        for (int i = 0; i < 3 * 6; ++i) zero.push_back(Pick(low, high));
        const std::string weights = t + "[40,6] w = {" + ListText(numbers) + "}, float[3,6] s = {" +
                                    ListText(SmallNumbers({3, 6}, 9)) + "}, " + t + "[3,6] z = {" + ListText(zero) +
                                    "}";
        const std::string model = "g (float" + ShapeName({rows, 40}) + " a) => (float[] y) <" + weights +
                                  "> { d = DequantizeLinear <axis = 0, block_size = 16> (w, s" + (zeros ? ", z" : "") +
                                  ") y = MatMul(a, d) }";
        ExpectLikeCpu(model, {Scaled({rows, 40}, 3)}, {.opset = 21, .tolerance = {.relative = 1e-4, .absolute = 1e-3}});
      }
}

TEST_F(QdqUnits, WeightsThatAreNoBlocksBecomeFloats) {
  const OperatorRun run = {.opset = 21, .tolerance = {.relative = 1e-5, .absolute = 1e-5}};
  ExpectLikeCpu(
      "g (float[2,4] a) => (float[] y) <int8[4,3] w = {1, -8, 7, 0, 3, -2, 5, 6, -7, 4, 2, 1}, "
      "float[3] s = {0.5, 0.25, 2}, int8[3] z = {1, 0, -1}> "
      "{ d = DequantizeLinear <axis = 1> (w, s, z) y = MatMul(a, d) }",
      {Scaled({2, 4}, 3)}, run);
  ExpectLikeCpu(
      "g (float[1,2,4,4] x) => (float[] y) <uint8[3,2,1,1] w = {1, 200, 3, 4, 5, 6}, float[3] s = "
      "{0.5, 0.25, 2}> { d = DequantizeLinear <axis = 0> (w, s) y = Conv(x, d) }",
      {Scaled({1, 2, 4, 4}, 3)}, run);
  ExpectLikeCpu(
      "g (float[3] a) => (float[] y) <int16[3] w = {1000, -2000, 3}, float s = {0.001}, int16 z = {7}> "
      "{ d = DequantizeLinear(w, s, z) y = Add(a, d) }",
      {Scaled({3}, 3)}, run);
}

}  // namespace
}  // namespace epiphyte::test
