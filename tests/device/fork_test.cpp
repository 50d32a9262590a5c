// A child process that is forked while sessions and values are on a device: the device belongs to the parent, and no
// object in the child calls the plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/device/device_fixture.h"

namespace epiphyte::test {
namespace {

using core::Session;
using core::ValuePtr;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class DeviceForkTest : public DeviceTest {
 protected:
  // Returns the result of `body` in a forked child; "" if the child doesn't end normally within 20 seconds.
  static std::string InChild(const std::function<std::string()>& body) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const std::string text = body();
      _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    char buffer[1024];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
  }

  static constexpr std::string_view kNeg = "g (float[4] x) => (float[4] y) { y = Neg(x) }";
  const ValuePtr x_ = Floats({4}, {1, -2, 3, -4});
};

TEST_F(DeviceForkTest, ChildCanNotUseTheDeviceOfItsParent) {
  auto session = Open(kNeg, OnDevice());
  ValuePtr on_device = InMemory(x_);
  session->Run(Values{on_device});
  EXPECT_THAT(InChild([&] { return FailureOf([&] { session->Run(Values{x_}); }); }),
              AllOf(StartsWith("FAIL"), HasSubstr("before fork()")));
  EXPECT_THAT(InChild([&] { return FailureOf([&] { Open(kNeg, OnDevice()); }); }),
              AllOf(HasSubstr("test_device"), HasSubstr("loaded before fork()")));
  EXPECT_THAT(InChild([&] {
                environment_ = DeviceEnvironment();
                return FailureOf([&] { Open(kNeg, OnDevice()); });
              }),
              AllOf(HasSubstr("test_device"), HasSubstr("loaded before fork()")));
  EXPECT_THAT(InChild([&] { return FailureOf([&] { core::ToHost(on_device, environment_->devices()); }); }),
              HasSubstr("loaded before fork()"));
  EXPECT_EQ(InChild([&] { return FloatsOf(*OnCpu(kNeg, {x_})[0])[0] == -1 ? "right" : "wrong"; }), "right");
  EXPECT_THAT(FloatsOf(*session->Run(Values{x_})[0]), ElementsAre(-1, 2, -3, 4)) << "the parent goes on";
}

TEST_F(DeviceForkTest, ObjectsReleasedInTheChildStayValidInTheParent) {
  auto session = Open(kNeg, OnDevice());
  ValuePtr on_device = InMemory(x_);
  session->Run(Values{on_device});
  const auto live = Live();
  EXPECT_EQ(InChild([&] {
              session = nullptr;
              on_device = nullptr;
              environment_ = nullptr;
              return Live() == live ? "nothing was called" : "the plugin was called";
            }),
            "nothing was called");
  EXPECT_THAT(Read(on_device), ElementsAre(1, -2, 3, -4));
}

}  // namespace
}  // namespace epiphyte::test
