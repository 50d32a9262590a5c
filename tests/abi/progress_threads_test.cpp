// A provider may report progress from any of its threads. The application gets one report at a time, and none after it
// has cancelled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "core/runtime/session.h"
#include "tests/abi/installed_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Environment;
using core::Session;
using core::SessionOptions;
using core::SessionProgress;
using testing::HasSubstr;

class ProgressFromThreads : public testing::Test {
 protected:
  std::string Make(core::SessionProgressFunction progress) {
    SessionOptions options = OptionsFor({"misbehaving"});
    options.progress = std::move(progress);
    return FailureOf([&] { Session session(environment_, model_.data(), model_.size(), options); });
  }

  const std::string model_ = ChainModel({"Relu"});
  Installed installed_{PluginFile("kReportsOnFourThreads")};
  Environment environment_{installed_.Options()};
};

bool IsTheProviders(const SessionProgress& at) { return at.text == "one of four"; }

TEST_F(ProgressFromThreads, ReportsComeOneAtATimeAndNoneIsLost) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  int heard = 0;  // not atomic: calls of the callback never overlap
  EXPECT_EQ(Make([&](const SessionProgress& at) {
              most = std::max(most.load(), ++inside);
              // The other threads get time to enter.
              if (heard < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
              if (IsTheProviders(at)) ++heard;
              --inside;
              return false;
            }),
            "OK");
  EXPECT_EQ(most, 1);
  EXPECT_EQ(heard, 400);
}

TEST_F(ProgressFromThreads, NoReportComesAfterCancelling) {
  std::atomic<int> heard = 0;
  EXPECT_THAT(Make([&](const SessionProgress& at) {
                if (!IsTheProviders(at)) return false;
                // By the end of this pause, the other threads are waiting to report.
                if (++heard == 5) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                return heard == 5;
              }),
              HasSubstr("MODEL_LOAD_CANCELED: creating the session was cancelled while compiling"));
  EXPECT_EQ(heard, 5);
}

TEST_F(ProgressFromThreads, AReportMayMakeAnotherSession) {
  std::string inner = "not made";
  EXPECT_EQ(Make([&](const SessionProgress& at) {
              if (IsTheProviders(at) && inner == "not made") {
                inner = "begun";
                inner = Make([](const SessionProgress&) { return false; });
              }
              return false;
            }),
            "OK");
  EXPECT_EQ(inner, "OK");
}

TEST_F(ProgressFromThreads, ErrorOfTheCallbackDoesNotBlockLaterReports) {
  int heard = 0;
  EXPECT_EQ(Make([&](const SessionProgress& at) -> bool {
              if (IsTheProviders(at) && ++heard % 2 == 0) throw std::runtime_error("the window is gone");
              return false;
            }),
            "OK");
  EXPECT_EQ(heard, 400);
}

}  // namespace
}  // namespace epiphyte::test
