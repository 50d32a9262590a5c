// Products and convolutions of bytes, compared with plain loops: every combination of types, zero points of every
// operand, groups, dilations, asymmetric padding, constant and computed weights, channels last and first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/product.hpp"
#include "tests/cpu/kernel_harness.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A tensor of uint8 or int8 elements, held as integers.
struct Bytes {
  bool is_signed = false;
  Shape dims;
  std::vector<int> numbers;

  cpu::Datum datum() const {
    std::vector<uint8_t> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<uint8_t>(number));
    return MakeDatum(is_signed ? EP_TYPE_INT8 : EP_TYPE_UINT8, dims, bytes.data());
  }
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t Between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool Maybe() { return Between(0, 1) == 1; }
  float Scale() { return std::uniform_real_distribution<float>(0.001f, 0.05f)(engine_); }
  Bytes Make(bool is_signed, Shape dims) {
    Bytes bytes{is_signed, std::move(dims), {}};
    int64_t count = 1;
    for (const int64_t dim : bytes.dims) count *= dim;
    const int low = is_signed ? -128 : 0;
    for (int64_t i = 0; i < count; ++i) bytes.numbers.push_back(static_cast<int>(Between(low, low + 255)));
    return bytes;
  }

 private:
  std::mt19937 engine_;
};

int At(const Bytes& bytes, size_t i) { return bytes.numbers.size() == 1 ? bytes.numbers[0] : bytes.numbers[i]; }

int Requantized(int32_t sum, float x_scale, float w_scale, float y_scale, int zero, int low, int high) {
  const float factor = x_scale / y_scale * w_scale;
  const float value = std::nearbyint(static_cast<float>(sum) * factor) + static_cast<float>(zero);
  return static_cast<int>(std::min(std::max(value, static_cast<float>(low)), static_cast<float>(high)));
}

std::vector<int> NumbersOf(const OpRunner& run) {
  std::vector<int> numbers;
  if (run.OutputTensor(0).type == EP_TYPE_INT8) {
    for (const int8_t number : run.Output<int8_t>(0)) numbers.push_back(number);
  } else {
    for (const uint8_t number : run.Output<uint8_t>(0)) numbers.push_back(number);
  }
  return numbers;
}

// --- convolutions in two dimensions

struct ConvCase {
  Bytes x, w, x_zero, w_zero, y_zero;
  int64_t group = 1;
  std::vector<int64_t> strides, dilations, pads;
  bool constant = false, last = false;
  std::vector<int32_t> bias;
  std::vector<float> w_scale;
  float x_scale = 0.02f, y_scale = 0.7f;
  Shape y;

  explicit ConvCase(unsigned seed) {
    Random random(seed);
    group = random.Between(0, 2) == 0 ? random.Between(2, 4) : 1;
    const bool depthwise = random.Between(0, 3) == 0;
    if (depthwise) group = random.Between(8, 80);
    const int64_t depth = depthwise ? 1 : random.Between(1, 9);
    const int64_t filters = depthwise ? 1 : random.Between(1, random.Maybe() ? 5 : 80);
    const int64_t channels = group * depth;
    const int64_t kernel[2] = {random.Between(1, 3), random.Between(1, 4)};
    const int64_t size[2] = {random.Between(7, 12), random.Between(7, 19)};
    for (int d = 0; d < 2; ++d) {
      strides.push_back(random.Between(1, 2));
      dilations.push_back(random.Between(1, 2));
      pads.push_back(random.Between(0, 2));
    }
    for (int d = 0; d < 2; ++d) pads.push_back(random.Between(0, 2));
    x = random.Make(random.Maybe(), {random.Between(1, 2), channels, size[0], size[1]});
    w = random.Make(random.Maybe(), {filters * group, depth, kernel[0], kernel[1]});
    x_zero = random.Make(x.is_signed, {});
    w_zero = random.Make(w.is_signed, random.Maybe() ? Shape{} : Shape{filters * group});
    if (random.Maybe()) std::fill(w_zero.numbers.begin(), w_zero.numbers.end(), w.is_signed ? 0 : 128);
    y_zero = random.Make(random.Maybe(), {});
    constant = random.Maybe();
    last = random.Maybe();
    for (int64_t i = 0; i < filters * group; ++i) {
      bias.push_back(static_cast<int32_t>(random.Between(-5000, 5000)));
      w_scale.push_back(random.Scale());
    }
    y = {x.dims[0], filters * group};
    for (size_t d = 0; d < 2; ++d)
      y.push_back((size[d] + pads[d] + pads[d + 2] - dilations[d] * (kernel[d] - 1) - 1) / strides[d] + 1);
  }

  std::vector<int32_t> Sums() const {
    std::vector<int32_t> sums;
    const int64_t filters = w.dims[0] / group, depth = w.dims[1];
    for (int64_t n = 0; n < y[0]; ++n) {
      for (int64_t f = 0; f < y[1]; ++f) {
        for (int64_t i = 0; i < y[2] * y[3]; ++i) {
          int32_t sum = 0;
          for (int64_t c = 0; c < depth; ++c) {
            for (int64_t t = 0; t < w.dims[2] * w.dims[3]; ++t) {
              const int64_t row = i / y[3] * strides[0] - pads[0] + t / w.dims[3] * dilations[0];
              const int64_t column = i % y[3] * strides[1] - pads[1] + t % w.dims[3] * dilations[1];
              if (row < 0 || row >= x.dims[2] || column < 0 || column >= x.dims[3]) continue;
              const int64_t at = ((n * x.dims[1] + f / filters * depth + c) * x.dims[2] + row) * x.dims[3] + column;
              const auto weight = static_cast<size_t>((f * depth + c) * w.dims[2] * w.dims[3] + t);
              sum += (x.numbers[static_cast<size_t>(at)] - x_zero.numbers[0]) *
                     (w.numbers[weight] - At(w_zero, static_cast<size_t>(f)));
            }
          }
          sums.push_back(sum);
        }
      }
    }
    return sums;
  }

  void AddTo(OpRunner& conv) const {
    conv.Attribute("group", group).Attribute("strides", strides).Attribute("dilations", dilations);
    conv.Attribute("pads", pads);
  }
  void Arrange(OpRunner& conv) const {
    if (last) conv.InOrder(0, {4, {0, 2, 3, 1}});
  }
};

TEST(ConvInteger, IsExactForRandomShapesTypesAndZeroPoints) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const ConvCase made(seed);
    OpRunner conv("ConvInteger", 10);
    made.AddTo(conv);
    conv.InputDatum(made.x.datum()).InputDatum(made.w.datum(), made.constant).InputDatum(made.x_zero.datum());
    conv.InputDatum(made.w_zero.datum(), made.constant);
    made.Arrange(conv);
    conv.Run();
    ASSERT_EQ(conv.Dims(0), made.y);
    ASSERT_THAT(conv.Output<int32_t>(0), ElementsAreArray(made.Sums()));
    conv.RunAgain();
    ASSERT_THAT(conv.Output<int32_t>(0), ElementsAreArray(made.Sums())) << "once more";
  }
}

// Moves the channels of a [N, C, H, W] tensor to the end.
template <typename T>
std::vector<T> ChannelsAtTheEnd(const std::vector<T>& values, const Shape& dims) {
  std::vector<T> result;
  const int64_t plane = dims[2] * dims[3];
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t i = 0; i < plane; ++i)
      for (int64_t c = 0; c < dims[1]; ++c)
        result.push_back(values[static_cast<size_t>((n * dims[1] + c) * plane + i)]);
  return result;
}

enum class Of { kOnnx, kKit, kMicrosoft };
void ExpectQLinearConv(unsigned seed, Of of) {
  SCOPED_TRACE(seed);
  ConvCase made(seed);
  const bool of_kit = of == Of::kKit;
  // The operator of com.microsoft takes tensors with channels at the end if its attribute channels_last is 1.
  const bool at_the_end = of == Of::kMicrosoft && seed % 3 != 0;
  OpRunner conv("QLinearConv", of == Of::kOnnx ? 10 : 1,
                of_kit                 ? std::string(kit::fuse::kDomain)
                : of == Of::kMicrosoft ? "com.microsoft"
                                       : "");
  made.AddTo(conv);
  if (of == Of::kMicrosoft) conv.Attribute("channels_last", at_the_end ? 1 : 0);
  const std::vector<int32_t> sums = made.Sums();
  if (at_the_end) {
    made.last = false;
    made.x.numbers = ChannelsAtTheEnd(made.x.numbers, made.x.dims);
    std::rotate(made.x.dims.begin() + 1, made.x.dims.begin() + 2, made.x.dims.end());
  }
  const int least = made.y_zero.is_signed ? -128 : 0;
  const int low = of_kit ? least + 100 : least, high = of_kit ? least + 200 : least + 255;
  if (of_kit) conv.Attribute("low", low).Attribute("high", high);
  conv.InputDatum(made.x.datum()).Input<float>({}, {made.x_scale}).InputDatum(made.x_zero.datum());
  conv.InputDatum(made.w.datum(), made.constant);
  conv.Input<float>({static_cast<int64_t>(made.w_scale.size())}, made.w_scale);
  conv.InputDatum(made.w_zero.datum(), made.constant);
  conv.Input<float>({}, {made.y_scale}).InputDatum(made.y_zero.datum());
  conv.Input<int32_t>({static_cast<int64_t>(made.bias.size())}, made.bias);
  made.Arrange(conv);
  conv.Run();
  std::vector<int> expected;
  const auto plane = static_cast<size_t>(made.y[2] * made.y[3]);
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t filter = i / plane % made.bias.size();
    expected.push_back(Requantized(sums[i] + made.bias[filter], made.x_scale, made.w_scale[filter], made.y_scale,
                                   made.y_zero.numbers[0], low, high));
  }
  ASSERT_THAT(NumbersOf(conv), ElementsAreArray(at_the_end ? ChannelsAtTheEnd(expected, made.y) : expected));
}

TEST(QLinearConv, IsExactForRandomShapesTypesAndZeroPoints) {
  for (unsigned seed = 100; seed <= 160; ++seed) ExpectQLinearConv(seed, Of::kOnnx);
}
TEST(QLinearConv, OfTheKitStaysWithinItsBounds) {
  for (unsigned seed = 200; seed <= 220; ++seed) ExpectQLinearConv(seed, Of::kKit);
}
TEST(QLinearConv, OfMicrosoftTakesChannelsAtTheEnd) {
  for (unsigned seed = 300; seed <= 340; ++seed) ExpectQLinearConv(seed, Of::kMicrosoft);
}

TEST(QLinearConv, ChannelsStayLastBetweenConvolutions) {
  ConvCase made(7);
  OpRunner conv("ConvInteger", 10);
  conv.InputDatum(Random(1).Make(false, {1, 8, 6, 6}).datum());
  conv.InputDatum(Random(2).Make(true, {20, 8, 3, 3}).datum(), true);
  conv.InOrder(0, {4, {0, 2, 3, 1}});
  conv.Run();
  EXPECT_EQ(conv.reorders(), 0);
  EXPECT_EQ(conv.OutputOrder(0), (cpu::AxisOrder{4, {0, 2, 3, 1}}));
}

TEST(ConvInteger, OneAndThreeDimensions) {
  OpRunner line("ConvInteger", 10);
  line.Input<uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6}).Constant<int8_t>({1, 2, 2}, {1, -1, 2, -2});
  line.Run();
  EXPECT_THAT(line.Output<int32_t>(0), ElementsAreArray({-3, -3}));
  OpRunner volume("ConvInteger", 10);
  volume.Input<int8_t>({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -8})
      .Constant<uint8_t>({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 255});
  volume.Run();
  EXPECT_THAT(volume.Output<int32_t>(0), ElementsAreArray({1 + 4 + 9 + 16 + 25 + 36 + 49 - 8 * 255}));
}

// --- matrices

struct MatMulCase {
  Bytes a, b, a_zero, b_zero, y_zero;
  bool constant = false;
  kit::ProductShape shape;
  std::vector<int32_t> bias;
  std::vector<float> b_scale;
  float a_scale = 0.02f, y_scale = 0.9f;

  explicit MatMulCase(unsigned seed, int64_t most_rows = 20) {
    Random random(seed);
    const int64_t m = random.Between(most_rows - 19, most_rows), k = random.Between(1, 50);
    const int64_t n = random.Between(1, 140);
    Shape a_dims = {m, k}, b_dims = {k, n};
    const int64_t batches = random.Between(0, 3);
    if (batches >= 1) a_dims.insert(a_dims.begin(), batches == 3 ? 1 : 3);
    if (batches >= 2) b_dims.insert(b_dims.begin(), 3);
    a = random.Make(random.Maybe(), a_dims);
    b = random.Make(random.Maybe(), b_dims);
    a_zero = random.Make(a.is_signed, random.Maybe() ? Shape{} : Shape{m});
    b_zero = random.Make(b.is_signed, random.Maybe() ? Shape{} : Shape{n});
    y_zero = random.Make(random.Maybe(), {});
    constant = random.Maybe();
    shape = kit::ProductShape(cpu::Dims(std::span<const int64_t>(a_dims)), cpu::Dims(std::span<const int64_t>(b_dims)));
    for (int64_t i = 0; i < n; ++i) {
      bias.push_back(static_cast<int32_t>(random.Between(-5000, 5000)));
      b_scale.push_back(random.Scale());
    }
  }

  std::vector<int32_t> Sums() const {
    std::vector<int32_t> sums;
    for (int64_t i = 0; i < shape.batch.Count(); ++i) {
      for (int64_t at = 0; at < shape.m * shape.n; ++at) {
        const int64_t r = at / shape.n, c = at % shape.n;
        int32_t sum = 0;
        for (int64_t j = 0; j < shape.k; ++j) {
          const auto left = static_cast<size_t>((shape.OffsetA(i) * shape.m + r) * shape.k + j);
          const auto right = static_cast<size_t>((shape.OffsetB(i) * shape.k + j) * shape.n + c);
          sum += (a.numbers[left] - At(a_zero, static_cast<size_t>(r))) *
                 (b.numbers[right] - At(b_zero, static_cast<size_t>(c)));
        }
        sums.push_back(sum);
      }
    }
    return sums;
  }
};

TEST(MatMulInteger, IsExactForRandomShapesTypesAndZeroPoints) {
  for (unsigned seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    const MatMulCase made(seed);
    OpRunner product("MatMulInteger", 10);
    product.InputDatum(made.a.datum()).InputDatum(made.b.datum(), made.constant).InputDatum(made.a_zero.datum());
    product.InputDatum(made.b_zero.datum(), made.constant);
    product.Run();
    ASSERT_THAT(product.Output<int32_t>(0), ElementsAreArray(made.Sums()));
  }
}

TEST(MatMulInteger, IsExactForMoreRowsThanFitIntoACache) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const MatMulCase made(seed, 2500);
    OpRunner product("MatMulInteger", 10);
    product.InputDatum(made.a.datum()).InputDatum(made.b.datum(), made.constant).InputDatum(made.a_zero.datum());
    product.InputDatum(made.b_zero.datum(), made.constant);
    product.Run();
    ASSERT_THAT(product.Output<int32_t>(0), ElementsAreArray(made.Sums()));
  }
}

TEST(QLinearMatMul, IsExactForRandomShapesTypesAndZeroPoints) {
  for (unsigned seed = 100; seed <= 160; ++seed) {
    SCOPED_TRACE(seed);
    MatMulCase made(seed);
    Random random(seed);
    const bool by_row = random.Maybe();
    std::vector<float> a_scale(by_row ? static_cast<size_t>(made.shape.m) : 1);
    for (float& scale : a_scale) scale = random.Scale();
    OpRunner product("QLinearMatMul", 10);
    product.InputDatum(made.a.datum()).Input<float>({static_cast<int64_t>(a_scale.size())}, a_scale);
    product.InputDatum(made.a_zero.datum()).InputDatum(made.b.datum(), made.constant);
    product.Input<float>({made.shape.n}, made.b_scale).InputDatum(made.b_zero.datum(), made.constant);
    product.Input<float>({}, {made.y_scale}).InputDatum(made.y_zero.datum());
    product.Run();
    const std::vector<int32_t> sums = made.Sums();
    std::vector<int> expected;
    const int low = made.y_zero.is_signed ? -128 : 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t column = i % made.b_scale.size(), row = i / made.b_scale.size() % static_cast<size_t>(made.shape.m);
      expected.push_back(Requantized(sums[i], a_scale[by_row ? row : 0], made.b_scale[column], made.y_scale,
                                     made.y_zero.numbers[0], low, low + 255));
    }
    ASSERT_THAT(NumbersOf(product), ElementsAreArray(expected));
  }
}

TEST(QLinearMatMul, OfTheKitTakesATransposedMatrixABiasAndBounds) {
  OpRunner product("QLinearMatMul", 1, std::string(kit::fuse::kDomain));
  product.Attribute("transB", 1).Attribute("low", 10).Attribute("high", 90);
  product.Input<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6}).Input<float>({}, {1}).Input<uint8_t>({}, {1});
  product.Constant<int8_t>({2, 3}, {1, 0, 2, 10, 20, 30}).Input<float>({2}, {1, 0.5f}).Constant<int8_t>({}, {0});
  product.Input<float>({}, {1}).Input<uint8_t>({}, {5}).Input<int32_t>({2}, {-3, 2});
  product.Run();
  // The sums are 4 and 80, then 13 and 260. With the bias they are 1 and 82, then 10 and 262.
  EXPECT_THAT(NumbersOf(product), ElementsAreArray({10, 46, 15, 90}));
}

TEST(QLinearMatMul, ABiasOfAnotherLengthIsAnError) {
  OpRunner product("QLinearMatMul", 1, std::string(kit::fuse::kDomain));
  product.Input<uint8_t>({1, 1}, {1}).Input<float>({}, {1}).Input<uint8_t>({}, {1});
  product.Constant<int8_t>({1, 2}, {1, 0}).Input<float>({}, {1}).Constant<int8_t>({}, {0});
  product.Input<float>({}, {1}).Input<uint8_t>({}, {5}).Input<int32_t>({1}, {-3});
  EXPECT_THAT([&] { product.Run(); }, ThrowsMessage<kit::Error>(HasSubstr("expected [2] of int32")));
}

}  // namespace
}  // namespace epiphyte::test
