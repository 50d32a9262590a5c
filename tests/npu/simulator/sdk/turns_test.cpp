// Order in which waiting runs get their turn.
#include "plugins/npu/simulator/sdk/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <stdexcept>
#include <vector>

namespace epiphyte::npusim {
namespace {

using testing::ElementsAre;

// A thread that waits for its turn. `asked` is set when it is asked for the first time whether it still wants the turn.
struct Waiter {
  std::promise<void> asked;
  std::future<void> over;
};

TEST(Turns, ComeByPriorityAndThenByArrival) {
  Turns turns;
  std::optional<Turns::Turn> held(std::in_place, turns, 0, std::function<bool()>());
  ASSERT_TRUE(*held);
  std::vector<int> order;
  std::vector<std::unique_ptr<Waiter>> waiters;
  const std::vector<int32_t> priorities = {0, -5, INT32_MIN, 7, 0, INT32_MAX, 7};
  for (int i = 0; i < static_cast<int>(priorities.size()); ++i) {
    Waiter& waiter = *waiters.emplace_back(std::make_unique<Waiter>());
    waiter.over = std::async(std::launch::async, [&, i] {
      bool told = false;
      const Turns::Turn turn(turns, priorities[i], [&] {
        if (!told) waiter.asked.set_value();
        told = true;
        return true;
      });
      order.push_back(i);  // only one thread at a time has the turn
    });
    waiter.asked.get_future().wait();
  }
  held.reset();
  for (const auto& waiter : waiters) waiter->over.get();
  EXPECT_THAT(order, ElementsAre(5, 3, 6, 0, 4, 1, 2));
}

TEST(Turns, CancelledOrThrowingCallerDoesNotBlockTheOthers) {
  Turns turns;
  std::optional<Turns::Turn> held(std::in_place, turns, 0, std::function<bool()>());
  const Turns::Turn refused(turns, 9, [] { return false; });
  EXPECT_FALSE(refused);
  EXPECT_THROW(Turns::Turn(turns, 9, []() -> bool { throw std::runtime_error("a caller's"); }), std::runtime_error);
  std::future<bool> other = std::async(std::launch::async, [&] { return bool{Turns::Turn(turns, -1, {})}; });
  held.reset();
  EXPECT_TRUE(other.get());
}

}  // namespace
}  // namespace epiphyte::npusim
