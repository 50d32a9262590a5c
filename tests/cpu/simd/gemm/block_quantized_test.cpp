#include "plugins/cpu/simd/gemm/block_quantized.h"

#include <memory>

#include "plugins/cpu/simd/gemm/byte_product.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using BlockQuantizedProducts = EachTarget;
EPIPHYTE_EACH_TARGET(BlockQuantizedProducts);

enum class Zeros { kMiddle, kBytes, kFloats };

// Two panels of packed weights, and the value of each weight.
struct Weights {
  BlockQuantized packed;
  std::vector<double> elements;  // shape [rows, 2 * kBlockPanel]

  Weights(int bits, int64_t blocks, int64_t block, Zeros zeros, bool halves) {
    std::mt19937 random(static_cast<unsigned>(bits + blocks));
    const int64_t rows = blocks * block, columns = 2 * kBlockPanel, bytes = rows * bits / 8;
    numbers_.resize(static_cast<size_t>(columns * bytes));
    for (uint8_t& byte : numbers_) byte = static_cast<uint8_t>(random());
    words_.resize(static_cast<size_t>(2 * BlockPanelWords(bits, rows)));
    for (int64_t panel = 0; panel < 2; ++panel) {
      const uint8_t* of_panel[kBlockPanel];
      for (int64_t c = 0; c < kBlockPanel; ++c)
        of_panel[c] = &numbers_[static_cast<size_t>((panel * kBlockPanel + c) * bytes)];
      PackBlockPanel(of_panel, bits, rows, words_.data() + panel * BlockPanelWords(bits, rows));
    }
    for (int64_t i = 0; i < columns * blocks; ++i) {
      scales_.push_back(static_cast<float>(1 + random() % 50) / 256);
      half_scales_.push_back(kit::Float16(scales_.back()));
      zeros_.push_back(static_cast<uint8_t>(random() % (1u << bits)));
      real_zeros_.push_back(static_cast<float>(random() % 1000) / 100);
    }
    packed.bits = bits;
    packed.blocks = blocks;
    packed.block = block;
    packed.words = words_.data();
    if (halves) {
      packed.half_scales = half_scales_.data();
    } else {
      packed.scales = scales_.data();
    }
    if (zeros == Zeros::kBytes) packed.zeros = zeros_.data();
    if (zeros == Zeros::kFloats) packed.real_zeros = real_zeros_.data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t c = 0; c < columns; ++c) {
        const uint8_t byte = numbers_[static_cast<size_t>(c * bytes + row * bits / 8)];
        const int number = byte >> (row * bits % 8) & ((1 << bits) - 1);
        const auto at = static_cast<size_t>((c / kBlockPanel * blocks + row / block) * kBlockPanel + c % kBlockPanel);
        const double zero = zeros == Zeros::kMiddle  ? 1 << (bits - 1)
                            : zeros == Zeros::kBytes ? zeros_[at]
                                                     : static_cast<double>(real_zeros_[at]);
        elements.push_back((number - zero) * static_cast<double>(scales_[at]));
      }
    }
  }

 private:
  std::vector<uint8_t> numbers_, zeros_;
  std::vector<uint32_t> words_;
  std::vector<float> scales_, real_zeros_;
  std::vector<kit::Float16> half_scales_;
};

// Compares results with plain sums. `unit`: allowed error, relative to the sum of the products' magnitudes.
void ExpectProducts(const Weights& w, int64_t panel, const std::vector<double>& a, int64_t rows, const float* found,
                    double unit) {
  const int64_t k = w.packed.rows();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < kBlockPanel; ++c) {
      double sum = 0, size = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double left = a[static_cast<size_t>(r * k + i)];
        const double element = w.elements[static_cast<size_t>(i * 2 * kBlockPanel + panel * kBlockPanel + c)];
        sum += left * element;
        size += std::fabs(left) * 256 * 0.2;  // bounds |number - zero point| * scale
      }
      ASSERT_NEAR(found[r * kBlockPanel + c], sum, size * unit) << "row " << r << ", column " << c;
    }
  }
}

template <typename Check>
void ForEveryKind(const Check& check) {
  for (const int bits : {2, 4, 8}) {
    for (const int64_t block : {16, 32, 128}) {
      for (const Zeros zeros : {Zeros::kMiddle, Zeros::kBytes, Zeros::kFloats}) {
        for (const bool halves : {false, true}) {
          SCOPED_TRACE(::testing::Message() << bits << " bits, block " << block << ", zeros " << static_cast<int>(zeros)
                                            << ", halves " << halves);
          check(Weights(bits, 3, block, zeros, halves));
        }
      }
    }
  }
}

TEST_P(BlockQuantizedProducts, OfFloats) {
  ForEveryKind([](const Weights& w) {
    const int64_t k = w.packed.rows();
    for (const int64_t rows : {1, 2, 3, 4, 5, 7}) {
      GuardedRow<float> a(RandomFloats(rows * k, -1, 1));
      std::vector<float> sums(static_cast<size_t>(rows * 3));
      for (int64_t r = 0; r < rows; ++r) SumBlocks(a.data() + r * k, 3, w.packed.block, sums.data() + r * 3);
      const std::vector<float> left = a.values();
      for (int64_t panel = 0; panel < 2; ++panel) {
        GuardedRow<float> y(rows * kBlockPanel);
        RowsTimesBlockPanel(w.packed, panel, BlockLeft{a.data(), k, rows, sums.data()}, y.data());
        ExpectProducts(w, panel, {left.begin(), left.end()}, rows, y.data(), 2e-7);
      }
    }
  });
}

// The left side quantized to bytes, in blocks of the same length as those of `w`.
struct ByteLeft {
  std::vector<float> scales, sums;
  GuardedRow<int8_t> bytes;
  ByteBlockLeft left;

  ByteLeft(const BlockQuantized& w, const std::vector<float>& a, int64_t rows, int digits)
      : scales(static_cast<size_t>(rows * w.blocks)), sums(scales), bytes(rows * digits * w.rows()) {
    left = {bytes.data(), digits * w.rows(), rows, scales.data(), sums.data(), digits};
    for (int64_t r = 0; r < rows; ++r)
      QuantizeBlocks(a.data() + r * w.rows(), w.blocks, w.block, digits, bytes.data() + r * left.stride,
                     scales.data() + r * w.blocks, sums.data() + r * w.blocks);
  }
  // Returns an element in units of its block's scale.
  double Number(int64_t row, int64_t i, int64_t rows_of_w) const {
    double number = 0;
    for (int digit = 0; digit < left.digits; ++digit)
      number = number * 256 + left.a[row * left.stride + digit * rows_of_w + i];
    return number;
  }
};

void ExpectByteProducts() {
  ForEveryKind([](const Weights& w) {
    const int64_t k = w.packed.rows();
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13}) {
      const std::vector<float> a = RandomFloats(rows * k, -1, 1);
      const ByteLeft bytes(w.packed, a, rows, 1);
      std::vector<double> left;  // the left side after quantization
      for (int64_t i = 0; i < rows * k; ++i)
        left.push_back(bytes.Number(i / k, i % k, k) *
                       static_cast<double>(bytes.scales[static_cast<size_t>(i / w.packed.block)]));
      for (int64_t panel = 0; panel < 2; ++panel) {
        GuardedRow<float> y(rows * kBlockPanel);
        RowsTimesBlockPanel(w.packed, panel, bytes.left, y.data());
        ExpectProducts(w, panel, left, rows, y.data(), 2e-7);
      }
    }
  });
}
TEST_P(BlockQuantizedProducts, OfBytes) { ExpectByteProducts(); }
TEST_P(BlockQuantizedProducts, OfBytesWithoutVnni) {
  const WithoutVnni without;
  ExpectByteProducts();
}

void ExpectExactByteProducts() {
  ForEveryKind([](const Weights& w) {
    const int64_t k = w.packed.rows();
    for (const int64_t rows : {1, 2, 3, 4, 5, 7}) {
      const std::vector<float> a = RandomFloats(rows * k, -1, 1);
      const ByteLeft bytes(w.packed, a, rows, 3);
      for (int64_t panel = 0; panel < 2; ++panel) {
        GuardedRow<float> y(rows * kBlockPanel);
        RowsTimesBlockPanel(w.packed, panel, bytes.left, y.data());
        ExpectProducts(w, panel, {a.begin(), a.end()}, rows, y.data(), 2e-7);
      }
    }
  });
}
TEST_P(BlockQuantizedProducts, OfThreeBytesAreAsExactAsOfFloats) { ExpectExactByteProducts(); }
TEST_P(BlockQuantizedProducts, OfThreeBytesWithoutVnni) {
  const WithoutVnni without;
  ExpectExactByteProducts();
}

// 255 times the largest digit, summed over the longest block that byte products are used for, just fits into an int32.
TEST_P(BlockQuantizedProducts, OfBytesDoNotOverflow) {
  constexpr int64_t kBlock = 65536;
  const std::vector<uint8_t> column(kBlock, 255);
  std::vector<const uint8_t*> columns(kBlockPanel, column.data());
  std::vector<uint32_t> words(static_cast<size_t>(BlockPanelWords(8, kBlock)));
  PackBlockPanel(columns.data(), 8, kBlock, words.data());
  const std::vector<float> scales(kBlockPanel, 1);
  const std::vector<uint8_t> zeros(kBlockPanel, 0);
  BlockQuantized w{.bits = 8, .blocks = 1, .block = kBlock, .words = words.data(), .scales = scales.data()};
  w.zeros = zeros.data();
  const auto expect = [&](int digits, const std::vector<float>& a, float sum) {
    const ByteLeft bytes(w, a, 1, digits);
    float y[kBlockPanel];
    RowsTimesBlockPanel(w, 0, bytes.left, y);
    EXPECT_NEAR(y[63], 255.0f * sum, 3e-7f * 255 * sum) << digits;
  };
  expect(1, std::vector<float>(kBlock, 1), kBlock);
  expect(3, std::vector<float>(kBlock, 127 << 16), static_cast<float>(127 << 16) * kBlock);
  // Both lower digits of the elements after the first are -128.
  std::vector<float> a(kBlock, (5 << 16) + (127 << 8) + 128);
  a[0] = 127 << 16;
  EXPECT_EQ(ByteLeft(w, a, 1, 3).bytes[kBlock + 1], -128);
  EXPECT_EQ(ByteLeft(w, a, 1, 3).bytes[2 * kBlock + 1], -128);
  expect(3, a, a[1] * (kBlock - 1) + a[0]);
}

TEST_P(BlockQuantizedProducts, LeftSidesAreQuantizedByBlock) {
  std::vector<float> row = RandomFloats(64, -3, 3);
  row[5] = -4;
  std::fill(row.begin() + 16, row.begin() + 32, 0.0f);
  row[40] = NAN;
  row[50] = INFINITY;
  std::vector<int8_t> numbers(192);
  float scales[4], sums[4];
  QuantizeBlocks(row.data(), 4, 16, 1, numbers.data(), scales, sums);
  EXPECT_FLOAT_EQ(scales[0], 4.0f / 127);
  EXPECT_EQ(numbers[5], -127);
  int sum = 0;
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(numbers[i] * scales[0], row[i], scales[0] * 0.5001f);
    sum += numbers[i];
  }
  EXPECT_FLOAT_EQ(sums[0], static_cast<float>(sum) * scales[0]);
  for (const int digits : {1, 3}) {
    QuantizeBlocks(row.data(), 4, 16, digits, numbers.data(), scales, sums);
    EXPECT_EQ(numbers[5], -127);
    EXPECT_EQ(scales[1], 0.0f);
    EXPECT_EQ(sums[1], 0.0f);
    EXPECT_EQ(numbers[20], 0);
    EXPECT_TRUE(std::isnan(scales[2])) << "what isn't a number stays none";
    EXPECT_TRUE(std::isnan(scales[3]));
  }
}

// The inverse of their scale would be infinite.
TEST_P(BlockQuantizedProducts, LeftSidesOfTheSmallestNumbersAreZero) {
  std::vector<float> row(16, 0.0f);
  row[3] = 1e-38f;
  std::vector<int8_t> numbers(48, 1);
  float scale, sum;
  for (const int digits : {1, 3}) {
    QuantizeBlocks(row.data(), 1, 16, digits, numbers.data(), &scale, &sum);
    EXPECT_EQ(std::vector<int8_t>(numbers.begin(), numbers.begin() + digits * 16),
              std::vector<int8_t>(static_cast<size_t>(digits) * 16, 0));
    EXPECT_LE(std::fabs(sum), row[3]);
  }
}

TEST_P(BlockQuantizedProducts, WeightsAreWidened) {
  ForEveryKind([](const Weights& w) {
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, w.packed.rows()}, {16, w.packed.rows() - 32}}) {
      GuardedRow<float> floats(count * kBlockPanel);
      WidenBlockPanel(w.packed, 1, first, count, floats.data());
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < kBlockPanel; ++c)
          ASSERT_NEAR(floats[i * kBlockPanel + c],
                      w.elements[static_cast<size_t>((first + i) * 2 * kBlockPanel + kBlockPanel + c)],
                      256 * 0.2 * 1e-7);
      }
    }
  });
}

}  // namespace
}  // namespace epiphyte::cpu::simd
