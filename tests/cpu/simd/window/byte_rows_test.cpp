#include "plugins/cpu/simd/window/byte_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <tuple>

#include "tests/cpu/simd/requantized.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using ByteRows = EachTarget;
EPIPHYTE_EACH_TARGET(ByteRows);

std::vector<uint8_t> Bytes(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> values(static_cast<size_t>(n));
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  return values;
}
int NumberOf(uint8_t byte, bool is_signed) { return is_signed ? int{static_cast<int8_t>(byte)} : int{byte}; }

TEST_P(ByteRows, HaveMaximaAndSums) {
  for (int64_t n : Lengths()) {
    for (int64_t count : {1, 2, 9}) {
      std::vector<std::unique_ptr<GuardedRow<uint8_t>>> rows;
      std::vector<const uint8_t*> pointers;
      for (int64_t r = 0; r < count; ++r) {
        rows.push_back(std::make_unique<GuardedRow<uint8_t>>(Bytes(n, static_cast<unsigned>(r))));
        pointers.push_back(rows.back()->data());
      }
      for (const bool is_signed : {false, true}) {
        GuardedRow<uint8_t> most(n);
        GuardedRow<int32_t> sums(n);
        MaxOfByteRows(pointers.data(), count, is_signed, most.data(), n);
        SumOfByteRows(pointers.data(), count, is_signed, sums.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          int greatest = -1000, sum = 0;
          for (const auto& row : rows) {
            greatest = std::max(greatest, NumberOf((*row)[i], is_signed));
            sum += NumberOf((*row)[i], is_signed);
          }
          ASSERT_EQ(NumberOf(most[i], is_signed), greatest) << i << " of " << n;
          ASSERT_EQ(sums[i], sum) << i << " of " << n;
        }
      }
    }
  }
}

// Weights in the layout that RunByteDepthwise takes.
class PackedDepthwise {
 public:
  PackedDepthwise(const ByteMatrix& matrix, const int32_t* subtracted)
      : bytes_(new (std::align_val_t(64)) int8_t[static_cast<size_t>(DepthwiseBytes(matrix.columns, matrix.inner))]),
        sums_(static_cast<size_t>(BytePanelColumns(matrix.columns))) {
    PackDepthwise(matrix, subtracted, bytes_.get(), sums_.data());
  }
  const int8_t* bytes() const { return bytes_.get(); }
  const std::vector<int32_t>& sums() const { return sums_; }

 private:
  struct AlignedFree {
    void operator()(int8_t* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  std::unique_ptr<int8_t[], AlignedFree> bytes_;
  std::vector<int32_t> sums_;
};

// Checks depthwise sums of rows of either type by uint8 weights with zero point 7. int8 rows have the zero point -128.
void ExpectDepthwise(int64_t channels, int64_t taps, bool is_signed) {
  SCOPED_TRACE(::testing::Message() << channels << " channels, " << taps << " taps");
  constexpr int64_t kPositions = 3;
  std::vector<uint8_t> w = Bytes(channels * taps, 5);
  for (uint8_t& weight : w) weight = static_cast<uint8_t>(weight / 2 + 3);
  ByteMatrix matrix;
  matrix.data = w.data();
  matrix.flip = 0x80;
  matrix.columns = channels;
  matrix.column_stride = taps;
  matrix.inner = taps;
  matrix.inner_stride = 1;
  const std::vector<int32_t> subtracted(static_cast<size_t>(channels), 7 - 128);
  const PackedDepthwise packed(matrix, subtracted.data());
  const int64_t padded = BytePanelColumns(channels);
  const std::vector<int32_t> start(static_cast<size_t>(padded), 11);

  std::vector<std::unique_ptr<GuardedRow<uint8_t>>> rows;
  std::vector<const uint8_t*> pointers;
  for (int64_t i = 0; i < kPositions * ByteSteps(taps) * 4; ++i) {
    rows.push_back(std::make_unique<GuardedRow<uint8_t>>(Bytes(channels, static_cast<unsigned>(i))));
    pointers.push_back(rows.back()->data());
  }
  GuardedRow<int32_t> y(kPositions * channels);
  GuardedRow<uint8_t> bytes(kPositions * channels);
  ByteDepthwise depthwise;
  depthwise.rows = pointers.data();
  depthwise.positions = kPositions;
  depthwise.channels = channels;
  depthwise.steps = ByteSteps(taps);
  depthwise.flip = is_signed ? 0x80 : 0;
  depthwise.weights = packed.bytes();
  depthwise.start = start.data();
  depthwise.y = y.data();
  RunByteDepthwise(depthwise);
  const std::vector<float> factor = RandomFloats(padded, 1e-4f, 1e-2f);
  depthwise.result = ByteResult::kRequantized;
  depthwise.factor = factor.data();
  depthwise.y = bytes.data();
  depthwise.zero = 5;
  depthwise.low = 5;
  RunByteDepthwise(depthwise);
  for (int64_t p = 0; p < kPositions; ++p) {
    for (int64_t c = 0; c < channels; ++c) {
      int32_t sum = 11, weights = 0;
      for (int64_t t = 0; t < taps; ++t) {
        const int weight = w[static_cast<size_t>(c * taps + t)] - 7;
        const uint8_t byte = (*rows[static_cast<size_t>(p * depthwise.steps * 4 + t)])[c];
        sum += (byte ^ depthwise.flip) * weight;
        weights += weight;
      }
      ASSERT_EQ(y[p * channels + c], sum) << "position " << p << ", channel " << c;
      ASSERT_EQ(packed.sums()[static_cast<size_t>(c)], weights);
      ASSERT_EQ(bytes[p * channels + c], PlainRequantized(sum, factor[static_cast<size_t>(c)], 5, 5, 255))
          << "position " << p << ", channel " << c;
    }
  }
}

TEST_P(ByteRows, AreConvolvedDepthwise) {
  for (const bool vnni : {true, false}) {
    std::unique_ptr<WithoutVnni> without;
    if (!vnni) without = std::make_unique<WithoutVnni>();
    for (int64_t channels : {1, 15, 16, 31, 32, 33, 63, 64, 65, 96, 144, 200}) {
      for (int64_t taps : {1, 4, 9, 25}) ExpectDepthwise(channels, taps, taps == 9);
    }
  }
}

// With one tap and weights of 1, the sums are the elements of the row, so each requantized number is known.
TEST_P(ByteRows, AreConvolvedDepthwiseWithAnyFactor) {
  constexpr int64_t kChannels = 77, kPadded = BytePanelColumns(kChannels);
  const float kFactors[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0.5f, -0.5f, 3e7f, -3e7f, 0, 0.25f};
  const std::vector<uint8_t> w(kChannels, 1);
  ByteMatrix matrix;
  matrix.data = w.data();
  matrix.columns = kChannels;
  matrix.inner = 1;
  const PackedDepthwise packed(matrix, nullptr);
  const std::vector<int32_t> start(kPadded);
  std::vector<float> factor(kPadded);
  for (size_t c = 0; c < factor.size(); ++c) factor[c] = kFactors[c % std::size(kFactors)];
  GuardedRow<uint8_t> row(Bytes(kChannels, 1)), y(kChannels);
  const std::vector<const uint8_t*> rows(4, row.data());
  for (const auto& [zero, low, high] : {std::tuple(3, 0, 255), {255, 0, 255}, {-128, -128, 127}, {10, 10, 200}}) {
    ByteDepthwise depthwise;
    depthwise.rows = rows.data();
    depthwise.positions = 1;
    depthwise.channels = kChannels;
    depthwise.steps = 1;
    depthwise.weights = packed.bytes();
    depthwise.start = start.data();
    depthwise.result = ByteResult::kRequantized;
    depthwise.factor = factor.data();
    depthwise.zero = zero;
    depthwise.low = low;
    depthwise.high = high;
    depthwise.y = y.data();
    RunByteDepthwise(depthwise);
    for (int64_t c = 0; c < kChannels; ++c) {
      ASSERT_EQ(y[c], PlainRequantized(row[c], factor[static_cast<size_t>(c)], zero, low, high))
          << int{row[c]} << " times " << factor[static_cast<size_t>(c)];
    }
  }
}

// In a run, the rows of the first position and a step give the rows of all positions.
TEST_P(ByteRows, AreConvolvedDepthwiseInRuns) {
  constexpr int64_t kTaps = 9, kSteps = ByteSteps(kTaps), kAll = 7, kFirst = 2, kEnd = 6;
  for (const int64_t channels : {1, 33, 64, 144}) {
    const int64_t step = channels * 2;
    GuardedRow<uint8_t> inside(Bytes(step * (kEnd - kFirst - 1) + channels * 3, 1)), outside(Bytes(channels, 2));
    std::vector<const uint8_t*> every, of_run;
    for (int64_t p = 0; p < kAll; ++p) {
      for (int64_t t = 0; t < kSteps * 4; ++t) {
        const bool runs = p >= kFirst && p < kEnd;
        every.push_back(runs ? inside.data() + (p - kFirst) * step + t % 3 * channels : outside.data());
        of_run.push_back(runs && p > kFirst ? nullptr : every.back());
      }
    }
    const std::vector<uint8_t> w = Bytes(channels * kTaps, 3);
    ByteMatrix matrix;
    matrix.data = w.data();
    matrix.columns = channels;
    matrix.column_stride = kTaps;
    matrix.inner = kTaps;
    matrix.inner_stride = 1;
    const PackedDepthwise packed(matrix, nullptr);
    GuardedRow<int32_t> expected(kAll * channels), y(kAll * channels);
    ByteDepthwise depthwise;
    depthwise.rows = every.data();
    depthwise.positions = kAll;
    depthwise.channels = channels;
    depthwise.steps = kSteps;
    depthwise.weights = packed.bytes();
    depthwise.start = packed.sums().data();
    depthwise.y = expected.data();
    RunByteDepthwise(depthwise);
    depthwise.rows = of_run.data();
    depthwise.run_first = kFirst;
    depthwise.run_end = kEnd;
    depthwise.run_step = step;
    depthwise.y = y.data();
    RunByteDepthwise(depthwise);
    for (int64_t i = 0; i < kAll * channels; ++i) ASSERT_EQ(y[i], expected[i]) << i << " of " << channels;
  }
}

TEST_P(ByteRows, AreCombinedAsTheirRealNumbersAre) {
  const QuantParams a_end{0.02f, 100}, b_end{0.05f, -3}, y_end{0.07f, 40};
  for (int64_t n : Lengths()) {
    if (n == 0) continue;
    for (const bool is_signed : {false, true}) {
      for (const auto operation : {ByteOperation::kAdd, ByteOperation::kMul}) {
        for (const auto& [a_stride, b_stride] : {std::pair<int64_t, int64_t>{1, 1}, {0, 1}, {1, 0}}) {
          GuardedRow<uint8_t> a(Bytes(a_stride == 0 ? 1 : n, 1)), b(Bytes(b_stride == 0 ? 1 : n, 2)), y(n);
          const int low = is_signed ? -100 : 20, high = 110;
          CombineBytes({.operation = operation,
                        .is_signed = is_signed,
                        .a = {a.data(), a_stride, a_end},
                        .b = {b.data(), b_stride, b_end},
                        .y_end = y_end,
                        .low = low,
                        .high = high,
                        .y = y.data(),
                        .n = n});
          for (int64_t i = 0; i < n; ++i) {
            const float p = (static_cast<float>(NumberOf(a[i * a_stride], is_signed)) - a_end.zero) * a_end.scale;
            const float q = (static_cast<float>(NumberOf(b[i * b_stride], is_signed)) - b_end.zero) * b_end.scale;
            volatile float left = p, right = q;  // each product is rounded and not part of a fused multiply-add
            const float real = operation == ByteOperation::kAdd ? left + right : left * right;
            const float value = std::nearbyint(real / y_end.scale) + y_end.zero;
            ASSERT_EQ(NumberOf(y[i], is_signed), std::clamp(value, static_cast<float>(low), static_cast<float>(high)))
                << i << " of " << n;
          }
        }
      }
    }
  }
}

// Every pair of bytes. In some trials, the scales put many results halfway between two integers.
TEST_P(ByteRows, AreCombinedExactlyWhereResultsAreInTheMiddle) {
  std::vector<uint8_t> first(65536), second(65536);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<uint8_t>(i);
    second[i] = static_cast<uint8_t>(i / 256);
  }
  std::mt19937 random(9);
  for (int trial = 0; trial < 40; ++trial) {
    const bool is_signed = trial % 2 == 0, multiplies = trial % 4 < 2;
    const auto end = [&](float scale) {
      return QuantParams{scale, static_cast<float>(static_cast<int>(random() % 256) - (is_signed ? 128 : 0))};
    };
    const auto scale = [&] {
      return trial < 12 ? std::ldexp(1.0f, static_cast<int>(random() % 5) - 6)
                        : std::uniform_real_distribution<float>(0.001f, 0.2f)(random);
    };
    const QuantParams a_end = end(scale()), b_end = end(scale()), y_end = end(trial == 39 ? 1e-9f : scale());
    const int low = is_signed ? -128 : 0, high = low + 255;
    std::vector<uint8_t> y = first;  // written in place of an operand
    CombineBytes({.operation = multiplies ? ByteOperation::kMul : ByteOperation::kAdd,
                  .is_signed = is_signed,
                  .a = {y.data(), 1, a_end},
                  .b = {second.data(), 1, b_end},
                  .y_end = y_end,
                  .low = low,
                  .high = high,
                  .y = y.data(),
                  .n = 65536});
    for (size_t i = 0; i < y.size(); ++i) {
      volatile float left = (static_cast<float>(NumberOf(first[i], is_signed)) - a_end.zero) * a_end.scale;
      volatile float right = (static_cast<float>(NumberOf(second[i], is_signed)) - b_end.zero) * b_end.scale;
      const float real = multiplies ? left * right : left + right;
      const float value = std::nearbyint(real / y_end.scale) + y_end.zero;
      ASSERT_EQ(NumberOf(y[i], is_signed), std::clamp(value, static_cast<float>(low), static_cast<float>(high)))
          << "trial " << trial << ", " << int{first[i]} << " and " << int{second[i]};
    }
  }
}

TEST_P(ByteRows, OneRowIsAddedToEachAsToThatAlone) {
  for (const int64_t n : {1, 15, 64, 70, 200}) {
    for (const int64_t rows : {1, 3, 32, 70}) {
      for (const bool is_signed : {false, true}) {
        GuardedRow<uint8_t> y(Bytes(rows * n, 1)), row(Bytes(n, 2));
        const std::vector<uint8_t> before = y.values();
        ByteRowSum sum;
        sum.rows = rows;
        sum.n = n;
        sum.is_signed = is_signed;
        sum.a = y.data();
        sum.row = row.data();
        sum.y = y.data();
        sum.a_end = {0.25f, 3};
        sum.row_end = {0.03f, -7};
        sum.y_end = {n == 70 ? 1e-9f : 0.2f, 1};
        sum.low = is_signed ? -100 : 20;
        sum.high = 110;
        AddByteRow(sum);
        std::vector<uint8_t> expected(static_cast<size_t>(n));
        for (int64_t r = 0; r < rows; ++r) {
          CombineBytes({.operation = ByteOperation::kAdd,
                        .is_signed = is_signed,
                        .a = {before.data() + r * n, 1, sum.a_end},
                        .b = {row.data(), 1, sum.row_end},
                        .y_end = sum.y_end,
                        .low = sum.low,
                        .high = sum.high,
                        .y = expected.data(),
                        .n = n});
          for (int64_t i = 0; i < n; ++i)
            ASSERT_EQ(y[r * n + i], expected[static_cast<size_t>(i)]) << "row " << r << " of " << n << ", " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
