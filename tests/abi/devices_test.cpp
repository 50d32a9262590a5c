// Selection of a plugin's devices for a session: one or several, devices that are present, and, for compiling, devices
// that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "tests/abi/installed_plugin.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::Environment;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

SessionOptions OnDevices(const std::string& devices) {
  SessionOptions options;
  options.providers = {{"misbehaving", {}}};
  if (!devices.empty()) options.providers[0].options["device"] = devices;
  return options;
}

std::string FailureOn(Environment& environment, const std::string& devices) {
  const std::string model = ChainModel({"Relu"});
  return FailureOf([&] { Session session(environment, model.data(), model.size(), OnDevices(devices)); });
}

TEST(Devices, SeveralReachTheProviderInTheOrderInWhichTheyWereAskedFor) {
  const Installed installed(PluginFile("kManyDevices"));
  Environment environment(installed.Options());
  EXPECT_THAT(FailureOn(environment, "7,0,99"), HasSubstr("it got 7, 0 and 99"));
  EXPECT_EQ(FailureOn(environment, "99"), "OK");
}

TEST(Devices, EachMustBeThereAndBeAskedForOnce) {
  const Installed installed(PluginFile("kManyDevices"));
  Environment environment(installed.Options());
  EXPECT_THAT(FailureOn(environment, "7,100"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("device 100 was asked for, but its devices are 0 to 99")));
  EXPECT_THAT(FailureOn(environment, "7,0,7"), HasSubstr("device 7 was asked for twice"));
  for (const char* bad : {"", ",", "1,", ",1", "1;2", "-1", "x", "4294967296"}) {
    SessionOptions options = OnDevices("0");
    options.providers[0].options["device"] = bad;
    const std::string model = ChainModel({"Relu"});
    EXPECT_THAT(FailureOf([&] { Session session(environment, model.data(), model.size(), options); }),
                HasSubstr("expected a number from 0, or several with commas between them"))
        << bad;
  }
}

TEST(Devices, AbsentDeviceCanBeCompiledForButNotRun) {
  const Installed installed(PluginFile("kDeviceElsewhere"));
  Environment environment(installed.Options());
  EXPECT_THAT(FailureOn(environment, "0"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'the other device' is not here")));
  const TempDir folder;
  const auto model = folder.Write("m.onnx", ChainModel({"Relu"}));
  SessionOptions options = OnDevices("0");
  options.Set("ep.context_enable", "1");
  Session session(environment, model, options);
  EXPECT_TRUE(std::filesystem::exists(folder / "m_ctx.onnx"));
  EXPECT_EQ(session.placement().nodes.at(0).device, "the other device");
  core::ValuePtr x = core::Value::Tensor(core::DataType::kFloat, std::vector<int64_t>{2});
  std::fill_n(static_cast<float*>(x->mutable_data()), 2, 1.0f);
  EXPECT_THAT(FailureOf([&] { session.Run(std::vector<core::ValuePtr>{x}); }),
              HasSubstr("for device 'the other device', which is not here"));
}

TEST(Devices, WithoutAnOptionTheFirstPresentDeviceIsUsed) {
  for (const char* file : {"kDeviceElsewhere", "kLostDevice"}) {
    const Installed installed(PluginFile(file));
    Environment environment(installed.Options());
    const std::string model = ChainModel({"Relu"});
    const Session session(environment, model.data(), model.size(), OnDevices(""));
    EXPECT_EQ(session.placement().nodes.at(0).device, "test device");
    EXPECT_THAT(RunModel(environment, model, {"misbehaving"}, {-1, 2}), ElementsAre(0, 2));
  }
}

TEST(Devices, OneThatIsLostIsRefused) {
  const Installed installed(PluginFile("kLostDevice"));
  Environment environment(installed.Options());
  EXPECT_THAT(FailureOn(environment, "0"), AllOf(HasSubstr("DEVICE_RESET"), HasSubstr("'the other device' is lost")));
}

}  // namespace
}  // namespace epiphyte::test
