#include "plugins/cpu/simd/gemm/byte_product.h"

#include <cmath>
#include <memory>
#include <tuple>

#include "plugins/cpu/simd/gemm/amx.h"
#include "tests/cpu/simd/requantized.h"
#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using ByteProducts = EachTarget;
EPIPHYTE_EACH_TARGET(ByteProducts);

template <typename T>
std::vector<T> Bytes(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

template <typename T>
struct AlignedFree {
  void operator()(T* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
struct Panels {
  std::unique_ptr<int8_t[], AlignedFree<int8_t>> bytes;
  std::vector<int32_t> sums;

  Panels(const ByteMatrix& w, const int32_t* subtracted = nullptr) {
    const auto size = static_cast<size_t>(BytePanelBytes(w.columns, w.outer * w.inner));
    bytes.reset(new (std::align_val_t(64)) int8_t[size]);
    sums.resize(static_cast<size_t>(BytePanelColumns(w.columns)));
    PackBytePanels(w, 0, w.columns, subtracted, bytes.get(), sums.data());
  }
};

struct Case {
  int64_t rows, columns, k;
  std::vector<uint8_t> a;
  std::vector<int8_t> w;  // shape [k, columns]
  std::vector<int32_t> start;

  Case(int64_t m, int64_t n, int64_t depth)
      : rows(m), columns(n), k(depth), a(Bytes<uint8_t>(m * stride(), 1)), w(Bytes<int8_t>(depth * n, 2)) {
    for (int64_t c = 0; c < BytePanelColumns(n); ++c) start.push_back(static_cast<int32_t>(c * 1000 - 7));
  }
  int64_t stride() const { return ByteSteps(k) * 4; }
  ByteMatrix matrix() const {
    ByteMatrix matrix;
    matrix.data = reinterpret_cast<const uint8_t*>(w.data());
    matrix.columns = columns;
    matrix.inner = k;
    matrix.inner_stride = columns;
    return matrix;
  }
  ByteProduct product(const uint8_t* left, const Panels& panels) const {
    ByteProduct product;
    product.a = left;
    product.a_stride = stride();
    product.rows = rows;
    product.columns = columns;
    product.steps = ByteSteps(k);
    product.panels = panels.bytes.get();
    product.start = start.data();
    product.y_stride = columns;
    return product;
  }
  int32_t Sum(int64_t r, int64_t c) const {
    auto sum = static_cast<uint32_t>(start[static_cast<size_t>(c)]);
    for (int64_t i = 0; i < k; ++i)
      sum += static_cast<uint32_t>(a[static_cast<size_t>(r * stride() + i)] * w[static_cast<size_t>(i * columns + c)]);
    return static_cast<int32_t>(sum);
  }
};

void ExpectSums(int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k);
  const Case made(m, n, k);
  const Panels panels(made.matrix());
  GuardedRow<uint8_t> a(made.a);
  GuardedRow<int32_t> y(m * n);
  ByteProduct product = made.product(a.data(), panels);
  product.y = y.data();
  RunByteProduct(product);
  for (int64_t r = 0; r < m; ++r)
    for (int64_t c = 0; c < n; ++c) ASSERT_EQ(y[r * n + c], made.Sum(r, c)) << "row " << r << ", column " << c;
  for (int64_t c = 0; c < BytePanelColumns(n); ++c) {
    int32_t sum = 0;
    for (int64_t i = 0; c < n && i < k; ++i) sum += made.w[static_cast<size_t>(i * n + c)];
    ASSERT_EQ(panels.sums[static_cast<size_t>(c)], sum) << "of column " << c;
  }
}

void ExpectEveryShape() {
  for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 11, 13}) {
    for (int64_t n : {1, 15, 16, 17, 33, 63, 64, 65, 130}) ExpectSums(m, n, 37);
    for (int64_t k : {0, 1, 2, 3, 4, 5, 64}) ExpectSums(m, 70, k);
  }
  // Shapes around the tile size of 16 rows, 16 columns and 64 steps, so that each has a remainder.
  for (int64_t m : {15, 16, 17, 31, 32, 33, 47, 65}) {
    for (int64_t n : {16, 31, 32, 33, 49, 96, 130}) ExpectSums(m, n, 70);
    for (int64_t k : {3, 63, 64, 65, 128, 200}) ExpectSums(m, 70, k);
  }
}

TEST_P(ByteProducts, AreExactForEveryShape) { ExpectEveryShape(); }
// Prefetching may reach the end of a thread's panels, and there may be nothing to prefetch.
TEST_P(ByteProducts, AreTheSameWithPanelsFetchedAhead) {
  for (const int64_t rows : {16, 32, 70}) {
    for (const int64_t k : {3, 64, 200}) {
      const Case made(rows, 200, k);
      const Panels panels(made.matrix());
      for (const int64_t next : {int64_t{-1}, int64_t{0}, int64_t{64}}) {
        GuardedRow<uint8_t> a(made.a);
        GuardedRow<int32_t> y(rows * 200);
        ByteProduct product = made.product(a.data(), panels);
        product.fetches_ahead = true;
        product.next = next < 0 ? nullptr : product.panels + next * product.steps * 4;
        product.y = y.data();
        RunByteProduct(product);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < 200; ++c)
            ASSERT_EQ(y[r * 200 + c], made.Sum(r, c)) << "row " << r << ", column " << c;
      }
    }
  }
}
TEST_P(ByteProducts, AreExactWithoutAmx) {
  const WithoutAmx without;
  EXPECT_EQ(ByteTileRows(), 0);
  ExpectEveryShape();
}
TEST_P(ByteProducts, AreExactWithoutVnni) {
  const WithoutVnni without;
  EXPECT_FALSE(UsesVnni());
  ExpectEveryShape();
}

// Pairs of products 255 * -128 exceed int16, and sums of 70,000 steps exceed int32.
TEST_P(ByteProducts, NeitherSaturateInBetweenNorAtTheEnd) {
  for (const bool vnni : {true, false}) {
    std::unique_ptr<WithoutVnni> without;
    if (!vnni) without = std::make_unique<WithoutVnni>();
    for (const int8_t weight : {int8_t{-128}, int8_t{127}}) {
      Case made(2, 3, 70000);
      std::fill(made.a.begin(), made.a.end(), uint8_t{255});
      std::fill(made.w.begin(), made.w.end(), weight);
      const Panels panels(made.matrix());
      std::vector<int32_t> y(6);
      ByteProduct product = made.product(made.a.data(), panels);
      product.y = y.data();
      RunByteProduct(product);
      EXPECT_EQ(y[4], made.Sum(1, 1)) << int{weight};
    }
  }
}

TEST_P(ByteProducts, AddTermsOfRowsAndColumns) {
  const Case made(7, 70, 9);
  const Panels panels(made.matrix());
  const std::vector<int32_t> rows = {1, -2, 3, INT32_MAX, 0, 5, -6};
  const std::vector<int32_t> columns(made.start.rbegin(), made.start.rend());
  std::vector<int32_t> y(7 * 70);
  ByteProduct product = made.product(made.a.data(), panels);
  product.y = y.data();
  product.row_terms[1] = rows.data();
  product.column_terms[1] = columns.data();
  RunByteProduct(product);
  for (int64_t r = 0; r < 7; ++r) {
    for (int64_t c = 0; c < 70; ++c) {
      const uint32_t term =
          static_cast<uint32_t>(rows[static_cast<size_t>(r)]) * static_cast<uint32_t>(columns[static_cast<size_t>(c)]);
      ASSERT_EQ(y[static_cast<size_t>(r * 70 + c)], static_cast<int32_t>(static_cast<uint32_t>(made.Sum(r, c)) + term));
    }
  }
}

TEST_P(ByteProducts, AreRequantizedByColumn) {
  struct Range {
    int32_t zero, low, high;
  };
  for (const Range& range : {Range{3, 0, 255}, {-5, -128, 127}, {10, 10, 200}}) {
    for (const auto& [m, n, k] :
         {std::tuple(7, 1, 12), {7, 17, 12}, {7, 64, 12}, {7, 70, 12}, {40, 96, 3}, {70, 97, 70}}) {
      const Case made(m, n, k);
      const Panels panels(made.matrix());
      const std::vector<float> factor = RandomFloats(BytePanelColumns(n), 1e-4f, 5e-3f);
      GuardedRow<uint8_t> y(m * n);
      ByteProduct product = made.product(made.a.data(), panels);
      product.result = ByteResult::kRequantized;
      product.factor = factor.data();
      product.zero = range.zero;
      product.low = range.low;
      product.high = range.high;
      product.y = y.data();
      RunByteProduct(product);
      for (int64_t r = 0; r < m; ++r) {
        for (int64_t c = 0; c < n; ++c)
          ASSERT_EQ(y[r * n + c], PlainRequantized(made.Sum(r, c), factor[static_cast<size_t>(c)], range.zero,
                                                   range.low, range.high));
      }
    }
  }
}

// Results are beyond all integers, halfway between two integers, or NaN.
TEST_P(ByteProducts, AreRequantizedByAnyFactor) {
  const float kFactors[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0.5f, -0.5f, 3e6f, -3e6f, 0, 0.25f};
  for (const auto& [zero, low, high] : {std::tuple(3, 0, 255), {255, 0, 255}, {-128, -128, 127}, {10, 10, 200}}) {
    for (const int64_t m : {1, 5, 33}) {
      const Case made(m, 70, 8);
      const Panels panels(made.matrix());
      std::vector<float> factor(static_cast<size_t>(BytePanelColumns(70)));
      for (size_t c = 0; c < factor.size(); ++c) factor[c] = kFactors[c % std::size(kFactors)];
      GuardedRow<uint8_t> y(m * 70);
      ByteProduct product = made.product(made.a.data(), panels);
      product.result = ByteResult::kRequantized;
      product.factor = factor.data();
      product.zero = zero;
      product.low = low;
      product.high = high;
      product.y = y.data();
      RunByteProduct(product);
      for (int64_t i = 0; i < m * 70; ++i) {
        const float by = factor[static_cast<size_t>(i % 70)];
        ASSERT_EQ(y[i], PlainRequantized(made.Sum(i / 70, i % 70), by, zero, low, high))
            << "row " << i / 70 << ", " << by;
      }
    }
  }
}

TEST_P(ByteProducts, BecomeFloats) {
  const Case made(7, 70, 12);
  const Panels panels(made.matrix());
  const std::vector<float> factor = RandomFloats(128, 1e-4f, 1e-2f), bias = RandomFloats(128, -1, 1, 5);
  for (const bool biased : {false, true}) {
    GuardedRow<float> y(7 * 70);
    ByteProduct product = made.product(made.a.data(), panels);
    product.result = ByteResult::kScaled;
    product.factor = factor.data();
    product.bias = biased ? bias.data() : nullptr;
    product.y = y.data();
    RunByteProduct(product);
    for (int64_t r = 0; r < 7; ++r) {
      for (int64_t c = 0; c < 70; ++c) {
        const float scaled = static_cast<float>(made.Sum(r, c)) * factor[static_cast<size_t>(c)];
        const float expected = biased ? scaled + bias[static_cast<size_t>(c)] : scaled;
        ASSERT_NEAR(y[r * 70 + c], expected, std::fabs(scaled) * 0x1p-23f) << r << ", " << c;
      }
    }
  }
}

TEST_P(ByteProducts, RequantizeHalvesToEvenAndNanToTheLowest) {
  const std::vector<int32_t> sums = {1, 3, -1, -3, 5, INT32_MAX, INT32_MIN, 0};
  const std::vector<float> factors = {0.5f, 0.5f, 0.5f, 0.5f, std::nanf(""), 1e30f, 1e30f, INFINITY};
  std::vector<uint8_t> y(8);
  RequantizeRow(sums.data(), factors.data(), 1, 0, 255, y.data(), 8);
  EXPECT_EQ(y, (std::vector<uint8_t>{1, 3, 1, 0, 0, 255, 0, 0}));
}

TEST_P(ByteProducts, TakePanelsOfUnsignedRowsThatEndWhereMemoryDoes) {
  for (int64_t n : {1, 63, 64, 65, 130}) {
    for (int64_t k : {1, 4, 7}) {
      GuardedRow<uint8_t> w(Bytes<uint8_t>(k * n, 9));
      ByteMatrix matrix;
      matrix.data = w.data();
      matrix.flip = 0x80;
      matrix.columns = n;
      matrix.inner = k;
      matrix.inner_stride = n;
      const Panels panels(matrix);
      for (int64_t c = 0; c < BytePanelColumns(n); ++c) {
        for (int64_t i = 0; i < ByteSteps(k) * 4; ++i) {
          const int32_t expected = c < n && i < k ? w[i * n + c] - 128 : 0;
          const int64_t at = c / 64 * ByteSteps(k) * 256 + i / 4 * 256 + c % 64 * 4 + i % 4;
          ASSERT_EQ(panels.bytes[static_cast<size_t>(at)], expected) << "row " << i << ", column " << c;
        }
      }
    }
  }
}

TEST(BytePanels, HoldWhatIsSubtractedFlippedAndSummed) {
  // Two columns of two rows with three bytes each. The rows of a column are not adjacent.
  const std::vector<uint8_t> w = {0, 1, 2, 9, 100, 200, 255, 9, 128, 129, 130, 9, 140, 150, 160, 9};
  ByteMatrix matrix;
  matrix.data = w.data();
  matrix.flip = 0x80;
  matrix.columns = 2;
  matrix.column_stride = 8;
  matrix.outer = 2;
  matrix.outer_stride = 4;
  matrix.inner = 3;
  matrix.inner_stride = 1;
  const std::vector<int32_t> subtracted = {0, 10};
  const Panels panels(matrix, subtracted.data());
  for (int64_t c = 0; c < 2; ++c) {
    int32_t sum = 0;
    for (int64_t k = 0; k < 6; ++k) {
      const int32_t expected =
          w[static_cast<size_t>(c * 8 + k / 3 * 4 + k % 3)] - 128 - subtracted[static_cast<size_t>(c)];
      EXPECT_EQ(panels.bytes[static_cast<size_t>(k / 4 * 256 + c * 4 + k % 4)], expected);
      sum += expected;
    }
    EXPECT_EQ(panels.bytes[static_cast<size_t>(256 + c * 4 + 3)], 0) << "beyond the rows";
    EXPECT_EQ(panels.sums[static_cast<size_t>(c)], sum);
  }
  EXPECT_EQ(panels.bytes[2 * 4], 0) << "beyond the columns";
  EXPECT_EQ(panels.sums[2], 0);
}

TEST_P(ByteProducts, FlipAndSumRowsOfAnyLength) {
  for (int64_t n : Lengths()) {
    GuardedRow<uint8_t> from(Bytes<uint8_t>(n, 7)), to(n);
    FlipBytes(from.data(), to.data(), n);
    int32_t sum = 0, flipped = 0;
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(to[i], from[i] ^ 0x80);
      sum += from[i];
      flipped += to[i];
    }
    ASSERT_EQ(SumOfBytes(from.data(), n), sum) << n;
    ASSERT_EQ(SumOfBytes(from.data(), n, 0x80), flipped) << n;
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
