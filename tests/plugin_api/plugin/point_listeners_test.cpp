// Listeners to points: each is called once, when its point is reached or can no longer be reached.
#include "epiphyte/kit/plugin/point_listeners.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

namespace epiphyte::kit {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

// Points that are reached when the test says so. Point 100 is invalid, which is detected when point 1 is reached.
class Points {
 public:
  void Reach(uint64_t point) {
    const std::lock_guard lock(mutex_);
    reached_ = point;
    changed_.notify_all();
  }
  void Fail() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    changed_.notify_all();
  }
  void Wait(uint64_t point) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_failed_ || reached_ >= (point == 100 ? 1 : point); });
    if (point == 100) throw Error(EP_STATUS_INVALID_ARGUMENT, "point 100 is none");
    if (has_failed_) throw Error(EP_STATUS_ENGINE_ERROR, "it has failed");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t reached_ = 0;
  bool has_failed_ = false;
};

class PointListenersTest : public testing::Test {
 protected:
  PointListenersTest() {
    listeners_.emplace([this](uint64_t point) { points_.Wait(point); });
  }
  void Listen(uint64_t point) {
    listeners_->Add(point, [this, point](const Error* failure) {
      const std::lock_guard lock(mutex_);
      heard_.push_back(std::to_string(point) + (failure == nullptr ? "" : std::string(": ") + failure->what()));
      changed_.notify_all();
    });
  }
  std::vector<std::string> HeardAtLeast(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return heard_.size() >= count; });
    return heard_;
  }

  Points points_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  std::optional<PointListeners> listeners_;  // destroyed first: its threads use the members above
};

TEST_F(PointListenersTest, EachIsCalledOnceWhenItsPointIsReached) {
  Listen(3);
  Listen(1);
  points_.Reach(1);
  EXPECT_THAT(HeardAtLeast(1), ElementsAre("1"));
  points_.Reach(3);
  EXPECT_THAT(HeardAtLeast(2), ElementsAre("1", "3"));
}

TEST_F(PointListenersTest, InvalidPointDoesNotFailTheOthers) {
  Listen(100);
  Listen(200);
  points_.Reach(1);
  EXPECT_THAT(HeardAtLeast(1), ElementsAre("100: point 100 is none"));
  points_.Reach(200);
  EXPECT_THAT(HeardAtLeast(2), ElementsAre("100: point 100 is none", "200"));
}

TEST_F(PointListenersTest, FailureIsReportedToAllListeners) {
  for (uint64_t point = 1; point <= 3; ++point) Listen(point);
  points_.Fail();
  EXPECT_THAT(HeardAtLeast(3), AllOf(SizeIs(3), Each(testing::HasSubstr("it has failed"))));
}

TEST_F(PointListenersTest, AllAreCalledBeforeItIsDestroyed) {
  for (uint64_t point = 1; point <= 3; ++point) Listen(point);
  points_.Reach(3);
  listeners_.reset();
  EXPECT_THAT(heard_, SizeIs(3));
}

}  // namespace
}  // namespace epiphyte::kit
