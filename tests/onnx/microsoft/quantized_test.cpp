// Operators on quantised tensors.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/onnx/microsoft/call.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int64_t kQuantizedOpsets[] = {11, 13, 17, 21};
// Tolerance in quantized steps, for a float sum with a different rounding of its last bit.
constexpr double kOneStep = 1;

struct Scale {
  float scale;
  double zero;
};

double Rounded(double number, Scale q, DataType type) {
  const double low = type == DataType::kUint8 || type == DataType::kUint16 ? 0
                     : type == DataType::kInt8                             ? -128
                                                                           : -32768;
  const double high = type == DataType::kUint8    ? 255
                      : type == DataType::kInt8   ? 127
                      : type == DataType::kUint16 ? 65535
                                                  : 32767;
  return std::clamp(std::nearbyint(number / q.scale) + q.zero, low, high);
}
Array Dequantized(const Array& x, Scale q) {
  Array y = Each(x, [&](double v) { return (v - q.zero) * q.scale; });
  y.type = DataType::kFloat;
  return y;
}
Array Quantized(const Array& x, Scale q, DataType type) {
  Array y = Each(x, [&](double v) { return Rounded(v, q, type); });
  y.type = type;
  return y;
}
Call& Put(Call& call, Scale q, DataType type) { return call.Weights(Scalar(q.scale)).Weights(Scalar(q.zero, type)); }

Array Whole(Dims dims, DataType type, uint32_t seed = 1) {
  return type == DataType::kUint8 ? RandomIntegers(std::move(dims), 0, 255, type, seed)
                                  : RandomIntegers(std::move(dims), -128, 127, type, seed);
}

class MicrosoftQuantized : public testing::TestWithParam<DataType> {
 protected:
  DataType type_ = GetParam();
  double shift_ = type_ == DataType::kUint8 ? 128 : 0;
  Scale a_{0.02f, shift_ - 8}, b_{0.03f, shift_ + 3}, y_{0.05f, shift_ + 1};
};
INSTANTIATE_TEST_SUITE_P(Types, MicrosoftQuantized, testing::Values(DataType::kUint8, DataType::kInt8),
                         [](const auto& info) { return std::string(core::DataTypeName(info.param)); });

TEST_P(MicrosoftQuantized, SumsAndProductsSpread) {
  for (const Dims& dims : {Dims{2, 3, 8}, Dims{8}}) {
    const Array a = Whole({2, 3, 8}, type_), b = Whole(dims, type_, 2);
    const Array da = Dequantized(a, a_), db = Dequantized(b, b_);
    const auto at = [&](const Dims& i) { return db.At(dims.size() == 1 ? Dims{i[2]} : i); };
    const Array sum = Make(a.dims, [&](const Dims& i) { return da.At(i) + at(i); });
    const Array product = Make(a.dims, [&](const Dims& i) { return da.At(i) * at(i); });
    for (const int64_t opset : kQuantizedOpsets) {
      const auto run = [&](const char* op_type) {
        Call call(op_type);
        Put(call.In(a), a_, type_).In(b);
        Put(Put(call, b_, type_), y_, type_);
        return call.Run({.opset = opset})[0];
      };
      ExpectNear(run("QLinearAdd"), Quantized(sum, y_, type_), kOneStep);
      ExpectNear(run("QLinearMul"), Quantized(product, y_, type_), kOneStep);
    }
  }
}

TEST_P(MicrosoftQuantized, ZeroPointsMayBeLeftOut) {
  const Array a = Whole({2, 8}, type_), b = Whole({2, 8}, type_, 2);
  const Array sum = Make(a.dims, [&](const Dims& i) { return a.At(i) * 0.02f + b.At(i) * 0.03f; });
  Call call("QLinearAdd");
  call.In(a).Weights(Scalar(0.02f)).Absent().In(b).Weights(Scalar(0.03f)).Absent().Weights(Scalar(0.05f));
  ExpectNear(call.Run()[0], Quantized(sum, {0.05f, 0}, type_), kOneStep);
}

TEST_P(MicrosoftQuantized, ActivationsAreThoseOfNumbers) {
  const Array x = Whole({2, 3, 8}, type_);
  const Array numbers = Dequantized(x, a_);
  const Scale unit{1 / 256.0f, shift_ - 128};
  for (const int64_t opset : kQuantizedOpsets) {
    const auto run = [&](const char* op_type, Scale y, const std::function<void(Call&)>& change) {
      Call call(op_type);
      Put(Put(call.In(x), a_, type_), y, type_);
      change(call);
      return call.Run({.opset = opset})[0];
    };
    const Array sigmoid = Each(numbers, [](double v) { return 1 / (1 + std::exp(-v)); });
    ExpectNear(run("QLinearSigmoid", unit, [](Call&) {}), Quantized(sigmoid, unit, type_), kOneStep);
    const Array leaky = Each(numbers, [](double v) { return v < 0 ? 0.3f * v : v; });
    ExpectNear(run("QLinearLeakyRelu", y_, [](Call& c) { c.Float("alpha", 0.3f); }), Quantized(leaky, y_, type_),
               kOneStep);
    // Returns softmax over the axes from `first` to `last`.
    const auto soft = [&](int64_t first, int64_t last) {
      return Make(x.dims, [&](const Dims& i) {
        double sum = 0;
        for (int64_t j = 0; j < (first <= 1 && last >= 1 ? 3 : 1); ++j) {
          for (int64_t k = 0; k < (last >= 2 && first <= 2 ? 8 : 1); ++k)
            sum += std::exp(numbers.At({i[0], first <= 1 && last >= 1 ? j : i[1], last >= 2 ? k : i[2]}));
        }
        return std::exp(numbers.At(i)) / sum;
      });
    };
    ExpectNear(run("QLinearSoftmax", unit, [](Call& c) { c.Int("opset", 13).Int("axis", -1); }),
               Quantized(soft(2, 2), unit, type_), kOneStep);
    ExpectNear(run("QLinearSoftmax", unit, [](Call& c) { c.Int("opset", 13).Int("axis", 1); }),
               Quantized(soft(1, 1), unit, type_), kOneStep);
    ExpectNear(run("QLinearSoftmax", unit, [](Call& c) { c.Int("opset", 12).Int("axis", 1); }),
               Quantized(soft(1, 2), unit, type_), kOneStep);
  }
}

TEST_P(MicrosoftQuantized, MovesRequantize) {
  const Array a = Whole({2, 3}, type_), b = Whole({2, 4}, type_, 2), other = Whole({2, 3}, type_, 3);
  const Array condition = RandomIntegers({2, 3}, 0, 1, DataType::kBool, 4);
  const Array joined = Make({2, 7}, [&](const Dims& i) {
    return i[1] < 3 ? Dequantized(a, a_).At(i) : Dequantized(b, b_).At({i[0], i[1] - 3});
  });
  const Array chosen = Make({2, 3}, [&](const Dims& i) {
    return condition.At(i) != 0 ? Dequantized(a, a_).At(i) : Dequantized(other, b_).At(i);
  });
  for (const int64_t opset : kQuantizedOpsets) {
    Call concat("QLinearConcat");
    Put(Put(concat, y_, type_).In(a), a_, type_).In(b);
    Put(concat, b_, type_).Int("axis", 1);
    ExpectNear(concat.Run({.opset = opset})[0], Quantized(joined, y_, type_), kOneStep);
    Call where("QLinearWhere");
    Put(where.In(condition).In(a), a_, type_).In(other);
    Put(Put(where, b_, type_), y_, type_);
    ExpectNear(where.Run({.opset = opset})[0], Quantized(chosen, y_, type_), kOneStep);
  }
}

TEST_P(MicrosoftQuantized, PoolsTakeChannelsInBothPlaces) {
  const Array image = Whole({1, 4, 6, 6}, type_);
  const auto last = [](const Array& x) {
    Array y = Make({x.dims[0], x.dims[2], x.dims[3], x.dims[1]}, [&](const Dims& i) {
      return x.At({i[0], i[3], i[1], i[2]});
    });
    y.type = x.type;
    return y;
  };
  const Array numbers = Dequantized(image, a_);
  for (const bool counts_pads : {false, true}) {
    const Array average = Make({1, 4, 3, 3}, [&](const Dims& i) {
      double sum = 0, count = 0;
      for (int64_t r = 2 * i[2] - 1; r < 2 * i[2] + 2; ++r) {
        for (int64_t c = 2 * i[3] - 1; c < 2 * i[3] + 2; ++c) {
          const bool inside = r >= 0 && c >= 0 && r < 6 && c < 6;
          if (inside) sum += numbers.At({0, i[1], r, c});
          count += inside || counts_pads ? 1 : 0;
        }
      }
      return sum / count;
    });
    const Array mean = Make({1, 4, 1, 1}, [&](const Dims& i) {
      double sum = 0;
      for (int64_t r = 0; r < 36; ++r) sum += numbers.At({0, i[1], r / 6, r % 6});
      return sum / 36;
    });
    for (const int64_t opset : kQuantizedOpsets) {
      for (const bool channels_last : {false, true}) {
        const auto pool = [&](const char* op_type) {
          Call call(op_type);
          Put(Put(call.In(channels_last ? last(image) : image), a_, type_), y_, type_);
          call.Int("channels_last", channels_last);
          return call;
        };
        Call window = pool("QLinearAveragePool");
        window.Ints("kernel_shape", {3, 3}).Ints("strides", {2, 2}).Ints("pads", {1, 1, 1, 1});
        window.Int("count_include_pad", counts_pads);
        const Array expected = Quantized(average, y_, type_), whole = Quantized(mean, y_, type_);
        ExpectNear(window.Run({.opset = opset})[0], channels_last ? last(expected) : expected, kOneStep);
        ExpectNear(pool("QLinearGlobalAveragePool").Run({.opset = opset})[0], channels_last ? last(whole) : whole,
                   kOneStep);
      }
    }
  }
  Array largest = Make({1, 4, 3, 3}, [&](const Dims& i) {
    double most = -1000;
    for (int64_t n = 0; n < 4; ++n) most = std::max(most, image.At({0, i[1], 2 * i[2] + n / 2, 2 * i[3] + n % 2}));
    return most;
  });
  largest.type = type_;
  for (const int64_t opset : {12, 17}) {
    Call call("NhwcMaxPool");
    call.In(last(image)).Ints("kernel_shape", {2, 2}).Ints("strides", {2, 2});
    ExpectNear(call.Run({.opset = opset})[0], last(largest), 0);
  }
}

TEST_P(MicrosoftQuantized, ConvolutionsTakeChannelsAtEitherPlace) {
  const Array image = Whole({1, 4, 6, 6}, type_), w = RandomIntegers({5, 4, 3, 3}, -127, 127, DataType::kInt8, 2);
  const Array bias = RandomIntegers({5}, -500, 500, DataType::kInt32, 3);
  const auto last = [](const Array& x) {
    Array y = Make({x.dims[0], x.dims[2], x.dims[3], x.dims[1]}, [&](const Dims& i) {
      return x.At({i[0], i[3], i[1], i[2]});
    });
    y.type = x.type;
    return y;
  };
  const Array numbers = Make({1, 5, 3, 3}, [&](const Dims& i) {
    double sum = bias.At({i[1]});
    for (int64_t at = 0; at < 4 * 9; ++at) {
      const int64_t c = at / 9, row = 2 * i[2] - 1 + at / 3 % 3, column = 2 * i[3] - 1 + at % 3;
      if (row < 0 || column < 0 || row >= 6 || column >= 6) continue;
      sum += (image.At({0, c, row, column}) - a_.zero) * w.At({i[1], c, at / 3 % 3, at % 3});
    }
    return sum * a_.scale * 0.001f;
  });
  const Array expected = Quantized(numbers, y_, type_);
  for (const int64_t opset : kQuantizedOpsets) {
    for (const bool channels_last : {false, true}) {
      Call call("QLinearConv");
      Put(call.In(channels_last ? last(image) : image), a_, type_);
      Put(call.Weights(w), {0.001f, 0}, DataType::kInt8);
      Put(call, y_, type_).Weights(bias).Int("channels_last", channels_last);
      call.Ints("pads", {1, 1, 1, 1}).Ints("strides", {2, 2});
      ExpectNear(call.Run({.opset = opset})[0], channels_last ? last(expected) : expected, kOneStep);
      EXPECT_THAT(call.Body({.opset = opset}), Contains("QLinearConv"));
    }
  }
}

TEST_P(MicrosoftQuantized, MeansAreOverAxes) {
  const Array x = Whole({2, 3, 8}, type_);
  const Array numbers = Dequantized(x, a_);
  const Array mean = Make({2, 1, 8}, [&](const Dims& i) {
    return (numbers.At({i[0], 0, i[2]}) + numbers.At({i[0], 1, i[2]}) + numbers.At({i[0], 2, i[2]})) / 3;
  });
  for (const int64_t opset : kQuantizedOpsets) {
    for (const bool keeps : {false, true}) {
      Call call("QLinearReduceMean");
      Put(Put(call.In(x), a_, type_), y_, type_).Ints("axes", {1}).Int("keepdims", keeps);
      Array expected = Quantized(mean, y_, type_);
      if (!keeps) expected.dims = {2, 8};
      ExpectNear(call.Run({.opset = opset})[0], expected, kOneStep);
    }
  }
}

TEST_P(MicrosoftQuantized, QGemmScalesByColumnsAndEndsInEitherType) {
  const Array a = Whole({3, 8}, type_), c = RandomIntegers({5}, -500, 500, DataType::kInt32, 3);
  for (const bool turned : {false, true}) {
    const Array b = Whole(turned ? Dims{5, 8} : Dims{8, 5}, DataType::kInt8, 2);
    for (const bool columns : {false, true}) {
      const auto scale = [&](int64_t column) { return columns ? 0.01f * static_cast<float>(1 + column) : 0.01f; };
      const float alpha = columns ? 1.0f : 0.5f;
      const Array numbers = Make({3, 5}, [&](const Dims& i) {
        double sum = c.At({i[1]});
        for (int64_t k = 0; k < 8; ++k)
          sum += (a.At({i[0], k}) - a_.zero) * b.At(turned ? Dims{i[1], k} : Dims{k, i[1]});
        return sum * a_.scale * scale(i[1]) * alpha;
      });
      for (const int64_t opset : kQuantizedOpsets) {
        const auto gemm = [&] {
          Call call("QGemm");
          Put(call.In(a), a_, type_).Weights(b);
          if (columns) {
            call.Weights(Make({5}, [&](const Dims& i) { return scale(i[0]); }));
            call.Weights(Make(
                {5}, [](const Dims&) { return 0; }, DataType::kInt8));
          } else {
            call.Weights(Scalar(scale(0))).Weights(Scalar(0, DataType::kInt8));
          }
          call.Weights(c).Int("transB", turned).Float("alpha", alpha);
          return call;
        };
        ExpectNear(gemm().Run({.opset = opset})[0], numbers, 2e-4);
        Call quantized = gemm();
        ExpectNear(Put(quantized, y_, type_).Run({.opset = opset})[0], Quantized(numbers, y_, type_), kOneStep);
      }
    }
  }
}

TEST_P(MicrosoftQuantized, ProductsOfIntegersBecomeFloats) {
  const Array a = Whole({2, 3, 8}, DataType::kUint8), b = Whole({8, 5}, type_, 2);
  const Array bias = Random({5}, -1, 1, DataType::kFloat, 3);
  for (const bool columns : {false, true}) {
    const auto scale = [&](int64_t column) { return columns ? 0.01f * static_cast<float>(1 + column) : 0.01f; };
    const auto zero = [&](int64_t column) { return columns ? static_cast<double>(column) : 3.0; };
    const Array scales = columns ? Make({5}, [&](const Dims& i) { return scale(i[0]); }) : Scalar(scale(0));
    const Array zeros = columns ? Make(
                                      {5}, [&](const Dims& i) { return zero(i[0]); }, type_)
                                : Scalar(zero(0), type_);
    const Array expected = Make({2, 3, 5}, [&](const Dims& i) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += (a.At({i[0], i[1], k}) - 100) * (b.At({k, i[2]}) - zero(i[2]));
      return sum * 0.02f * scale(i[2]) + bias.At({i[2]});
    });
    for (const int64_t opset : kQuantizedOpsets) {
      Call call("MatMulIntegerToFloat");
      call.In(a).Weights(b).Weights(Scalar(0.02f)).Weights(scales).Weights(Scalar(100, DataType::kUint8));
      ExpectNear(call.Weights(zeros).Weights(bias).Run({.opset = opset})[0], expected, 2e-4);
    }
    // DynamicQuantizeMatMul quantizes its input to 8 bits of the input's own range.
    const Array x = Random({2, 3, 8}, -1, 1, DataType::kFloat, 4);
    const double low = std::min(0.0, *std::min_element(x.numbers.begin(), x.numbers.end()));
    const double high = std::max(0.0, *std::max_element(x.numbers.begin(), x.numbers.end()));
    const double step = (high - low) / 255;
    const Array product = Make({2, 3, 5}, [&](const Dims& i) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += x.At({i[0], i[1], k}) * (b.At({k, i[2]}) - zero(i[2])) * scale(i[2]);
      return sum + bias.At({i[2]});
    });
    // Half a step of x for each of eight products.
    const double bound = 8 * step * 255 * 0.05 / 2;
    for (const int64_t opset : kQuantizedOpsets) {
      Call call("DynamicQuantizeMatMul");
      call.In(x).Weights(b).Weights(scales).Weights(zeros).Weights(bias);
      ExpectNear(call.Run({.opset = opset})[0], product, columns ? bound : bound / 5);
    }
  }
}

TEST(MicrosoftQuantizeLinear, HasMoreTypesThanItsOpset) {
  const Array x = Random({2, 3, 4}, -1, 1);
  for (const DataType type : {DataType::kUint8, DataType::kInt8, DataType::kUint16, DataType::kInt16}) {
    for (const bool axis : {false, true}) {
      const auto scale = [&](int64_t i) { return Scale{0.01f * static_cast<float>(axis ? 1 + i : 1), 3.0 + i}; };
      const auto of = [&](const Dims& i) { return scale(axis ? i[1] : 0); };
      const Array scales = axis ? Make({3}, [&](const Dims& i) { return scale(i[0]).scale; }) : Scalar(scale(0).scale);
      const Array zeros = axis ? Make(
                                     {3}, [&](const Dims& i) { return scale(i[0]).zero; }, type)
                               : Scalar(3, type);
      const Array q = Make(
          x.dims, [&](const Dims& i) { return Rounded(x.At(i), of(i), type); }, type);
      const Array back = Make(x.dims, [&](const Dims& i) { return (q.At(i) - of(i).zero) * of(i).scale; });
      for (const int64_t opset : kQuantizedOpsets) {
        ExpectNear(Call("QuantizeLinear").In(x).Weights(scales).Weights(zeros).Run({.opset = opset})[0], q, kOneStep);
        ExpectNear(Call("DequantizeLinear").In(q).Weights(scales).Weights(zeros).Run({.opset = opset})[0], back, 1e-6);
      }
    }
  }
}

TEST(MicrosoftQuantizeLinear, TakesHalf) {
  const Array x = Random({2, 8}, -1, 1, DataType::kFloat16), scale = As(Scalar(0.0625), DataType::kFloat16);
  const Array q = Quantized(x, {0.0625f, 7}, DataType::kInt8);
  const Array back = As(Dequantized(q, {0.0625f, 7}), DataType::kFloat16);
  const Array zero = Scalar(7, DataType::kInt8);
  for (const int64_t opset : kQuantizedOpsets) {
    ExpectNear(Call("QuantizeLinear").In(x).Weights(scale).Weights(zero).Run({.opset = opset})[0], q, 0);
    ExpectNear(Call("DequantizeLinear").In(q).Weights(scale).Weights(zero).Run({.opset = opset})[0], back, 0);
  }
}

TEST(MicrosoftGatherBlockQuantized, ReadsRowsAndWidensThem) {
  const Array indices = Of({2, 3}, {0, 5, 2, 3, 3, 1}, DataType::kInt64);
  for (const int64_t bits : {4, 8}) {
    // A row has three blocks, so the number of zero points per row is odd.
    const int64_t width = 48, blocks = 3, per_byte = 8 / bits;
    const Array data = RandomIntegers({6, width / per_byte}, 0, 255, DataType::kUint8);
    const Array scales = Random({6, blocks}, 0.01, 0.1, DataType::kFloat, 2);
    const Array zeros = RandomIntegers({6, bits == 4 ? 2 : 3}, 0, 255, DataType::kUint8, 3);
    const auto element = [&](const Array& x, int64_t row, int64_t i) {
      const auto byte = static_cast<int64_t>(x.At({row, i / per_byte}));
      return bits == 8 ? byte : i % 2 == 0 ? byte % 16 : byte / 16;
    };
    for (const bool with_zeros : {false, true}) {
      const Array expected = Make({2, 3, width}, [&](const Dims& i) {
        const auto row = static_cast<int64_t>(indices.At({i[0], i[1]}));
        const int64_t block = i[2] / 16;
        const int64_t zero = with_zeros ? element(zeros, row, block) : bits == 4 ? 8 : 128;
        return static_cast<double>(element(data, row, i[2]) - zero) * scales.At({row, block});
      });
      for (const int64_t opset : kQuantizedOpsets) {
        Call call("GatherBlockQuantized");
        call.Weights(data).In(indices).Weights(scales);
        if (with_zeros) call.Weights(zeros);
        call.Int("bits", bits).Int("block_size", 16).Int("quantize_axis", 1);
        ExpectNear(call.Run({.opset = opset})[0], expected, 1e-5);
      }
    }
  }
  const Array data = RandomIntegers({6, 12}, 0, 255, DataType::kUint8), scales = Random({6, 2});
  const auto failure = [&](int64_t block, int64_t axis) {
    Call call("GatherBlockQuantized");
    return call.Weights(data).In(indices).Weights(scales).Int("block_size", block).Int("quantize_axis", axis).Failure();
  };
  EXPECT_THAT(failure(0, 1), HasSubstr("'block_size' is 0"));
  EXPECT_THAT(failure(17, 1), HasSubstr("'block_size' is 17"));
  EXPECT_THAT(failure(16, 1), HasSubstr("rows of 24 elements"));
  EXPECT_THAT(failure(16, 0), HasSubstr("'quantize_axis' is 0"));
}

TEST(MicrosoftDynamicQuantizeLstm, StepsAsTheDequantizedWeightsSay) {
  const int64_t steps = 3, batch = 2, width = 3, hidden = 4;
  const Array x = Random({steps, batch, width});
  for (const bool columns : {false, true}) {
    const Array w = RandomIntegers({1, width, 4 * hidden}, -127, 127, DataType::kInt8, 2);
    const Array r = RandomIntegers({1, hidden, 4 * hidden}, -127, 127, DataType::kInt8, 3);
    const Array bias = Random({1, 8 * hidden}, -1, 1, DataType::kFloat, 4);
    const Array scale = columns ? Random({1, 4 * hidden}, 0.005, 0.01, DataType::kFloat, 5) : Of({1}, {0.008f});
    const Array zero = RandomIntegers(scale.dims, -4, 4, DataType::kInt8, 6);
    const auto weight = [&](const Array& of, int64_t k, int64_t n) {
      const Dims at = columns ? Dims{0, n} : Dims{0};
      return (of.At({0, k, n}) - zero.At(at)) * scale.At(at);
    };
    std::vector<double> h(static_cast<size_t>(batch * hidden)), c = h;
    Array y = Make({steps, 1, batch, hidden}, [](const Dims&) { return 0; });
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    for (int64_t t = 0; t < steps; ++t) {
      const std::vector<double> before = h;
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t j = 0; j < hidden; ++j) {
          double gates[4];
          for (int64_t g = 0; g < 4; ++g) {
            const int64_t n = g * hidden + j;
            gates[g] = bias.At({0, n}) + bias.At({0, 4 * hidden + n});
            for (int64_t k = 0; k < width; ++k) gates[g] += x.At({t, b, k}) * weight(w, k, n);
            for (int64_t k = 0; k < hidden; ++k)
              gates[g] += before[static_cast<size_t>(b * hidden + k)] * weight(r, k, n);
          }
          // The gates are in the order input, output, forget, cell.
          const auto at = static_cast<size_t>(b * hidden + j);
          c[at] = sigmoid(gates[2]) * c[at] + sigmoid(gates[0]) * std::tanh(gates[3]);
          h[at] = sigmoid(gates[1]) * std::tanh(c[at]);
          y.Ref({t, 0, b, j}) = h[at];
        }
      }
    }
    for (const int64_t opset : kQuantizedOpsets) {
      Call call("DynamicQuantizeLSTM");
      call.In(x).Weights(w).Weights(r).Weights(bias).Absent().Absent().Absent().Absent();
      call.Weights(scale).Weights(zero).Weights(scale).Weights(zero).Int("hidden_size", hidden);
      const Arrays found = call.Outputs({true, true, true}).Run({.opset = opset});
      ExpectNear(found[0], y, 1e-5);
      ExpectNear(found[1], Of({1, batch, hidden}, h), 1e-5);
      ExpectNear(found[2], Of({1, batch, hidden}, c), 1e-5);
    }
  }
}

TEST(MicrosoftQuantizedOperators, RefuseWhatDoesNotFit) {
  const Array x = Whole({2, 8}, DataType::kUint8);
  const Array many = Random({8}, 0.1, 0.2);
  const Array one = Scalar(0.1f);
  EXPECT_THAT(Call("QLinearAdd").In(x).Weights(many).Absent().In(x).Weights(one).Absent().Weights(one).Failure(),
              AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("scale at input 1")));
  EXPECT_THAT(Call("QLinearConcat").Weights(one).Absent().In(x).Weights(one).Absent().In(x).Failure(),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("6 inputs")));
  EXPECT_THAT(Call("QLinearSoftmax").In(x).Weights(one).Absent().Weights(one).Int("axis", 7).Failure(),
              HasSubstr("'axis' is 7"));
  EXPECT_THAT(Call("QLinearSigmoid").In(Random({2})).Weights(one).Absent().Weights(one).Failure(),
              HasSubstr("of type float"));
  EXPECT_THAT(Call("NhwcMaxPool").In(x).Ints("kernel_shape", {2, 2}).Failure(), HasSubstr("2 dimensions"));
  EXPECT_THAT(Call("DequantizeLinear").In(x).Weights(many).Int("axis", 5).Failure({.opset = 11}), HasSubstr("axis 5"));
}

TEST(MicrosoftOperators, UnknownOperatorIsReportedWithTheNearestKnownOne) {
  EXPECT_THAT(Call("SkipLayerNormalisation").In(Random({2})).Failure(),
              AllOf(HasSubstr("com.microsoft"), HasSubstr("did you mean SkipLayerNormalization?")));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
