#include "host/conformance/process/isolated_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace epiphyte::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> Answers(size_t count, std::function<std::string(size_t)> run, int timeout_seconds = 60) {
  IsolatedTasks tasks{count, [] {}, std::move(run)};
  return RunIsolated(tasks, std::chrono::seconds(timeout_seconds),
                     [](const std::string& cause) { return "died: " + cause; });
}

TEST(RunIsolated, BringsAnswersBackInOrder) {
  EXPECT_THAT(Answers(3, [](size_t i) { return std::string(i, 'x'); }), ElementsAre("", "x", "xx"));
}

TEST(RunIsolated, BringsAnswersLargerThanAPipe) {
  const std::vector<std::string> answers = Answers(2, [](size_t) { return std::string(1 << 20, 'y'); });
  EXPECT_EQ(answers[0].size(), size_t{1} << 20);
  EXPECT_EQ(answers[1].size(), size_t{1} << 20);
}

TEST(RunIsolated, GoesOnAfterACrash) {
  const std::vector<std::string> answers = Answers(3, [](size_t i) {
    if (i == 1) raise(SIGKILL);
    return std::to_string(i);
  });
  EXPECT_THAT(answers, ElementsAre("0", HasSubstr("signal 9"), "2"));
}

TEST(RunIsolated, GoesOnAfterAnExit) {
  const std::vector<std::string> answers = Answers(2, [](size_t i) {
    if (i == 0) _exit(0);
    return std::to_string(i);
  });
  EXPECT_THAT(answers, ElementsAre(StartsWith("died"), "1"));
}

TEST(RunIsolated, EndsATaskThatHangs) {
  const std::vector<std::string> answers = Answers(
      2,
      [](size_t i) {
        if (i == 0) pause();
        return std::to_string(i);
      },
      1);
  EXPECT_THAT(answers, ElementsAre("died: no answer in time", "1"));
}

TEST(RunIsolated, StartsEachChildOnce) {
  int started = 0;
  IsolatedTasks tasks{3, [&] { ++started; },
                      [&](size_t i) {
                        if (i == 1) raise(SIGKILL);
                        return std::to_string(started);
                      }};
  const auto answers = RunIsolated(tasks, std::chrono::seconds(60), [](const std::string&) { return "died"; });
  EXPECT_THAT(answers, ElementsAre("1", "died", "1"));
}

}  // namespace
}  // namespace epiphyte::conformance
