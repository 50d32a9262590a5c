// Where extremes are, with equal ones and NaN.
#include "plugins/cpu/simd/arg_extreme.h"

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

// As numpy finds it, one element after the other.
int64_t PlainArg(const float* x, int64_t n, int64_t stride, Extreme which) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    const float a = x[best * stride], b = x[i * stride];
    const bool better = which.largest ? b > a : b < a;
    if (a != a ? which.last && b != b : b != b || better || (which.last && a == b)) best = i;
  }
  return best;
}

constexpr Extreme kAll[] = {{true, false}, {true, true}, {false, false}, {false, true}};

// Few different values; every other time with NaN among them.
std::vector<float> Elements(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& value : x) {
    value = static_cast<float>(static_cast<int>(random() % 64) - 32) / 4;
    if (seed % 2 == 1 && random() % 257 == 0) value = std::numeric_limits<float>::quiet_NaN();
    if (random() % 97 == 0) value = seed % 4 < 2 ? -0.0f : std::numeric_limits<float>::infinity();
  }
  return x;
}

using ArgOfExtreme = EachTarget;
EPIPHYTE_EACH_TARGET(ArgOfExtreme);

TEST_P(ArgOfExtreme, OfARowIsTheFirstOrTheLast) {
  for (int64_t n : Lengths()) {
    if (n == 0) continue;
    for (unsigned seed = 0; seed < 4; ++seed) {
      GuardedRow<float> x(Elements(n, seed));
      for (Extreme which : kAll)
        ASSERT_EQ(ArgExtreme(x.data(), n, which), PlainArg(x.data(), n, 1, which))
            << n << " elements, seed " << seed << (which.largest ? ", largest" : ", smallest")
            << (which.last ? ", last" : ", first");
    }
  }
}

TEST_P(ArgOfExtreme, OfColumnsIsEachOnesOwn) {
  for (int64_t columns : {1, 7, 16, 40, 513, 1100}) {
    for (int64_t n : {1, 2, 21}) {
      const int64_t stride = columns + 3;
      GuardedRow<float> x(Elements((n - 1) * stride + columns, static_cast<unsigned>(n + columns)));
      for (Extreme which : kAll) {
        GuardedRow<int64_t> indices(columns);
        ArgExtremes(x.data(), n, stride, columns, which, indices.data());
        for (int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(indices[c], PlainArg(x.data() + c, n, stride, which)) << "column " << c << " of " << columns;
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
