// Tasks: requests that a plugin's threads may make during a long call into the plugin, but not afterwards.
#include "core/abi/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/abi/host_tables.h"

namespace epiphyte::core {
namespace {

using testing::HasSubstr;

const EpTaskApi& Api() { return *HostInfo()->task; }

std::string MessageOf(EpStatus* status) {
  if (status == nullptr) return "";
  std::string message = HostInfo()->status->GetMessage(status);
  HostInfo()->status->Release(status);
  return message;
}

void Count(void* user) { ++*static_cast<int*>(user); }

class TaskTest : public testing::Test {
 protected:
  bool cancel_ = false;
  int reports_ = 0;
  ProgressFunction report_ = [this](uint64_t, uint64_t, const std::string&) {
    ++reports_;
    return cancel_;
  };
  Task task_{report_, 2};
};

TEST_F(TaskTest, CancellingIsReportedInEveryWay) {
  int told = 0;
  EXPECT_EQ(MessageOf(Api().SetCancelListener(task_.handle(), Count, &told)), "");
  EXPECT_EQ(Api().ReportProgress(task_.handle(), 1, 2, nullptr), 0u);
  EXPECT_EQ(Api().IsCancelled(task_.handle()), 0u);
  cancel_ = true;
  EXPECT_NE(Api().ReportProgress(task_.handle(), 2, 2, "now"), 0u);
  EXPECT_NE(Api().IsCancelled(task_.handle()), 0u);
  EXPECT_EQ(told, 1);
  Api().ReportProgress(task_.handle(), 2, 2, "again");
  EXPECT_EQ(told, 1) << "once";
  EXPECT_EQ(reports_, 2) << "who has cancelled hears no more";
}

TEST_F(TaskTest, ListenerAddedAfterCancellationIsCalledImmediately) {
  cancel_ = true;
  Api().ReportProgress(task_.handle(), 0, 0, nullptr);
  int told = 0;
  EXPECT_EQ(MessageOf(Api().SetCancelListener(task_.handle(), Count, &told)), "");
  EXPECT_EQ(told, 1);
}

TEST_F(TaskTest, RemovedListenerIsNotCalled) {
  int told = 0;
  Api().SetCancelListener(task_.handle(), Count, &told);
  Api().SetCancelListener(task_.handle(), nullptr, nullptr);
  cancel_ = true;
  Api().ReportProgress(task_.handle(), 0, 0, nullptr);
  EXPECT_EQ(told, 0);
}

TEST_F(TaskTest, ListenerMayRemoveItself) {
  struct Both {
    EpTask* task;
    int told = 0;
  } both{task_.handle()};
  Api().SetCancelListener(
      task_.handle(),
      [](void* user) {
        auto* mine = static_cast<Both*>(user);
        ++mine->told;
        Api().SetCancelListener(mine->task, nullptr, nullptr);
      },
      &both);
  cancel_ = true;
  Api().ReportProgress(task_.handle(), 0, 0, nullptr);
  EXPECT_EQ(both.told, 1);
}

TEST_F(TaskTest, EveryThreadMayUseIt) {
  std::thread([&] {
    EXPECT_EQ(Api().ReportProgress(task_.handle(), 1, 1, "elsewhere"), 0u);
    EXPECT_EQ(MessageOf(Api().DeclinePartition(task_.handle(), 1, "too large")), "");
  }).join();
  EXPECT_EQ(reports_, 1);
  task_.End();
  EXPECT_EQ(task_.declined(0), nullptr);
  ASSERT_NE(task_.declined(1), nullptr);
  EXPECT_EQ(*task_.declined(1), "too large");
}

TEST_F(TaskTest, NothingIsReportedAfterItsEnd) {
  EpTask* const handle = task_.handle();
  task_.End();
  EXPECT_EQ(Api().ReportProgress(handle, 1, 1, nullptr), 0u);
  EXPECT_EQ(reports_, 0);
  EXPECT_EQ(Api().IsCancelled(handle), 0u);
  EXPECT_THAT(MessageOf(Api().SetCancelListener(handle, Count, nullptr)), HasSubstr("after its call had returned"));
  EXPECT_THAT(MessageOf(Api().DeclinePartition(handle, 0, "late")), HasSubstr("after its call had returned"));
}

TEST_F(TaskTest, NumbersThatAreNoTasksAreRefused) {
  for (const uintptr_t number : {uintptr_t{0}, uintptr_t{8}, UINTPTR_MAX}) {
    auto* const handle = reinterpret_cast<EpTask*>(number);
    EXPECT_THAT(MessageOf(Api().DeclinePartition(handle, 0, "whose?")), HasSubstr("the pointer is no task"));
    EXPECT_EQ(Api().ReportProgress(handle, 1, 1, nullptr), 0u);
  }
}

TEST(TaskWithoutPartitions, HasNothingToGiveBack) {
  const ProgressFunction nobody_listens;
  const Task task(nobody_listens);
  EXPECT_THAT(MessageOf(Api().DeclinePartition(task.handle(), 0, "no")), HasSubstr("only Compile has partitions"));
  EXPECT_EQ(Api().ReportProgress(task.handle(), 1, 1, nullptr), 0u);
}

}  // namespace
}  // namespace epiphyte::core
