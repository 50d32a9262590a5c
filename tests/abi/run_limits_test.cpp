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
    return *static_cast<const EpRunLimitsApi*>(HostInfo()->GetExtension(EP_RUN_LIMITS_EXTENSION));
  }
  // "" when the host agrees.
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
  state_.Take(500);  // by a value
  EXPECT_EQ(Take(&run_, 100), "");
  api().ReturnMemory(&run_, UINT64_MAX);
  EXPECT_EQ(state_.used(), 500u);
}

TEST_F(RunLimitsTest, TheLargestNumbersDoNotOverflow) {
  EXPECT_NE(Take(&run_, UINT64_MAX), "");
  EpRun unlimited{{}, {}, 1, nullptr};
  EXPECT_EQ(Take(&unlimited, UINT64_MAX), "");
}

TEST_F(RunLimitsTest, TellsWhenTheRunIsCancelled) {
  EXPECT_EQ(api().IsCancelled(&run_), 0u);
  stop_.request_stop();
  EXPECT_NE(api().IsCancelled(&run_), 0u);
}

TEST_F(RunLimitsTest, ANullRunIsAnError) {
  EXPECT_THAT(Take(nullptr, 1), HasSubstr("null"));
  api().ReturnMemory(nullptr, 1);
  EXPECT_EQ(api().IsCancelled(nullptr), 0u);
}

}  // namespace
}  // namespace epiphyte::core
