// QDQ units in sessions: the SDK's results for DequantizeLinear, an operator and QuantizeLinear are within one quantum
// of the CPU plugin's, over random shapes, types, scales and parameters.
#include "tests/npu/ep/npu_harness.h"

namespace epiphyte::test {
namespace {

using Dims = std::vector<int64_t>;

class Units : public NpuTest {
 protected:
  // Returns a model that dequantizes x, applies `body` from dx to c (with the initializers `constants`), and quantizes
  // c to y.
  std::string Unit(DataType type, const Dims& x, const std::string& constants, const std::string& body,
                   double least_scale = 0.1, double most_scale = 0.4) {
    return "g (" + NameOf(type) + ShapeText(x) + " x) => (" + NameOf(type) + "[] y) <" +
           numbers_.ScaleText("x", type, 0.02, 0.1) + ", " + numbers_.ScaleText("y", type, least_scale, most_scale) +
           (constants.empty() ? "" : ", " + constants) + "> { dx = DequantizeLinear(x, xs, xz) " + body +
           " y = QuantizeLinear(c, ys, yz) }";
  }
  bool Compare(DataType type, const Dims& x, const std::string& model) {
    return CompareWithCpu(model, {numbers_.Bytes(type, x)});
  }
  static std::string List(const Dims& numbers) { return ShapeText(numbers); }
  int64_t Pick(int64_t low, int64_t high) { return numbers_.Pick(low, high); }
};

TEST_P(Units, Convolutions) {
  int taken = 0;
  for (int i = 0; i < 24; ++i) {
    const DataType type = numbers_.PickType();
    const bool per_channel = Pick(0, 1) == 1, bias = Pick(0, 1) == 1, relu = Pick(0, 2) == 0;
    const int64_t group = i % 3 == 0 ? Pick(2, 4) : 1, channels = group * Pick(1, 5), filters = group * Pick(1, 6);
    const int64_t kernel = Pick(1, 3), size = Pick(5, 9);
    const Dims x = {Pick(1, 2), channels, size, size + 1}, w = {filters, channels / group, kernel, kernel};
    const int64_t scales = per_channel ? filters : 1;
    const std::string axis = per_channel ? "<axis = 0> " : "";
    std::string constants = numbers_.BytesText("w", DataType::kInt8, w) + ", " +
                            numbers_.ScalesText("ws", scales, 0.004, 0.01) + ", float[" + std::to_string(filters) +
                            "] b = {";
    for (int64_t k = 0; k < filters; ++k) constants += (k == 0 ? "" : ", ") + std::to_string(numbers_.PickScale(-1, 1));
    constants += "}";
    const std::string attributes =
        " <group = " + std::to_string(group) + ", pads = " + List({Pick(0, 1), Pick(0, 1), Pick(0, 1), Pick(0, 1)}) +
        ", strides = " + List({Pick(1, 2), Pick(1, 2)}) + ", dilations = " + List({Pick(1, 2), 1}) + "> ";
    const std::string body = "dw = DequantizeLinear " + axis + "(w, ws) " + (relu ? "p" : "c") + " = Conv" +
                             attributes + (bias ? "(dx, dw, b)" : "(dx, dw)") + (relu ? " c = Relu(p)" : "");
    taken += Compare(type, x, Unit(type, x, constants, body));
  }
  EXPECT_GT(taken, 8);
}

TEST_P(Units, DepthwiseConvolutions) {
  for (const int64_t channels : {3, 16, 17}) {
    const Dims x = {1, channels, 9, 8}, w = {channels, 1, 3, 3};
    const std::string constants = numbers_.BytesText("w", DataType::kInt8, w) + ", " +
                                  numbers_.ScalesText("ws", channels, 0.004, 0.02) +
                                  ", float lo = {0.0}, float hi = {6.0}";
    const std::string body = "dw = DequantizeLinear <axis = 0> (w, ws) p = Conv <group = " + std::to_string(channels) +
                             ", pads = [1,1,1,1], strides = [2,2]> (dx, dw) c = Clip(p, lo, hi)";
    Compare(DataType::kUint8, x, Unit(DataType::kUint8, x, constants, body, 0.02, 0.04));
  }
}

TEST_P(Units, TransposedConvolutions) {
  for (int i = 0; i < 8; ++i) {
    const DataType type = numbers_.PickType();
    const int64_t channels = Pick(1, 5), filters = Pick(1, 5), stride = Pick(1, 2);
    const Dims x = {1, channels, Pick(3, 6), Pick(3, 6)}, w = {channels, filters, 3, 3};
    const std::string constants =
        numbers_.BytesText("w", DataType::kInt8, w) + ", " + numbers_.ScalesText("ws", 1, 0.004, 0.01);
    const std::string body = "dw = DequantizeLinear(w, ws) c = ConvTranspose <strides = " + List({stride, stride}) +
                             ", pads = [1,0,1,1], output_padding = " + List({stride - 1, 0}) + "> (dx, dw)";
    Compare(type, x, Unit(type, x, constants, body));
  }
}

TEST_P(Units, ProductsWithConstantMatrices) {
  for (int i = 0; i < 12; ++i) {
    const DataType type = numbers_.PickType();
    const int64_t rows = Pick(1, 5), inner = Pick(1, 40), columns = Pick(1, 20);
    const bool gemm = Pick(0, 1) == 1, transposed = gemm && Pick(0, 1) == 1, per_channel = Pick(0, 1) == 1;
    const Dims x = gemm ? Dims{rows, inner} : Dims{2, rows, inner};
    const Dims w = transposed ? Dims{columns, inner} : Dims{inner, columns};
    std::string bias = "float[" + std::to_string(columns) + "] b = {";
    for (int64_t k = 0; k < columns; ++k) bias += (k == 0 ? "" : ", ") + std::to_string(numbers_.PickScale(-1, 1));
    const std::string constants = numbers_.BytesText("w", DataType::kInt8, w) + ", " +
                                  numbers_.ScalesText("ws", per_channel ? columns : 1, 0.004, 0.01) + ", " + bias + "}";
    const std::string axis = per_channel ? (transposed ? "<axis = 0> " : "<axis = 1> ") : "";
    const std::string body =
        "dw = DequantizeLinear " + axis + "(w, ws) c = " +
        (gemm ? "Gemm <transB = " + std::to_string(transposed ? 1 : 0) + "> (dx, dw, b)" : "MatMul(dx, dw)");
    Compare(type, x, Unit(type, x, constants, body));
  }
}

TEST_P(Units, ProductsOfTwoInputs) {
  const std::string model =
      "g (int8[2,3,4,8] x, int8[2,3,8,5] w) => (int8[] y) <float xs = {0.05}, float ws = {0.02}, float ys = {0.1}> { "
      "dx = DequantizeLinear(x, xs) dw = DequantizeLinear(w, ws) c = MatMul(dx, dw) y = QuantizeLinear <output_dtype = "
      "3> "
      "(c, ys) }";
  CompareWithCpu(model, {numbers_.Bytes(DataType::kInt8, {2, 3, 4, 8}), numbers_.Bytes(DataType::kInt8, {2, 3, 8, 5})});
}

TEST_P(Units, Pools) {
  for (int i = 0; i < 16; ++i) {
    const DataType type = numbers_.PickType();
    const int64_t kernel = Pick(2, 3);
    const Dims x = {Pick(1, 2), Pick(1, 20), Pick(5, 9), Pick(5, 9)};
    const std::string window = "kernel_shape = " + List({kernel, kernel}) +
                               ", pads = " + List({Pick(0, 1), Pick(0, 1), Pick(0, 1), Pick(0, 1)}) +
                               ", strides = " + List({Pick(1, 2), Pick(1, 2)});
    const bool average = i % 2 == 0;
    std::string model;
    if (average) {
      model = Unit(type, x, "",
                   "c = AveragePool <" + window + ", count_include_pad = " + std::to_string(Pick(0, 1)) + "> (dx)",
                   0.02, 0.1);
    } else {
      model = "g (" + NameOf(type) + ShapeText(x) + " x) => (" + NameOf(type) + "[] y) <" +
              numbers_.ScaleText("x", type, 0.02, 0.1) + "> { dx = DequantizeLinear(x, xs, xz) c = MaxPool <" + window +
              "> (dx) y = QuantizeLinear(c, xs, xz) }";
    }
    Compare(type, x, model);
  }
}

TEST_P(Units, MeansOfPlanes) {
  for (const char* body :
       {"c = GlobalAveragePool(dx)", "c = ReduceMean <keepdims = 0> (dx, a)", "c = ReduceMean(dx, a)"}) {
    const Dims x = {2, 17, 7, 7};
    Compare(DataType::kUint8, x, Unit(DataType::kUint8, x, "int64[2] a = {2, 3}", body, 0.02, 0.05));
  }
}

TEST_P(Units, SumsDifferencesAndProductsOfTwo) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"})
    for (int i = 0; i < 4; ++i) {
      const DataType type = numbers_.PickType();
      const Dims a = {2, Pick(1, 20), 5, 3};
      const Dims b = i % 2 == 0 ? a : Dims{1, a[1], 1, 1};
      const std::string name = NameOf(type);
      const std::string model = "g (" + name + ShapeText(a) + " a, " + name + ShapeText(b) + " b) => (" + name +
                                "[] y) <" + numbers_.ScaleText("a", type, 0.02, 0.1) + ", " +
                                numbers_.ScaleText("b", type, 0.02, 0.1) + ", " +
                                numbers_.ScaleText("y", type, 0.05, 0.2) +
                                "> { da = DequantizeLinear(a, as, az) db = DequantizeLinear(b, bs, bz) c = " + op +
                                "(da, db) y = QuantizeLinear(c, ys, yz) }";
      CompareWithCpu(model, {numbers_.Bytes(type, a), numbers_.Bytes(type, b)});
    }
}

TEST_P(Units, FunctionsOfOneNumberAreTables) {
  for (const char* op :
       {"Relu(dx)", "Sigmoid(dx)", "Tanh(dx)", "HardSwish(dx)", "Gelu(dx)", "LeakyRelu <alpha = 0.2> (dx)", "Elu(dx)",
        "Exp(dx)", "Erf(dx)", "Abs(dx)", "Neg(dx)", "Softplus(dx)", "HardSigmoid(dx)", "Mul(dx, k)", "Pow(dx, k2)",
        "Div(dx, k)", "Add(k, dx)", "Clip(dx, lo, hi)", "Floor(dx)"}) {
    const DataType type = numbers_.PickType();
    const Dims x = {1, 3, 16, 16};
    const std::string k = "float lo = {-1.5}, float hi = {1.0}, int8 kq = {50}, int8 k2q = {20}, float ks = {0.1}";
    std::string body = std::string("c = ") + op;
    if (body.find(" k") != std::string::npos || body.find("(k") != std::string::npos)
      body = "k = DequantizeLinear(kq, ks) k2 = DequantizeLinear(k2q, ks) " + body;
    std::string model = Unit(DataType::kInt8, x, k, body, 0.05, 0.1);
    (void)type;
    Compare(DataType::kInt8, x, model);
  }
}

TEST_P(Units, Moves) {
  const std::pair<const char*, const char*> bodies[] = {
      {"Reshape(dx, s)", "int64[2] s = {6, 20}"},
      {"Flatten <axis = 2> (dx)", "float unused = {0.0}"},
      {"Transpose <perm = [0,2,3,1]> (dx)", "float unused = {0.0}"},
      {"Transpose(dx)", "float unused = {0.0}"},
      {"Unsqueeze(dx, a)", "int64[1] a = {1}"},
      {"Slice(dx, b, e, ax, st)",
       "int64[2] b = {1, -1}, int64[2] e = {6, -6}, int64[2] ax = {1, 3}, int64[2] st = {2, -1}"},
      {"Pad(dx, p)", "int64[8] p = {0, 0, 1, 2, 0, 1, 0, 3}"},
      {"DepthToSpace <blocksize = 2> (dx)", "float unused = {0.0}"},
      {"Resize <mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"> (dx, , "
       "f)",
       "float[4] f = {1.0, 1.0, 2.0, 2.0}"},
  };
  for (const auto& [body, constants] : bodies) {
    const Dims x = std::string_view(body).starts_with("Depth") ? Dims{1, 8, 3, 5} : Dims{1, 6, 4, 5};
    const std::string model = "g (int8" + ShapeText(x) + " x) => (int8[] y) <float xs = {0.05}, int8 xz = {3}, " +
                              constants + "> { dx = DequantizeLinear(x, xs, xz) c = " + body +
                              " y = QuantizeLinear(c, xs, xz) }";
    Compare(DataType::kInt8, x, model);
  }
}

// Operators that move or choose elements, in units with two scales. The quotient of the scales puts many results
// halfway between two numbers. The results are equal to DequantizeLinear and QuantizeLinear to the last bit.
TEST_P(Units, MovesToAnotherScaleAreExact) {
  const std::pair<const char*, const char*> bodies[] = {
      {"Slice(dx, b, e)", "int64[2] b = {0, 1}, int64[2] e = {1, 6}"},
      {"DepthToSpace <blocksize = 2> (dx)", "float unused = {0.0}"},
      {"Concat <axis = 1> (dx, dx)", "float unused = {0.0}"},
      {"Pad(dx, p)", "int64[8] p = {0, 0, 1, 2, 0, 1, 0, 3}"},
      {"Clip(dx, lo, hi)", "float lo = {-3.0}, float hi = {3.0}"},
  };
  for (const auto& [body, constants] : bodies) {
    for (const auto& [from, to] : {std::pair{"0.05", "0.08"}, {"0.05", "0.1"}, {"0.1", "0.04"}, {"0.03", "0.02"}}) {
      const Dims x = {1, 8, 4, 6};
      const std::string model = "g (int8" + ShapeText(x) + " x) => (int8[] y) <float xs = {" + from +
                                "}, int8 xz = {3}, float ys = {" + to + "}, int8 yz = {-2}, " + constants +
                                "> { dx = DequantizeLinear(x, xs, xz) c = " + body + " y = QuantizeLinear(c, ys, yz) }";
      SCOPED_TRACE(model);
      CompareWithCpu(model, {numbers_.Bytes(DataType::kInt8, x)}, /*most=*/0);
    }
  }
}

TEST_P(Units, ResizeToSizesChoosesTheElementsThatOnnxChooses) {
  for (const auto& [in, out] :
       {std::pair{12, 14}, {6, 14}, {3, 7}, {4, 6}, {10, 14}, {7, 3}, {14, 12}, {5, 40}, {33, 17}, {12, 11}})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})
      for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        const Dims x = {1, 2, in, in + 1};
        const std::string model =
            "g (uint8" + ShapeText(x) + " x) => (uint8[] y) <float xs = {0.05}, uint8 xz = {30}, int64[4] s = {1, 2, " +
            std::to_string(out) + ", " + std::to_string(out + 1) +
            "}> { dx = DequantizeLinear(x, xs, xz) c = Resize <mode = \"nearest\", coordinate_transformation_mode = "
            "\"" +
            coordinates + "\", nearest_mode = \"" + rounding + "\"> (dx, , , s) y = QuantizeLinear(c, xs, xz) }";
        SCOPED_TRACE(model);
        CompareWithCpu(model, {numbers_.Bytes(DataType::kUint8, x)}, /*most=*/0);
      }
}

TEST_P(Units, ResizeBetweenPixels) {
  const Dims x = {1, 3, 5, 4};
  for (const char* mode : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}) {
    const std::string model =
        std::string(
            "g (uint8[1,3,5,4] x) => (uint8[] y) <float xs = {0.05}, uint8 xz = {30}, int64[4] s = {1, 3, 10, "
            "12}> { dx = DequantizeLinear(x, xs, xz) c = Resize <mode = \"linear\", "
            "coordinate_transformation_mode = \"") +
        mode + "\"> (dx, , , s) y = QuantizeLinear(c, xs, xz) }";
    Compare(DataType::kUint8, x, model);
  }
}

TEST_P(Units, JoinedAndSplit) {
  const std::string join =
      "g (int8[1,2,3] a, int8[1,4,3] b) => (int8[] y) <float as = {0.05}, int8 az = {3}, float bs = {0.1}, float ys = "
      "{0.08}, int8 yz = {-5}> { da = DequantizeLinear(a, as, az) db = DequantizeLinear(b, bs) c = Concat <axis = 1> "
      "(da, db) y = QuantizeLinear(c, ys, yz) }";
  CompareWithCpu(join, {numbers_.Bytes(DataType::kInt8, {1, 2, 3}), numbers_.Bytes(DataType::kInt8, {1, 4, 3})});
  const std::string split =
      "g (int8[1,6,3] x) => (int8[] y, int8[] z) <float xs = {0.05}, float ys = {0.08}, int64[2] s = {2, 4}> { dx = "
      "DequantizeLinear(x, xs) c, d = Split <axis = 1> (dx, s) y = QuantizeLinear <output_dtype = 3> (c, ys) z = "
      "QuantizeLinear <output_dtype = 3> (d, xs) }";
  CompareWithCpu(split, {numbers_.Bytes(DataType::kInt8, {1, 6, 3})});
}

TEST_P(Units, Softmax) {
  for (const int axis : {-1, 1}) {
    const Dims x = {2, 10, 7};
    const std::string model =
        "g (int8[2,10,7] x) => (int8[] y) <float xs = {0.05}, float ys = {0.00390625}, int8 yz = {-128}> { dx = "
        "DequantizeLinear(x, xs) c = Softmax <axis = " +
        std::to_string(axis) + "> (dx) y = QuantizeLinear(c, ys, yz) }";
    Compare(DataType::kInt8, x, model);
  }
}

TEST_P(Units, LayerNormalization) {
  const Dims x = {2, 3, 24};
  const std::string constants =
      numbers_.BytesText("w", DataType::kInt8, {24}) + ", float ws = {0.01}, int32[24] b = {" +
      "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float bs = "
      "{0.01}";
  const std::string body =
      "dw = DequantizeLinear(w, ws) db = DequantizeLinear(b, bs) c = LayerNormalization <epsilon = 0.001> (dx, dw, db)";
  Compare(DataType::kInt8, x, Unit(DataType::kInt8, x, constants, body, 0.02, 0.04));
}

TEST_P(Units, ADequantizeWithAQuantizeBehindItIsARescale) {
  const Dims x = {3, 40};
  Compare(DataType::kInt8, x,
          "g (int8[3,40] x) => (int8[] y) <float xs = {0.05}, int8 xz = {7}, float ys = {0.03}, int8 yz = {-9}> { c = "
          "DequantizeLinear(x, xs, xz) y = QuantizeLinear(c, ys, yz) }");
}

TEST_P(Units, IntegerOperators) {
  const std::string w = numbers_.BytesText("w", DataType::kInt8, {4, 3, 3, 3});
  CompareWithCpu("g (uint8[1,3,6,6] x) => (uint8[] y) <float xs = {0.05}, uint8 xz = {100}, " + w +
                     ", float ws = {0.01}, int8 wz = {0}, float ys = {0.2}, uint8 yz = {90}, int32[4] b = {100, -200, "
                     "300, 0}> { y = QLinearConv <pads = [1,1,1,1]> (x, xs, xz, w, ws, wz, ys, yz, b) }",
                 {numbers_.Bytes(DataType::kUint8, {1, 3, 6, 6})});
  const std::string m = numbers_.BytesText("w", DataType::kInt8, {20, 7});
  CompareWithCpu("g (int8[3,20] x) => (int8[] y) <float xs = {0.05}, int8 xz = {10}, " + m +
                     ", float ws = {0.01}, int8 wz = {0}, float ys = {0.2}, int8 yz = {9}> { y = QLinearMatMul(x, xs, "
                     "xz, w, ws, wz, ys, yz) }",
                 {numbers_.Bytes(DataType::kInt8, {3, 20})});
}

INSTANTIATE_TEST_SUITE_P(Sdk, Units, testing::Values("npusim", "minimal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace epiphyte::test
