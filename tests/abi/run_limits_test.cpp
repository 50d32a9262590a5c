// "ep.run_limits/1" as a plugin sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/abi/handles.h"
#include "core/abi/host_tables.h"
#include "core/graph/run_state.h"
#include "epiphyte/ep_run_limits.h"

namespace epiphyte::core {
namespace {

using testing::HasSubstr;

class RunLimitsTest : public testing::Test {
 protected:
  const EpRunLimitsApi& api() const {
    return *static_cast<const EpRunLimitsApi*>(HostInfo()->GetExtension(HostInfo(), EP_RUN_LIMITS_EXTENSION));
  }
  // Returns the host's error message; "" if TakeMemory succeeds.
  std::string Take(EpRun* run, uint64_t bytes) const {
    EpStatus* status = api().TakeMemory(run, bytes);
    if (status == nullptr) return "";
    std::string message = HostInfo()->status->GetMessage(status);
    HostInfo()->status->Release(status);
    return message;
  }

  std::stop_source stop_;
  RunState state_{{.value_bytes = 600, .run_bytes = 1000}, stop_.get_token()};
  EpRun run_{{}, {}, 1, &state_};
};

TEST_F(RunLimitsTest, MemoryIsCountedUntilItIsReturned) {
  EXPECT_EQ(Take(&run_, 600), "");
  EXPECT_THAT(Take(&run_, 401), HasSubstr("session.max_run_bytes allows 1000"));
  EXPECT_EQ(Take(&run_, 400), "") << "what was refused is not counted";
  api().ReturnMemory(&run_, 600);
  EXPECT_EQ(Take(&run_, 600), "");
}

TEST_F(RunLimitsTest, OneBufferHasTheLimitOfAValue) {
  EXPECT_THAT(Take(&run_, 601), HasSubstr("session.max_value_bytes allows 600"));
}

TEST_F(RunLimitsTest, NoMoreIsReturnedThanWasTaken) {
  state_.Take(500);  // taken by a value
  EXPECT_EQ(Take(&run_, 100), "");
  api().ReturnMemory(&run_, UINT64_MAX);
  EXPECT_EQ(state_.used(), 500u);
}

TEST_F(RunLimitsTest, TheLargestNumbersDoNotOverflow) {
  EXPECT_NE(Take(&run_, UINT64_MAX), "");
  EpRun unlimited{{}, {}, 1, nullptr};
  EXPECT_EQ(Take(&unlimited, UINT64_MAX), "");
}

TEST_F(RunLimitsTest, RunReportsThatItIsCancelled) {
  EXPECT_EQ(HostInfo()->run->IsCancelled(&run_), 0u);
  stop_.request_stop();
  EXPECT_NE(HostInfo()->run->IsCancelled(&run_), 0u);
}

TEST_F(RunLimitsTest, ListenerIsCalledWhenTheRunIsCancelled) {
  int told = 0;
  const auto count = [](void* user) { ++*static_cast<int*>(user); };
  const EpRunApi& run = *HostInfo()->run;
  EXPECT_EQ(run.SetCancelListener(&run_, count, &told), nullptr);
  EXPECT_EQ(run.SetCancelListener(&run_, nullptr, nullptr), nullptr);
  EXPECT_EQ(run.SetCancelListener(&run_, count, &told), nullptr);
  EXPECT_EQ(told, 0);
  stop_.request_stop();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(run.SetCancelListener(&run_, count, &told), nullptr);
  EXPECT_EQ(told, 2) << "at once, when it comes late";
}

TEST_F(RunLimitsTest, EachRunHasANumberOfItsOwn) {
  EpRunInfo info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(HostInfo()->run->GetInfo(&run_, &info), nullptr);
  const uint64_t id = info.run_id;
  EXPECT_NE(id, 0u);
  EXPECT_EQ(HostInfo()->run->GetInfo(&run_, &info), nullptr);
  EXPECT_EQ(info.run_id, id) << "the same for all kernels of the run";
  RunState other_state;
  EpRun other{{}, {}, 1, &other_state};
  EXPECT_EQ(HostInfo()->run->GetInfo(&other, &info), nullptr);
  EXPECT_NE(info.run_id, id);
}

TEST_F(RunLimitsTest, ANullRunIsAnError) {
  EXPECT_THAT(Take(nullptr, 1), HasSubstr("null"));
  api().ReturnMemory(nullptr, 1);
  EXPECT_EQ(HostInfo()->run->IsCancelled(nullptr), 0u);
}

}  // namespace
}  // namespace epiphyte::core
