#include "plugins/cpu/kernel/lockstep.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace epiphyte::test {
namespace {

using cpu::Lockstep;

// In each phase, every part reads what all parts of the previous phase have written. A part that begins too early
// leaves a wrong number.
class Sums {
 public:
  Sums(int64_t phases, int64_t parts) : parts_(parts), times_(static_cast<size_t>(phases * parts)) {
    for (auto& row : rows_) row.assign(static_cast<size_t>(parts), 1);
  }

  auto Body() {
    return [this](int64_t phase, int64_t part) {
      const std::vector<uint64_t>& from = rows_[phase % 2];
      uint64_t sum = static_cast<uint64_t>(part);
      for (const uint64_t value : from) sum = sum * 31 + value;
      rows_[(phase + 1) % 2][static_cast<size_t>(part)] = sum;
      ++times_[static_cast<size_t>(phase * parts_ + part)];
    };
  }

  const std::vector<uint64_t>& Result(int64_t phases) const { return rows_[phases % 2]; }
  const std::vector<int>& times() const { return times_; }

 private:
  const int64_t parts_;
  std::vector<uint64_t> rows_[2];
  std::vector<int> times_;
};

void ExpectInStep(int64_t phases, int64_t parts, int64_t threads, std::chrono::microseconds late) {
  SCOPED_TRACE(::testing::Message() << phases << " phases, " << parts << " parts, " << threads << " threads");
  Sums alone(phases, parts);
  for (int64_t phase = 0; phase < phases; ++phase)
    for (int64_t part = 0; part < parts; ++part) alone.Body()(phase, part);

  Sums sums(phases, parts);
  Lockstep steps(phases, parts);
  std::vector<std::thread> others;
  for (int64_t own = 1; own < threads; ++own) {
    others.emplace_back([&, own] {
      std::this_thread::sleep_for(late);
      steps.Join(own % parts, sums.Body());
    });
  }
  steps.Join(0, sums.Body());
  for (std::thread& other : others) other.join();
  EXPECT_EQ(sums.Result(phases), alone.Result(phases));
  EXPECT_EQ(sums.times(), std::vector<int>(static_cast<size_t>(phases * parts), 1));
}

TEST(Lockstep, EveryPhaseSeesAllOfTheOneBefore) {
  for (const int64_t parts : {1, 2, 3, 7, 64}) ExpectInStep(2000, parts, std::min<int64_t>(parts, 4), {});
}

TEST(Lockstep, ThreadsDoNotWaitForAbsentThreads) { ExpectInStep(500, 5, 1, {}); }

TEST(Lockstep, ThreadsMayComeLate) {
  for (int round = 0; round < 10; ++round) ExpectInStep(3000, 3, 3, std::chrono::microseconds(20 * round));
}

TEST(Lockstep, ThreadsMayComeWhenAllIsOver) {
  Sums sums(3, 2);
  Lockstep steps(3, 2);
  steps.Join(1, sums.Body());
  steps.Join(0, sums.Body());
  EXPECT_EQ(sums.times(), std::vector<int>(6, 1));
}

TEST(Lockstep, NoPhasesAreOverAtOnce) { ExpectInStep(0, 4, 2, {}); }

}  // namespace
}  // namespace epiphyte::test
