// The kit's QLinearAveragePool gives the same bytes as dequantization, an average and quantization.
#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

class QuantizedPool : public OpTest {
 protected:
  int64_t Random(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  std::vector<int32_t> RandomBytes(bool is_signed, int64_t count) {
    std::vector<int32_t> bytes;
    for (int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<int32_t>(Random(0, 255)) - (is_signed ? 128 : 0));
    return bytes;
  }
  static OpTensor Tensor(bool is_signed, const Dims& dims, const std::vector<int32_t>& numbers) {
    if (is_signed) return Of<int8_t>(dims, {numbers.begin(), numbers.end()});
    return Of<uint8_t>(dims, {numbers.begin(), numbers.end()});
  }
  static std::vector<int32_t> NumbersOf(const OpTensor& y) {
    std::vector<int32_t> numbers;
    for (const std::byte byte : y.bytes)
      numbers.push_back(y.type == EP_TYPE_INT8 ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte));
    return numbers;
  }

 private:
  std::mt19937 random_{23};
};

struct Ends {
  float x_scale, y_scale;
  int32_t x_zero, y_zero, low, high;

  std::string Attributes() const {
    std::ostringstream text;
    text.precision(9);
    text << "scales=[" << x_scale << "," << y_scale << "], zero_points=[" << x_zero << "," << y_zero << "], low=" << low
         << ", high=" << high;
    return text.str();
  }
  // Returns the quantized average of `inside` numbers with the sum `sum`, for the divisor `counted`.
  int32_t Quantised(int64_t sum, int64_t inside, int64_t counted) const {
    const float real = static_cast<float>(sum - inside * x_zero) * x_scale / static_cast<float>(counted);
    const float number = std::nearbyint(real / y_scale) + static_cast<float>(y_zero);
    return static_cast<int32_t>(std::clamp(number, static_cast<float>(low), static_cast<float>(high)));
  }
};

TEST_F(QuantizedPool, OfTwoDimensionsWithPadding) {
  for (int i = 0; i < 16; ++i) {
    const bool is_signed = (i & 1) != 0, padding_counts = (i & 2) != 0;
    const int32_t lowest = is_signed ? -128 : 0;
    const int64_t planes = Random(1, 5), height = Random(3, 9), width = Random(3, 9), kernel = Random(2, 3),
                  stride = Random(1, 2), before = Random(0, 1), behind = Random(0, 1);
    const Ends ends = {static_cast<float>(Random(1, 50)) / 300,
                       static_cast<float>(Random(1, 50)) / 300,
                       lowest + static_cast<int32_t>(Random(0, 255)),
                       lowest + static_cast<int32_t>(Random(0, 255)),
                       lowest + (i % 3 == 0 ? 30 : 0),
                       lowest + 255};
    const std::string type = is_signed ? "int8" : "uint8";
    std::ostringstream graph;
    graph << "in x: " << type << "[2," << planes << "," << height << "," << width
          << "]\ny = epiphyte.kit::QLinearAveragePool@1<kernel_shape=[" << kernel << "," << kernel << "], strides=["
          << stride << "," << stride << "], pads=[" << before << "," << before << "," << behind << "," << behind
          << "], count_include_pad=" << padding_counts << ", " << ends.Attributes() << ">(x) : " << type << "[2,"
          << planes << ",-1,-1]\nout y\n";
    SCOPED_TRACE(graph.str());
    const std::vector<int32_t> x = RandomBytes(is_signed, 2 * planes * height * width);
    std::vector<int32_t> expected;
    for (int64_t plane = 0; plane < 2 * planes; ++plane)
      for (int64_t row = -before; row + kernel <= height + behind; row += stride)
        for (int64_t column = -before; column + kernel <= width + behind; column += stride) {
          int64_t sum = 0, inside = 0;
          for (int64_t a = std::max<int64_t>(row, 0); a < std::min(row + kernel, height); ++a)
            for (int64_t b = std::max<int64_t>(column, 0); b < std::min(column + kernel, width); ++b, ++inside)
              sum += x[static_cast<size_t>((plane * height + a) * width + b)];
          expected.push_back(ends.Quantised(sum, inside, padding_counts ? kernel * kernel : inside));
        }
    const Tensors y = Run(graph.str(), {Tensor(is_signed, {2, planes, height, width}, x)});
    EXPECT_EQ(NumbersOf(y[0]), expected);
  }
}

TEST_F(QuantizedPool, OverWholePlanesOfAnyRank) {
  for (const Dims& dims : {Dims{2, 3, 50}, Dims{1, 5, 7, 7}, Dims{2, 2, 3, 4, 5}, Dims{1, 2, 300, 301}}) {
    const Ends ends = {0.05f, 0.02f, 120, 7, 0, 255};
    std::string text;
    for (const int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
    const std::vector<int32_t> x = RandomBytes(false, dims.Count());
    const auto size = static_cast<size_t>(dims.Count(2, dims.size()));
    std::vector<int32_t> expected;
    for (size_t plane = 0; plane < x.size() / size; ++plane) {
      int64_t sum = 0;
      for (size_t i = 0; i < size; ++i) sum += x[plane * size + i];
      expected.push_back(ends.Quantised(sum, static_cast<int64_t>(size), static_cast<int64_t>(size)));
    }
    std::string ones = "[" + std::to_string(dims[0]) + "," + std::to_string(dims[1]);
    for (size_t d = 2; d < dims.size(); ++d) ones += ",1";
    const Tensors y = Run("in x: uint8[" + text + "]\ny = epiphyte.kit::QLinearAveragePool@1<global=1, " +
                              ends.Attributes() + ">(x) : uint8" + ones + "]\nout y\n",
                          {Tensor(false, dims, x)});
    EXPECT_EQ(NumbersOf(y[0]), expected) << text;
  }
}

TEST_F(QuantizedPool, QuantisationsThatAreMissingAreRefused) {
  EXPECT_THAT(ReasonOf([&] {
                Run("in x: uint8[1,1,2]\ny = epiphyte.kit::QLinearAveragePool@1<global=1, scales=[1.0], "
                    "zero_points=[0,0]>(x) : uint8[1,1,1]\nout y\n",
                    {Of<uint8_t>({1, 1, 2}, {1, 2})});
              }),
              testing::HasSubstr("it has 1 scales and 2 zero points, 2 of each expected"));
}

}  // namespace
}  // namespace epiphyte::vulkan
