// An application that forks: sessions of the parent refuse to work in the child, at once. The child can release
// everything that it inherited.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "epiphyte/epiphyte.hpp"
#include "tests/framework/process_threads.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/bundled_plugins.h"
#include "tests/host/small_models.h"

namespace epiphyte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// Returns the result of `body` in a forked child, or a text about how the child ended.
std::string InChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const std::string text = body();
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashed";
  return text;
}

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(StatusCodeName(error.code())) + ": " + error.what();
  }
  return "OK";
}

class Fork : public ::testing::Test {
 protected:
  Fork() { options_.AddProvider("cpu").SetThreadCount(2); }

  // The input is large enough for two threads.
  static constexpr int64_t kRows = 200000;
  std::vector<NamedValue> Inputs() const {
    const std::vector<float> numbers(kRows * 3, 2);
    return {{"a", Value::Copy<float>(numbers, {kRows, 3})}, {"b", Value::Copy<float>(numbers, {kRows, 3})}};
  }
  // Returns "right" when the sums are right, "wrong" when they aren't, or an error.
  std::string Run(const Session& session) const {
    std::string result;
    const std::string error = ErrorOf([&] {
      const Value sum = session.Run(Inputs())[0];
      result = sum.Data<float>()[0] == 4 && sum.Data<float>()[kRows * 3 - 1] == 4 ? "right" : "wrong";
    });
    return error == "OK" ? result : error;
  }

  const std::string model_ = test::AddModel();
  Environment environment_ = test::BundledPlugins();
  SessionOptions options_;
};

TEST_F(Fork, ASessionOfTheParentRefusesToRunInTheChild) {
  const Session session(environment_, Bytes(model_), options_);
  EXPECT_EQ(Run(session), "right");
  ASSERT_GT(test::ThreadsOfThisProcess(), 1u) << "the run needed no second thread";
  EXPECT_THAT(InChild([&] { return Run(session); }),
              AllOf(HasSubstr("FAIL: the session was made before fork()"), HasSubstr("make a session of its own")));
  EXPECT_THAT(InChild([&] {
                IoBinding binding(session);
                binding.BindInput("a", Inputs()[0].second);
                binding.BindInput("b", Inputs()[1].second);
                return ErrorOf([&] { binding.Run(); });
              }),
              HasSubstr("before fork()"));
  EXPECT_THAT(InChild([&] { return ErrorOf([&] { session.RunAsync(Inputs()).get().Take(); }); }),
              HasSubstr("before fork()"));
  EXPECT_EQ(Run(session), "right") << "the parent goes on";
}

TEST_F(Fork, ASessionWithOneThreadRefusesToo) {
  options_.SetThreadCount(1);
  const Session session(environment_, Bytes(model_), options_);
  EXPECT_THAT(InChild([&] { return Run(session); }), HasSubstr("before fork()"));
}

TEST_F(Fork, TheChildMakesSessionsOfItsOwn) {
  const Session session(environment_, Bytes(model_), options_);
  EXPECT_EQ(Run(session), "right");
  EXPECT_FALSE(session.RunAsync(Inputs()).get().error);
  EXPECT_EQ(InChild([&] {
              const Session own(environment_, Bytes(model_), options_);
              const std::string result = Run(own);
              if (result != "right") return result;
              const RunResult later = own.RunAsync(Inputs()).get();
              return later.error ? std::string(later.error->what()) : std::string("right");
            }),
            "right");
  EXPECT_EQ(InChild([&] {
              const Environment own = test::BundledPlugins();
              return Run(Session(own, Bytes(model_), options_));
            }),
            "right");
}

TEST_F(Fork, ChildCanReleaseInheritedObjects) {
  auto environment = std::make_optional<Environment>(test::BundledPlugins());
  test::TempDir dir;
  options_.SetProfile(dir / "profile.json");
  auto session = std::make_optional<Session>(*environment, Bytes(model_), options_);
  EXPECT_EQ(Run(*session), "right");
  EXPECT_FALSE(session->RunAsync(Inputs()).get().error);
  EXPECT_EQ(InChild([&] {
              session.reset();
              environment.reset();
              return std::string("done");
            }),
            "done");
  EXPECT_FALSE(std::filesystem::exists(dir / "profile.json")) << "the child wrote its parent's profile";
  EXPECT_EQ(InChild([&] {
              session.reset();
              std::exit(0);  // runs exit handlers and destructors of static objects
              return std::string();
            }),
            "");
  EXPECT_EQ(Run(*session), "right");
}

TEST_F(Fork, AnEnvironmentWithoutPluginsInUseServesTheChild) {
  EXPECT_EQ(InChild([&] { return Run(Session(environment_, Bytes(model_), options_)); }), "right");
}

}  // namespace
}  // namespace epiphyte
