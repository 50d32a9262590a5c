// The providers of a session, with their order and options.
#include "core/runtime/provider_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/onnx_text.h"
#include "tests/framework/recording_plugins.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/registry/fake_plugin.h"

namespace epiphyte::test {
namespace {

using core::CatalogOptions;
using core::ChosenProvider;
using core::Environment;
using core::Session;
using core::SessionOptions;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
namespace fs = std::filesystem;

constexpr std::string_view kChain = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2, 3] x) => (float[2, 3] y) { a = Neg(x) y = Abs(a) })";

class ProviderList : public testing::Test {
 protected:
  ProviderList() : model_(dir_.Write("model.onnx", OnnxFromText(kChain))) {
    catalog_.use_environment = false;
    catalog_.use_user_folder = false;
    catalog_.paths = {RecordingPluginFolder()};
    Policy("");
  }
  // Writes a policy file. It excludes the GPU's plugin, so that the test is independent of the machine.
  void Policy(std::string_view providers) {
    catalog_.policy_file = dir_.Write(
        "policy.yaml", "policy_version: 1\nproviders:\n  vulkan: {enabled: false}\n" + std::string(providers) + "\n");
  }
  // Installs a plugin `recorder_a` that is found before the recording plugins' own.
  void InstallRecorderA(std::string_view library, std::string_view more = "") {
    dir_.Write("first/recorder_a.yaml", ReadFile(RecordingPluginFolder() / "recorder_a.yaml") + std::string(more));
    dir_.Write("first/recorder_a.so", library);
    catalog_.paths = {dir_ / "first", RecordingPluginFolder()};
  }
  Environment& TheEnvironment() {
    if (!environment_) environment_ = std::make_unique<Environment>(catalog_);
    return *environment_;
  }
  std::vector<ChosenProvider> Choose(const SessionOptions& options) {
    return core::ChooseProviders(TheEnvironment().catalog(), options);
  }
  std::vector<std::string> Names(const SessionOptions& options) {
    std::vector<std::string> names;
    for (const ChosenProvider& provider : Choose(options)) names.push_back(provider.plugin->name);
    return names;
  }
  // Returns the providers as `epiphyte plugins` lists them.
  std::vector<std::string> Listed() {
    std::vector<std::string> names;
    for (const core::PluginEntry& entry : TheEnvironment().catalog().entries())
      if (entry.manifest.name != "vulkan" && entry.manifest.name != "npu") names.push_back(entry.manifest.name);
    return names;
  }
  std::string Failure(const SessionOptions& options) {
    return FailureOf([&] { Session(TheEnvironment(), model_, options); });
  }

  TempDir dir_;
  fs::path model_;
  CatalogOptions catalog_;
  std::unique_ptr<Environment> environment_;
};

TEST_F(ProviderList, WithoutAListItIsTheCatalogsOrder) {
  EXPECT_THAT(Names(OptionsFor({})), ElementsAre("recorder_a", "recorder_b", "cpu"));
  EXPECT_EQ(Names(OptionsFor({})), Listed());
}

TEST_F(ProviderList, ListedProvidersKeepTheirOrderAndTheFallbackIsLast) {
  EXPECT_THAT(Names(OptionsFor({"recorder_b"})), ElementsAre("recorder_b", "cpu"));
  EXPECT_THAT(Names(OptionsFor({"cpu", "recorder_a"})), ElementsAre("cpu", "recorder_a"));
  SessionOptions options = OptionsFor({"recorder_a"});
  options.Set("session.disable_cpu_ep_fallback", "1");
  EXPECT_THAT(Names(options), ElementsAre("recorder_a"));
}

TEST_F(ProviderList, ListedProviderBelowTheFallbacksPriorityKeepsItsPlace) {
  Policy("  recorder_a: {priority: -5}\n  recorder_b: {options: {claim: Neg}}");
  EXPECT_THAT(Listed(), ElementsAre("recorder_b", "cpu", "recorder_a"));
  Session session(TheEnvironment(), model_, OptionsFor({}));
  EXPECT_EQ(session.placement().providers, Listed());
  std::vector<std::string> takers;
  for (const core::NodePlacement& node : session.placement().nodes) takers.push_back(node.provider);
  EXPECT_THAT(takers, ElementsAre("recorder_b", "cpu")) << "nothing is left for the one that comes after the CPU";
}

TEST_F(ProviderList, OfOnePriorityTheFallbackComesLastWhateverItsName) {
  Policy("  recorder_a: {priority: 0}\n  recorder_b: {priority: 0}");
  EXPECT_THAT(Listed(), ElementsAre("recorder_a", "recorder_b", "cpu"));
  Session session(TheEnvironment(), model_, OptionsFor({}));
  EXPECT_EQ(session.placement().providers, Listed());
}

TEST_F(ProviderList, TheSessionsOptionsComeBeforeThePolicysBeforeTheManifests) {
  Policy("  recorder_a: {options: {claim: Neg, notes: policy}}");
  SessionOptions options = OptionsFor({"recorder_a"});
  options.providers[0].options = {{"claim", "Abs"}};
  options.provider_options["recorder_a"] = {{"claim", "Add"}, {"max_size", "7"}};
  EXPECT_THAT(Choose(options)[0].options,
              ElementsAre(Pair("claim", "Abs"), Pair("max_size", "7"), Pair("notes", "policy")));
}

TEST_F(ProviderList, AnUnlistedProviderWithADeviceThatIsNoNumberIsLeftOut) {
  Policy("  recorder_a: { options: { device: first } }");
  EXPECT_THAT(Names({}), AllOf(Not(Contains("recorder_a")), Contains("recorder_b")));
  SessionOptions listed;
  listed.providers = {{"recorder_a", {}}};
  EXPECT_THAT(Failure(listed), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'recorder_a'"), HasSubstr("'first'")));
}

// The recording plugins refuse options that they don't know, and `device` is an option of the host.
TEST_F(ProviderList, TheDeviceIsTheHostsAndIsNoOptionOfThePlugins) {
  SessionOptions options = OptionsFor({"recorder_a"});
  options.providers[0].options = {{"device", "0"}, {"claim", "Neg"}};
  EXPECT_EQ(Failure(options), "OK");
  EXPECT_THAT(Choose(options)[0].options, ElementsAre(Pair("claim", "Neg")));
  for (const char* text : {"1", "x", "-1", "", "0x0", "4294967296"}) {
    options.providers[0].options["device"] = text;
    EXPECT_THAT(Failure(options), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'recorder_a'"), HasSubstr("device")))
        << text;
  }
}

TEST_F(ProviderList, AProvidersOwnErrorAboutAnOptionIsWhatIsSaid) {
  for (const bool listed : {true, false}) {
    SessionOptions options = OptionsFor({});
    if (listed) options.providers = {{"recorder_a", {}}};
    options.provider_options["recorder_a"] = {{"clam", "Neg"}};
    EXPECT_THAT(Failure(options), AllOf(HasSubstr("option 'clam' is unknown"), Not(HasSubstr("doesn't use"))));
  }
}

// --- options that a plugin declares: the host checks given options against them, and the plugin gets only valid ones

class DeclaringProvider : public ProviderList {
 protected:
  DeclaringProvider() : fake_(FakePlugin::Reset()) {
    fake_.options = {FakeOption(EP_OPTION_INT, "tiles", "4"), FakeOption(EP_OPTION_BOOL, "quiet", "false")};
    fake_.options_table = &fake_calls::kOptionsApi;
  }
  // Returns the options that the plugin would get.
  std::map<std::string, std::string> Given(const SessionOptions& options) {
    if (!environment_) TheEnvironment().catalog().Register(FakePlugin::Query, 0);
    return Choose(options)[0].options;
  }
  std::string Refused(const SessionOptions& options) {
    return FailureOf([&] { Given(options); });
  }

  FakePlugin& fake_;
};

TEST_F(DeclaringProvider, GetsDefaultsForOptionsThatAreNotGiven) {
  SessionOptions options = OptionsFor({"fake"});
  EXPECT_THAT(Given(options), ElementsAre(Pair("quiet", "0"), Pair("tiles", "4")));
  options.providers[0].options = {{"quiet", "true"}, {"device", "0"}};
  EXPECT_THAT(Given(options), ElementsAre(Pair("quiet", "1"), Pair("tiles", "4")));
}

TEST_F(DeclaringProvider, IsNotCreatedWithAnInvalidSessionOption) {
  SessionOptions options = OptionsFor({"fake"});
  options.providers[0].options = {{"tile", "2"}};
  EXPECT_EQ(Refused(options), "INVALID_ARGUMENT: provider 'fake': option 'tile' is unknown; did you mean 'tiles'?");
  options.providers[0].options = {{"tiles", "many"}};
  EXPECT_EQ(Refused(options), "INVALID_ARGUMENT: provider 'fake': option 'tiles' is 'many', a whole number expected");
  options.providers[0].options = {};
  options.provider_options["fake"] = {{"quiet", "loud"}};
  EXPECT_THAT(Refused(options), HasSubstr("option 'quiet' is 'loud', true or false expected"));
}

TEST_F(DeclaringProvider, IsNotCreatedWithAnInvalidPolicyOptionUnlessTheSessionOverridesIt) {
  Policy("  fake: {options: {tiles: many}}");
  SessionOptions options = OptionsFor({"fake"});
  EXPECT_THAT(Refused(options),
              AllOf(HasSubstr("INVALID_ARGUMENT: provider 'fake': option 'tiles' of the policy file '"),
                    HasSubstr("policy.yaml' is 'many', a whole number expected")));
  options.providers[0].options = {{"tiles", "7"}};
  EXPECT_THAT(Given(options), Contains(Pair("tiles", "7")));
}

TEST_F(DeclaringProvider, IsLeftOutOfASessionThatDidNotNameIt) {
  Policy("  fake: {options: {tiles: many}}");
  TheEnvironment().catalog().Register(FakePlugin::Query, 0);
  EXPECT_THAT(Names(OptionsFor({})), AllOf(Not(Contains("fake")), Contains("recorder_b")));
}

class SoftwareDevice : public ProviderList {
 protected:
  SoftwareDevice() : fake_(FakePlugin::Reset()) {
    fake_.devices[0].flags = EP_DEVICE_SOFTWARE;
    TheEnvironment();
  }
  std::vector<std::string> NamesWith(const SessionOptions& options) {
    TheEnvironment().catalog().Register(FakePlugin::Query, 500);
    return Names(options);
  }
  FakePlugin& fake_;
};

TEST_F(SoftwareDevice, IsNotTakenUnasked) { EXPECT_THAT(NamesWith(OptionsFor({})), Not(Contains("fake"))); }

TEST_F(SoftwareDevice, IsTakenByASessionThatListsItsPlugin) {
  EXPECT_THAT(NamesWith(OptionsFor({"fake"})), Contains("fake"));
}

TEST_F(SoftwareDevice, IsTakenByASessionThatNamesTheDevice) {
  SessionOptions options = OptionsFor({});
  options.provider_options["fake"] = {{"device", "0"}};
  EXPECT_THAT(NamesWith(options), Contains("fake"));
}

TEST_F(SoftwareDevice, ComesAfterRealOnes) {
  fake_.devices.push_back(FakeDevice(EP_DEVICE_GPU, "card"));
  TheEnvironment().catalog().Register(FakePlugin::Query, 500);
  EXPECT_THAT(Choose(OptionsFor({}))[0].devices, ElementsAre(1));
}

TEST_F(ProviderList, OptionsForAProviderThatIsNotUsedSayWhy) {
  Policy("  recorder_b: {enabled: false}");
  SessionOptions options = OptionsFor({"cpu"});
  for (const auto& [name, reason] : {std::pair("recorder_a", "add it to the session's providers"),
                                     {"recorder_b", "Disabled: disabled in"},
                                     {"recorder", "lists the installed ones"}}) {
    options.provider_options = {{name, {{"claim", "Neg"}}}};
    EXPECT_THAT(Failure(options), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'" + std::string(name) + "'"),
                                        HasSubstr("doesn't use"), HasSubstr(reason)));
  }
}

TEST_F(ProviderList, UnlistedPluginThatFailsIsLeftOut) {
  Policy("  recorder_a: {options: {clam: Neg}}");
  Session session(TheEnvironment(), model_, OptionsFor({}));
  EXPECT_THAT(session.placement().providers, ElementsAre("recorder_b", "cpu"));
}

// These defects show in the manifest alone, without opening the library.
TEST_F(ProviderList, AManifestThatCanNotBeUsedTakesNoNameAway) {
  InstallRecorderA("");
  fs::remove(dir_ / "first/recorder_a.so");
  EXPECT_EQ(Choose(OptionsFor({"recorder_a"}))[0].plugin->library,
            fs::canonical(RecordingPluginFolder() / "recorder_a.so"));
}

// These defects only show when the library is opened.
TEST_F(ProviderList, ALibraryThatTurnsOutToBeUnusableLeavesItsNameToTheNext) {
  for (const bool listed : {true, false}) {
    environment_.reset();
    InstallRecorderA("not a library");
    EXPECT_THAT(Listed(), Contains("recorder_a").Times(2));
    const SessionOptions options = listed ? OptionsFor({"recorder_a"}) : OptionsFor({});
    testing::internal::CaptureStderr();
    const std::vector<std::string> names = Names(options);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(names, Contains("recorder_a"));
    EXPECT_THAT(log, AllOf(HasSubstr("is used in place of"), HasSubstr("first/recorder_a.yaml"),
                           HasSubstr("not a shared library")));
    Session session(TheEnvironment(), model_, options);
    EXPECT_EQ(session.placement().nodes.at(0).provider, "recorder_a");
  }
}

TEST_F(ProviderList, ALibraryWithAnotherDigestLeavesItsNameToTheNextToo) {
  InstallRecorderA(ReadFile(RecordingPluginFolder() / "recorder_a.so"), "sha256: " + std::string(64, '0') + "\n");
  EXPECT_EQ(Choose(OptionsFor({"recorder_a"}))[0].plugin->library,
            fs::canonical(RecordingPluginFolder() / "recorder_a.so"));
}

// Messages about a requested context describe the actual assignment of nodes.
TEST_F(ProviderList, WhyNoContextModelWasWrittenIsSaidOfEachProvider) {
  SessionOptions options = OptionsFor({"recorder_a"});
  options.providers[0].options = {{"claim", "Mul"}};
  options.Set("ep.context_enable", "1");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Failure(options), "OK");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, AllOf(HasSubstr("'recorder_a' got no node"),
                         HasSubstr("'cpu' is only the fallback and doesn't compile the 2 nodes that it got"),
                         HasSubstr("add it to the session's providers")));
  EXPECT_FALSE(fs::exists(dir_ / "model_ctx.onnx"));
  options.providers.push_back({"cpu", {}});
  EXPECT_EQ(Failure(options), "OK");
  EXPECT_TRUE(fs::exists(dir_ / "model_ctx.onnx")) << "what it said to do does it";
}

}  // namespace
}  // namespace epiphyte::test
