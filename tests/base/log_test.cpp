#include "core/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace epiphyte::core
