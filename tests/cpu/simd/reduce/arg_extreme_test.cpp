// Positions of the largest and the smallest element, with equal elements and NaN.
#include "plugins/cpu/simd/reduce/arg_extreme.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

// numpy's definition, one element after the other.
template <typename T>
int64_t PlainArg(const T* x, int64_t n, int64_t stride, Extreme which) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    const T a = x[best * stride], b = x[i * stride];
    const bool better = which.largest ? b > a : b < a;
    if (a != a ? which.last && b != b : b != b || better || (which.last && a == b)) best = i;
  }
  return best;
}

constexpr Extreme kAll[] = {{true, false}, {true, true}, {false, false}, {false, true}};

// Few distinct values, including the bounds of the type; every other time also NaN.
template <typename T>
std::vector<T> Elements(int64_t n, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(seed);
  std::vector<T> x(static_cast<size_t>(n));
  for (T& value : x) {
    value = static_cast<T>(static_cast<int>(random() % 64) - (Limits::is_signed ? 32 : 0)) / T(4);
    if (seed % 2 == 1 && random() % 257 == 0 && Limits::has_quiet_NaN) value = Limits::quiet_NaN();
    if (random() % 97 == 0)
      value = seed % 4 < 2 ? static_cast<T>(-0.0) : Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return x;
}

using ArgOfExtreme = EachTarget;
EPIPHYTE_EACH_TARGET(ArgOfExtreme);

template <typename T>
void ExpectTheFirstOrTheLastOfARow() {
  for (int64_t n : Lengths()) {
    if (n == 0) continue;
    for (unsigned seed = 0; seed < 4; ++seed) {
      GuardedRow<T> x(Elements<T>(n, seed));
      for (Extreme which : kAll)
        ASSERT_EQ(ArgExtreme(static_cast<const T*>(x.data()), n, which), PlainArg<T>(x.data(), n, 1, which))
            << n << " elements, seed " << seed << (which.largest ? ", largest" : ", smallest")
            << (which.last ? ", last" : ", first");
    }
  }
}
TEST_P(ArgOfExtreme, OfARowIsTheFirstOrTheLast) {
  ExpectTheFirstOrTheLastOfARow<float>();
  ExpectTheFirstOrTheLastOfARow<double>();
  ExpectTheFirstOrTheLastOfARow<int32_t>();
  ExpectTheFirstOrTheLastOfARow<int64_t>();
  ExpectTheFirstOrTheLastOfARow<int8_t>();
  ExpectTheFirstOrTheLastOfARow<uint8_t>();
}

template <typename T>
void ExpectEachColumnsOwn() {
  for (int64_t columns : {1, 7, 16, 40, 513, 1100}) {
    for (int64_t n : {1, 2, 21}) {
      const int64_t stride = columns + 3;
      GuardedRow<T> x(Elements<T>((n - 1) * stride + columns, static_cast<unsigned>(n + columns)));
      for (Extreme which : kAll) {
        GuardedRow<int64_t> indices(columns);
        ArgExtremes(static_cast<const T*>(x.data()), n, stride, columns, which, indices.data());
        for (int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(indices[c], PlainArg<T>(x.data() + c, n, stride, which)) << "column " << c << " of " << columns;
      }
    }
  }
}
TEST_P(ArgOfExtreme, OfColumnsIsEachOnesOwn) {
  ExpectEachColumnsOwn<float>();
  ExpectEachColumnsOwn<double>();
  ExpectEachColumnsOwn<int32_t>();
  ExpectEachColumnsOwn<int64_t>();
}

}  // namespace
}  // namespace epiphyte::cpu::simd
