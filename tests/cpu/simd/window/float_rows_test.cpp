#include "plugins/cpu/simd/window/float_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using FloatRows = EachTarget;
EPIPHYTE_EACH_TARGET(FloatRows);

std::vector<float> Floats(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 8;
  return values;
}

TEST_P(FloatRows, HaveTheLargestAndTheMeanOfWindows) {
  constexpr int64_t kPositions = 7, kStride = 2;
  for (const int64_t channels : Lengths()) {
    if (channels == 0) continue;
    for (const int64_t taps : {1, 2, 4, 6, 9}) {
      // Positions 2 to 5 are a run: only the first one's rows are given.
      GuardedRow<float> line(Floats(channels * (taps + kPositions * kStride), 1));
      std::vector<const float*> rows(static_cast<size_t>(kPositions * taps), nullptr);
      const auto tap = [&](int64_t i, int64_t t) { return line.data() + (i * kStride + t) * channels; };
      for (const int64_t i : {0, 1, 2, 6})
        for (int64_t t = 0; t < taps; ++t) rows[static_cast<size_t>(i * taps + t)] = tap(i, t);
      std::vector<float> divisors;
      for (int64_t i = 0; i < kPositions; ++i) divisors.push_back(static_cast<float>(1 << i));
      GuardedRow<float> largest(kPositions * channels), mean(kPositions * channels);
      FloatPool pool;
      pool.rows = rows.data();
      pool.positions = kPositions;
      pool.taps = taps;
      pool.channels = channels;
      pool.run_first = 2;
      pool.run_end = 6;
      pool.run_step = kStride * channels;
      pool.y = largest.data();
      RunFloatPool(pool);
      GuardedRow<float> same(kPositions * channels);
      pool.without_nan = true;
      pool.y = same.data();
      RunFloatPool(pool);
      for (int64_t i = 0; i < kPositions * channels; ++i) ASSERT_EQ(same[i], largest[i]) << taps << " taps, " << i;
      pool.divisors = divisors.data();
      pool.y = mean.data();
      RunFloatPool(pool);
      for (int64_t i = 0; i < kPositions; ++i) {
        for (int64_t c = 0; c < channels; ++c) {
          float most = tap(i, 0)[c], sum = 0;
          for (int64_t t = 0; t < taps; ++t) {
            most = std::max(most, tap(i, t)[c]);
            sum += tap(i, t)[c];
          }
          ASSERT_EQ(largest[i * channels + c], most) << taps << " taps, position " << i << ", channel " << c;
          ASSERT_EQ(mean[i * channels + c], sum / divisors[static_cast<size_t>(i)])
              << taps << " taps, position " << i << ", channel " << c;
        }
      }
    }
  }
}

TEST_P(FloatRows, HaveNanWhereverInAWindowItIs) {
  for (const int64_t channels : {1, 16, 37}) {
    for (const int64_t taps : {1, 4, 6, 9}) {
      for (int64_t at = 0; at < taps; ++at) {
        GuardedRow<float> line(Floats(channels * taps, 2)), y(channels);
        line[at * channels + channels / 2] = std::numeric_limits<float>::quiet_NaN();
        std::vector<const float*> rows;
        for (int64_t t = 0; t < taps; ++t) rows.push_back(line.data() + t * channels);
        FloatPool pool;
        pool.rows = rows.data();
        pool.positions = 1;
        pool.taps = taps;
        pool.channels = channels;
        pool.y = y.data();
        RunFloatPool(pool);
        for (int64_t c = 0; c < channels; ++c)
          ASSERT_EQ(std::isnan(y[c]), c == channels / 2) << taps << " taps, NaN in tap " << at << ", channel " << c;
      }
    }
  }
}

}  // namespace
}  // namespace epiphyte::cpu::simd
