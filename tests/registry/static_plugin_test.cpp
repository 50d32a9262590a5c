// Plugins that are linked into the program: the catalog's queries and checks, and the plugins' lifetime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "core/registry/catalog.h"
#include "core/registry/descriptor.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/fake_plugin.h"
#include "tests/registry/manifest_text.h"

namespace epiphyte::core {
namespace {

using test::ErrorOf;
using test::FakeHost;
using test::FakePlugin;
using testing::ElementsAre;
using testing::HasSubstr;

CatalogOptions Hermetic() {
  CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  return options;
}

class StaticPlugin : public testing::Test {
 protected:
  StaticPlugin() : fake_(FakePlugin::Reset()) {}
  ~StaticPlugin() override { EXPECT_EQ(test::LiveStatuses(), 0); }

  // Returns the message with which registering fails.
  std::string Refused() {
    Catalog catalog(Hermetic(), &FakeHost());
    const std::string message = ErrorOf(StatusCode::kEpFail, [&] { catalog.Register(FakePlugin::Query, 0); });
    EXPECT_TRUE(catalog.entries().empty());
    return message;
  }

  FakePlugin& fake_;
};

TEST_F(StaticPlugin, IsLoadedAndDescribed) {
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 7);
  const LoadedPlugin& plugin = catalog.Load("fake");
  EXPECT_EQ(plugin.name, "fake");
  EXPECT_EQ(plugin.vendor, "Acme");
  EXPECT_EQ(plugin.version, "1.2.3");
  EXPECT_THAT(plugin.sources, ElementsAre("FakeSource"));
  EXPECT_EQ(plugin.descriptor, &fake_.descriptor);
  EXPECT_EQ(plugin.library, std::filesystem::canonical("/proc/self/exe"));
  ASSERT_EQ(plugin.devices.size(), 1u);
  EXPECT_EQ(plugin.devices[0].kind, EP_DEVICE_NPU);
  EXPECT_EQ(plugin.devices[0].name, "Fake 1");
  EXPECT_EQ(plugin.devices[0].architecture, "v1");

  ASSERT_EQ(catalog.entries().size(), 1u);
  EXPECT_EQ(catalog.entries()[0].state, PluginState::kLoaded);
  EXPECT_EQ(catalog.entries()[0].priority, 7);
  EXPECT_EQ(catalog.OwnerOfSource("FakeSource"), "fake");
  EXPECT_EQ(catalog.OwnerOfSource("Other"), "");
}

TEST_F(StaticPlugin, GetsItsLocation) {
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  EXPECT_EQ(fake_.library_path, program);
  EXPECT_EQ(fake_.directory, program.parent_path());
  EXPECT_EQ(fake_.manifest_path, "");
}

TEST_F(StaticPlugin, IsInitializedOnceAndShutDownByTheLastCatalog) {
  auto first = std::make_unique<Catalog>(Hermetic(), &FakeHost());
  auto second = std::make_unique<Catalog>(Hermetic(), &FakeHost());
  first->Register(FakePlugin::Query, 0);
  second->Register(FakePlugin::Query, 0);
  EXPECT_EQ(fake_.queries, 1);
  EXPECT_EQ(fake_.initializations, 1);
  EXPECT_EQ(&first->Load("fake"), &second->Load("fake"));
  first.reset();
  EXPECT_EQ(fake_.shutdowns, 0);
  second.reset();
  EXPECT_EQ(fake_.shutdowns, 1);
}

TEST_F(StaticPlugin, MayBeInitializedAgainAfterShutdown) {
  for (int round = 1; round <= 3; ++round) {
    Catalog catalog(Hermetic(), &FakeHost());
    catalog.Register(FakePlugin::Query, 0);
    EXPECT_EQ(fake_.initializations, round);
    EXPECT_EQ(fake_.shutdowns, round - 1);
  }
  EXPECT_EQ(fake_.shutdowns, 3);
}

TEST_F(StaticPlugin, CantBeRegisteredTwice) {
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { catalog.Register(FakePlugin::Query, 0); }),
              HasSubstr("'fake' is in use"));
  EXPECT_EQ(catalog.entries().size(), 1u);
  EXPECT_EQ(fake_.shutdowns, 0) << "the first registration still stands";
}

TEST_F(StaticPlugin, ComesBeforeManifestsOfTheSameNameOrSource) {
  const test::TempDir folder;
  folder.Write("lib.so", "never opened");
  folder.Write("a.yaml", test::ManifestText("fake", "lib.so"));
  folder.Write("b.yaml", test::ManifestText("rival", "lib.so", "sources: [FakeSource]\npriority: 9"));
  folder.Write("c.yaml", test::ManifestText("other", "lib.so", "sources: [OtherSource]\npriority: 5"));
  CatalogOptions options = Hermetic();
  options.paths = {folder.path()};
  Catalog catalog(options, &FakeHost());
  catalog.Register(FakePlugin::Query, 6);
  std::vector<std::string> states;
  for (const PluginEntry& entry : catalog.entries()) {
    states.push_back(fmt::format("{} {}", entry.manifest.name, PluginStateName(entry.state)));
  }
  EXPECT_THAT(states, ElementsAre("rival Shadowed", "fake Loaded", "other Ready", "fake Shadowed"));
  EXPECT_EQ(catalog.OwnerOfSource("FakeSource"), "fake");
  EXPECT_EQ(catalog.Load("fake").descriptor, &fake_.descriptor);
}

TEST_F(StaticPlugin, IsSubjectToThePolicy) {
  const test::TempDir folder;
  CatalogOptions options = Hermetic();
  options.policy_file =
      folder.Write("p.yaml", "policy_version: 1\nproviders: {fake: {priority: 3, options: {a: 1}}}\n");
  Catalog catalog(options, &FakeHost());
  catalog.Register(FakePlugin::Query, 100);
  EXPECT_EQ(catalog.entries()[0].priority, 3);
  EXPECT_THAT(catalog.entries()[0].options, ElementsAre(testing::Pair("a", "1")));

  for (const char* policy : {"deny: [fake]", "allow: [cpu]", "providers: {fake: {enabled: false}}"}) {
    options.policy_file = folder.Write("q.yaml", fmt::format("policy_version: 1\n{}\n", policy));
    Catalog strict(options, &FakeHost());
    ErrorOf(StatusCode::kEpFail, [&] { strict.Register(FakePlugin::Query, 0); });
    EXPECT_TRUE(strict.entries().empty());
  }
  EXPECT_EQ(fake_.shutdowns, 0) << "the first catalog still uses it";
}

TEST_F(StaticPlugin, ARefusedDescriptorIsNeverInitialized) {
  fake_.answers = false;
  EXPECT_THAT(Refused(), HasSubstr("no plugin for this program, or doesn't support ABI 0.2"));
  fake_.answers = true;
  fake_.descriptor.struct_size = 40;
  EXPECT_THAT(Refused(), HasSubstr("EpPluginDescriptor::struct_size is 40, at least "));
  fake_.descriptor.struct_size = UINT32_MAX;
  EXPECT_THAT(Refused(), HasSubstr("at most 65536 expected"));
  EXPECT_EQ(fake_.initializations, 0);
  EXPECT_EQ(fake_.shutdowns, 0);
}

TEST_F(StaticPlugin, ALongerDescriptorOfALaterVersionIsFine) {
  fake_.descriptor.struct_size += 512;
  fake_.provider.struct_size += 512;
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  EXPECT_NE(catalog.TryLoad("fake"), nullptr);
}

TEST_F(StaticPlugin, AnsweredAbiMustBeSupported) {
  fake_.descriptor.abi_version = EP_MAKE_ABI_VERSION(0, 3);
  EXPECT_THAT(Refused(), HasSubstr("AbiTooNew: the plugin was built for ABI 0.3; 0.2 is spoken here"));
  for (const uint32_t old : {0u, EP_MAKE_ABI_VERSION(0, 1)}) {
    fake_.descriptor.abi_version = old;
    EXPECT_THAT(Refused(), HasSubstr("AbiTooOld"));
  }
}

// The range of versions is that of a future host.
TEST_F(StaticPlugin, EarlierMinorVersionIsAcceptedAndOtherMajorIsRefused) {
  EpHostInfo host = FakeHost();
  host.abi_min = EP_MAKE_ABI_VERSION(1, 0);
  host.abi_max = EP_MAKE_ABI_VERSION(1, 4);
  const auto spoken = [&](uint32_t major, uint32_t minor) { return IsSpoken(EP_MAKE_ABI_VERSION(major, minor), host); };
  EXPECT_TRUE(spoken(1, 0));
  EXPECT_TRUE(spoken(1, 4));
  EXPECT_FALSE(spoken(1, 5));
  EXPECT_FALSE(spoken(2, 0));
  EXPECT_FALSE(spoken(0, 9));
  EXPECT_EQ(AbiRangeName(host), "1.0 to 1.4");
}

TEST_F(StaticPlugin, StringsAreChecked) {
  const std::string long_text(256, 'x');
  for (const char* bad : {static_cast<const char*>(nullptr), "\xFF", "a\nb", "\x1b[31m", long_text.c_str()}) {
    FakePlugin::Reset().descriptor.vendor = bad;
    EXPECT_THAT(Refused(), HasSubstr("the descriptor's vendor"));
    FakePlugin::Reset().descriptor.version = bad;
    EXPECT_THAT(Refused(), HasSubstr("the descriptor's version"));
    FakePlugin::Reset().descriptor.name = bad;
    EXPECT_THAT(Refused(), HasSubstr("the descriptor's name"));
    FakePlugin::Reset().sources[0] = bad;
    EXPECT_THAT(Refused(), HasSubstr("the descriptor's sources[0]"));
  }
  for (const char* bad : {"", "a b", "../x", "a.b"}) {
    FakePlugin::Reset().descriptor.name = bad;
    EXPECT_THAT(Refused(), HasSubstr("letters, digits"));
  }
}

TEST_F(StaticPlugin, CountsAreChecked) {
  fake_.descriptor.source_count = UINT32_MAX;
  EXPECT_THAT(Refused(), HasSubstr("4294967295 sources, at most 64"));
  fake_.descriptor.source_count = 1;
  fake_.descriptor.sources = nullptr;
  EXPECT_THAT(Refused(), HasSubstr("sources are null"));
  fake_.descriptor.source_count = 0;
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  EXPECT_TRUE(catalog.Load("fake").sources.empty()) << "a plugin need not own a source";
}

TEST_F(StaticPlugin, RequiredFunctionsMustBeThere) {
  const auto without = [&](auto remove) {
    remove(FakePlugin::Reset());
    return Refused();
  };
  EXPECT_THAT(without([](FakePlugin& f) { f.descriptor.Initialize = nullptr; }), HasSubstr("Initialize is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.descriptor.Shutdown = nullptr; }), HasSubstr("Shutdown is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.descriptor.GetDevices = nullptr; }), HasSubstr("GetDevices is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.descriptor.provider = nullptr; }), HasSubstr("provider table is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.CreateProvider = nullptr; }), HasSubstr("CreateProvider is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.DestroyProvider = nullptr; }), HasSubstr("DestroyProvider is"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.GetCapability = nullptr; }), HasSubstr("GetCapability is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.Compile = nullptr; }), HasSubstr("Compile is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.ReleaseKernel = nullptr; }), HasSubstr("ReleaseKernel is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.Execute = nullptr; }), HasSubstr("Execute is null"));
  EXPECT_THAT(without([](FakePlugin& f) { f.provider.struct_size = 16; }),
              HasSubstr("EpProviderApi::struct_size is 16"));
}

TEST_F(StaticPlugin, PairsAreThereTogetherOrNotAtAll) {
  fake_.provider.GetEpContextNodes = [](EpProvider*, EpContextSink*, EpTask*) -> EpStatus* { return nullptr; };
  EXPECT_THAT(Refused(), HasSubstr("of GetEpContextNodes and LoadContext only one is there"));
  FakePlugin::Reset().provider.ReleaseState = [](EpKernel*, EpKernelState*) {};
  EXPECT_THAT(Refused(), HasSubstr("of CreateState and ReleaseState only one is there"));
}

TEST_F(StaticPlugin, AFailingInitializeGivesItsMessage) {
  fake_.initialize_error = "driver 4.1 found,\n4.2 expected";
  EXPECT_THAT(Refused(), HasSubstr("InitFailed: Initialize failed: driver 4.1 found, 4.2 expected"));
  EXPECT_EQ(fake_.shutdowns, 0) << "what was not initialized is not shut down";
}

TEST_F(StaticPlugin, WithoutADeviceItIsShutDownAgain) {
  fake_.device_count = 0;
  EXPECT_THAT(Refused(), HasSubstr("NoDevice"));
  EXPECT_EQ(fake_.shutdowns, 1);
}

TEST_F(StaticPlugin, WithoutADeviceItMaySayWhy) {
  fake_.no_device = "libdriver.so.1 can't be loaded; install driver1";
  EXPECT_THAT(Refused(), HasSubstr("NoDevice: libdriver.so.1 can't be loaded; install driver1"));
  EXPECT_EQ(fake_.shutdowns, 1);
}

TEST_F(StaticPlugin, DevicesAreChecked) {
  const auto refused_with = [&](const EpDeviceInfo& device) {
    FakePlugin& fake = FakePlugin::Reset();
    fake.devices = {device};
    const std::string message = Refused();
    EXPECT_EQ(fake.shutdowns, 1) << message;
    return message;
  };
  const auto with = [](auto field, auto value) {
    EpDeviceInfo device = test::FakeDevice(EP_DEVICE_CPU, "n");
    device.*field = value;
    return device;
  };
  EXPECT_THAT(refused_with(with(&EpDeviceInfo::struct_size, 8u)), HasSubstr("EpDeviceInfo::struct_size is 8"));
  EXPECT_THAT(refused_with(with(&EpDeviceInfo::reserved, 8u)), HasSubstr("EpDeviceInfo::reserved is 8"));
  const char* const none = nullptr;
  const char* const garbage = "\xFF";
  EXPECT_THAT(refused_with(with(&EpDeviceInfo::name, none)), HasSubstr("device 0's name is null"));
  EXPECT_THAT(refused_with(with(&EpDeviceInfo::architecture, garbage)), HasSubstr("device 0's architecture"));
  EXPECT_THAT(refused_with(with(&EpDeviceInfo::location, none)), HasSubstr("device 0's location is null"));
  EXPECT_THAT(refused_with(with(&EpDeviceInfo::uuid, garbage)), HasSubstr("device 0's uuid"));
  FakePlugin::Reset().device_pointers = {nullptr};
  EXPECT_THAT(Refused(), HasSubstr("device 0 is malformed: it is null"));
  FakePlugin::Reset().device_count = 2;
  EXPECT_THAT(Refused(), HasSubstr("device 1 is malformed: it is null")) << "more devices promised than filled in";
  FakePlugin::Reset().device_count = UINT32_MAX - 1;
  EXPECT_THAT(Refused(), HasSubstr("GetDevices reports 4294967294 devices; at most 4096 are possible"));
}

TEST_F(StaticPlugin, DevicesOfAKindThatCameLaterAreOtherDevices) {
  fake_.devices = {test::FakeDevice(99, "n")};
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  EXPECT_EQ(catalog.Load("fake").devices.at(0).kind, EP_DEVICE_OTHER);
}

TEST_F(StaticPlugin, DeviceInformationIsKept) {
  EpDeviceInfo device = test::FakeDevice(EP_DEVICE_GPU, "n");
  device.flags = EP_DEVICE_COMPILE_ONLY | EP_DEVICE_INTEGRATED | 0x40000000u;
  device.vendor_id = 0x10DE;
  device.device_id = 7;
  device.location = "pci:0000:65:00.0";
  device.uuid = "00ff";
  device.memory_bytes = uint64_t{1} << 36;
  fake_.devices = {device};
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  const Device& kept = catalog.Load("fake").devices.at(0);
  EXPECT_TRUE(kept.compile_only);
  EXPECT_TRUE(kept.integrated);
  EXPECT_FALSE(kept.lost);
  EXPECT_EQ(kept.vendor_id, 0x10DEu);
  EXPECT_EQ(kept.device_id, 7u);
  EXPECT_EQ(kept.location, "pci:0000:65:00.0");
  EXPECT_EQ(kept.uuid, "00ff");
  EXPECT_EQ(kept.memory_bytes, uint64_t{1} << 36);
}

TEST_F(StaticPlugin, AllOfManyDevicesAreSeen) {
  fake_.devices.assign(100, fake_.devices[0]);
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
  EXPECT_EQ(catalog.Load("fake").devices.size(), 100u);
}

TEST_F(StaticPlugin, ExceptionsAreCaughtInEveryCall) {
  for (const std::string call : {"Query", "Initialize", "GetDevices"}) {
    FakePlugin::Reset().on_call = [call](const char* name) {
      if (name == call) throw std::runtime_error("thrown\nin " + call);
    };
    EXPECT_THAT(Refused(), HasSubstr("let a C++ exception escape: thrown in " + call));
    FakePlugin::Reset().on_call = [call](const char* name) {
      if (name == call) throw 42;
    };
    EXPECT_THAT(Refused(), HasSubstr("let a C++ exception escape: of unknown type"));
  }
  FakePlugin::Reset().on_call = [](const char* name) {
    if (std::string(name) == "Shutdown") throw std::runtime_error("thrown in Shutdown");
  };
  Catalog catalog(Hermetic(), &FakeHost());
  catalog.Register(FakePlugin::Query, 0);
}

TEST_F(StaticPlugin, ANullQueryFunctionIsRefused) {
  Catalog catalog(Hermetic(), &FakeHost());
  ErrorOf(StatusCode::kEpFail, [&] { catalog.Register(nullptr, 0); });
}

}  // namespace
}  // namespace epiphyte::core
