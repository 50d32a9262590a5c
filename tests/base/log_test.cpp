#include "core/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/thread_pool.h"

namespace epiphyte::core {
namespace {

using testing::HasSubstr;
using testing::Not;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { SetLogLevel(LogLevel::kWarning); }
};

TEST_F(LogTest, TheLevelDecidesWhatIsKept) {
  SetLogLevel(LogLevel::kInfo);
  EXPECT_FALSE(IsLogged(LogLevel::kDebug));
  EXPECT_TRUE(IsLogged(LogLevel::kInfo));
  EXPECT_TRUE(IsLogged(LogLevel::kError));
  SetLogLevel(LogLevel::kOff);
  EXPECT_FALSE(IsLogged(LogLevel::kError));
}

TEST_F(LogTest, WritesLevelOriginAndMessageToStderr) {
  SetLogLevel(LogLevel::kInfo);
  testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "registry", "manifest '{}' ignored", "x.yaml");
  Log(LogLevel::kDebug, "registry", "not kept");
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_THAT(output, HasSubstr("info"));
  EXPECT_THAT(output, HasSubstr("registry: manifest 'x.yaml' ignored\n"));
  EXPECT_THAT(output, Not(HasSubstr("not kept")));
}

TEST_F(LogTest, AMessageIsOneLineAndCantControlTheTerminal) {
  testing::internal::CaptureStderr();
  LogMessage(LogLevel::kError, "plugin\n", "first\nsecond\x1b[31m {} {0}");
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_THAT(output, HasSubstr("first second"));
  EXPECT_THAT(output, HasSubstr("{} {0}")) << "the message is no format";
  EXPECT_EQ(output.find('\n'), output.size() - 1);
  EXPECT_THAT(output, Not(HasSubstr("\x1b[31m")));
}

TEST_F(LogTest, ATagStandsInTheLinesOfItsThreadAndOfThreadsThatWorkForIt) {
  testing::internal::CaptureStderr();
  {
    const LogTag outer("outer");
    const LogTag tag("run\n7");
    Log(LogLevel::kError, "abi", "tagged");
    std::thread([] { Log(LogLevel::kError, "abi", "of somebody else"); }).join();
    // Every member of a gang must take part, on whichever thread it runs.
    ThreadPool pool(2);
    pool.RunGang(
        2, [](void*, uint32_t member, uint32_t size) { Log(LogLevel::kError, "abi", "member {} of {}", member, size); },
        nullptr);
  }
  Log(LogLevel::kError, "abi", "afterwards");
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_THAT(output, HasSubstr("[run 7] abi: tagged\n"));
  EXPECT_THAT(output, HasSubstr("error abi: of somebody else\n"));
  EXPECT_THAT(output, HasSubstr("[run 7] abi: member 0 of "));
  if (output.find("of 2") != std::string::npos) {
    EXPECT_THAT(output, HasSubstr("[run 7] abi: member 1 of 2\n"));
  }
  EXPECT_THAT(output, HasSubstr("error abi: afterwards\n"));
}

}  // namespace
}  // namespace epiphyte::core
