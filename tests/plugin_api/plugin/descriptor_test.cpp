// The descriptor of a plugin made with the kit. Each host has its own plugin object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/host_tables.h"
#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;

class Plain : public kit::Provider {
 public:
  explicit Plain(const kit::ProviderConfig&) {}
  bool Supports(const kit::NodeView&, std::string*) override { return false; }
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition&) override { return nullptr; }
};
// A provider that implements saving and loading, but switches contexts off.
class Silent : public Plain {
 public:
  static constexpr bool kMakesContexts = false;
  using Plain::Plain;
  void SaveContext(const std::vector<std::string>&, kit::ContextWriter&) override {}
  std::unique_ptr<kit::Kernel> LoadContext(std::string_view, std::span<const std::byte>) override { return nullptr; }
};
class Saving : public Silent {
 public:
  static constexpr bool kMakesContexts = true;
  static constexpr const char* kSdkVersion = "2.3";
  using Silent::Silent;
  static std::span<const kit::Option> Options() { return {}; }
};

const EpPluginDescriptor* OfPlain() { return EPIPHYTE_KIT_DESCRIPTOR(Plain, "plain", "tests", "1.0.0"); }
const EpPluginDescriptor* OfSilent() { return EPIPHYTE_KIT_DESCRIPTOR(Silent, "silent", "tests", "1.0.0", "A"); }
const EpPluginDescriptor* OfSaving() { return EPIPHYTE_KIT_DESCRIPTOR(Saving, "saving", "tests", "1.2.3", "A", "B"); }

// The core's host with a counter for statuses.
class Host {
 public:
  Host() : status_(*core::HostInfo()->status), info_(*core::HostInfo()) {
    static const EpStatusApi kCore = *core::HostInfo()->status;
    status_.Create = [](EpStatusCode code, const char* message) {
      ++created;
      return kCore.Create(code, message);
    };
    info_.status = &status_;
  }
  const EpHostInfo& info() const { return info_; }

  static inline int created = 0;

 private:
  EpStatusApi status_;
  EpHostInfo info_;
};

constexpr EpKeyValue kVendorParameters[] = {{"driver", "fast"}, {"empty", ""}};
constexpr EpPluginEnvironment kEnvironment = {
    sizeof(EpPluginEnvironment), 2, "/lib.so", "/", "", "tests", kVendorParameters};

// A plugin in a host; the destructor destroys it.
class InHost {
 public:
  InHost(const EpPluginDescriptor* descriptor, const EpHostInfo& host) : host_(host), descriptor_(descriptor) {
    EXPECT_EQ(descriptor->Initialize(&host, &kEnvironment, &plugin_), nullptr);
  }
  ~InHost() { descriptor_->Shutdown(plugin_); }
  EpPlugin* handle() const { return plugin_; }
  const EpDeviceInfo* Device() const {
    const EpDeviceInfo* devices[2] = {};
    uint32_t count = 0;
    EXPECT_EQ(descriptor_->GetDevices(plugin_, devices, 2, &count), nullptr);
    EXPECT_EQ(count, 1u);
    return devices[0];
  }
  // Returns the message of CreateProvider's error; "" if it succeeds.
  std::string Create(std::vector<EpKeyValue> options = {}) const {
    const uint32_t device = 0;
    EpProviderConfig config = {};
    config.struct_size = sizeof config;
    config.options = options.data();
    config.option_count = static_cast<uint32_t>(options.size());
    config.devices = &device;
    config.device_count = 1;
    EpProvider* provider = nullptr;
    EpStatus* const status = descriptor_->provider->CreateProvider(plugin_, &config, &provider);
    if (status == nullptr) {
      descriptor_->provider->DestroyProvider(provider);
      return "";
    }
    const std::string message = host_.status->GetMessage(status);
    host_.status->Release(status);
    return message;
  }

 private:
  const EpHostInfo& host_;
  const EpPluginDescriptor* descriptor_;
  EpPlugin* plugin_ = nullptr;
};

TEST(KitDescriptor, NamesWhatTheMacroNames) {
  const EpPluginDescriptor& saving = *OfSaving();
  EXPECT_EQ(saving.struct_size, sizeof(EpPluginDescriptor));
  EXPECT_EQ(saving.abi_version, kit::kLowestAbi);
  EXPECT_STREQ(saving.name, "saving");
  EXPECT_STREQ(saving.vendor, "tests");
  EXPECT_STREQ(saving.version, "1.2.3");
  ASSERT_EQ(saving.source_count, 2u);
  EXPECT_STREQ(saving.sources[0], "A");
  EXPECT_STREQ(saving.sources[1], "B");
  EXPECT_EQ(OfPlain()->source_count, 0u);
  EXPECT_EQ(OfSaving(), OfSaving()) << "the same each time";
}

TEST(KitDescriptor, HasFunctionsForContextsOnlyWhenItMakesThem) {
  EXPECT_NE(OfSaving()->CheckContext, nullptr);
  EXPECT_NE(OfSaving()->provider->GetEpContextNodes, nullptr);
  EXPECT_NE(OfSaving()->provider->LoadContext, nullptr);
  for (const EpPluginDescriptor* without : {OfPlain(), OfSilent()}) {
    EXPECT_EQ(without->CheckContext, nullptr) << without->name;
    EXPECT_EQ(without->provider->GetEpContextNodes, nullptr) << without->name;
    EXPECT_EQ(without->provider->LoadContext, nullptr) << without->name;
  }
}

TEST(KitDescriptor, ATableOfOptionsIsThereWhenTheyAreDeclared) {
  const InHost saving(OfSaving(), *core::HostInfo());
  const InHost plain(OfPlain(), *core::HostInfo());
  EXPECT_NE(OfSaving()->GetExtension(saving.handle(), EP_OPTIONS_EXTENSION), nullptr) << "none is a declaration too";
  EXPECT_EQ(OfPlain()->GetExtension(plain.handle(), EP_OPTIONS_EXTENSION), nullptr);
  EXPECT_EQ(OfPlain()->GetExtension(plain.handle(), EP_SCHEMA_EXTENSION), nullptr);
}

// A provider with an operator and an extension table of its own.
class Bringing : public Plain {
 public:
  using Plain::Plain;
  static std::span<const kit::Operator> Operators() {
    static constexpr kit::Operator kOperators[] = {{.domain = "acme", .name = "Mix"}};
    return kOperators;
  }
  static const void* Extension(std::string_view id) { return id == "acme.table/1" ? &kTable : nullptr; }
  static constexpr int kTable = 7;
};
const EpPluginDescriptor* OfBringing() { return EPIPHYTE_KIT_DESCRIPTOR(Bringing, "bringing", "tests", "1"); }

TEST(KitDescriptor, OperatorsAndTablesOfItsOwnAreFound) {
  const InHost bringing(OfBringing(), *core::HostInfo());
  EXPECT_EQ(OfBringing()->GetExtension(bringing.handle(), "acme.table/1"), &Bringing::kTable);
  EXPECT_EQ(OfBringing()->GetExtension(bringing.handle(), "acme.table/2"), nullptr);
  const auto* schema =
      static_cast<const EpSchemaApi*>(OfBringing()->GetExtension(bringing.handle(), EP_SCHEMA_EXTENSION));
  ASSERT_NE(schema, nullptr);
  const EpOperatorInfo* operators[2] = {};
  uint32_t count = 0;
  ASSERT_EQ(schema->GetOperators(bringing.handle(), operators, 2, &count), nullptr);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(operators[0]->name, "Mix");
}

TEST(KitDescriptor, APluginWithoutDevicesStandsForOne) {
  const InHost plain(OfPlain(), *core::HostInfo());
  EXPECT_STREQ(plain.Device()->name, "plain");
  EXPECT_STREQ(plain.Device()->architecture, "plain");
  EXPECT_EQ(plain.Device()->kind, EP_DEVICE_OTHER);
  EXPECT_STREQ(plain.Device()->driver_version, "1.0.0");
}

// A plugin with separate state for each host.
class Counting final : public kit::Plugin {
 public:
  explicit Counting(const kit::PluginConfig& config) : kit::Plugin(config) {
    EXPECT_EQ(config.Parameter("driver"), "fast");
    EXPECT_EQ(config.Parameter("empty"), "");
    EXPECT_EQ(config.Parameter("speed"), std::nullopt);
  }
  std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig& config) override {
    EXPECT_EQ(&config.host, &host());
    ++providers;
    for (const auto& [key, value] : config.options)
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "option '" + key + "' is unknown");
    return providers == 3 ? nullptr : std::make_unique<Plain>(config);
  }
  int providers = 0;
};
const EpPluginDescriptor* OfCounting() { return EPIPHYTE_KIT_DESCRIPTOR(Counting, "counting", "tests", "1"); }

TEST(KitHosts, EachHasAPluginOfItsOwnAndItsOwnStatuses) {
  const Host other;
  Host::created = 0;
  const InHost here(OfCounting(), *core::HostInfo());
  const InHost there(OfCounting(), other.info());
  EXPECT_EQ(here.Create(), "");
  EXPECT_EQ(here.Create(), "");
  EXPECT_EQ(there.Create(), "");
  EXPECT_EQ(static_cast<Counting&>(kit::PluginOf(here.handle())).providers, 2);
  EXPECT_EQ(static_cast<Counting&>(kit::PluginOf(there.handle())).providers, 1);
  EXPECT_EQ(&kit::HostOf(here.handle()), core::HostInfo());
  EXPECT_EQ(&kit::HostOf(there.handle()), &other.info());
  EXPECT_EQ(Host::created, 0);
  EXPECT_THAT(there.Create({{"speed", "9"}}), HasSubstr("'speed'"));
  EXPECT_EQ(Host::created, 1) << "the status lives in the heap of the host that it is for";
  EXPECT_THAT(here.Create(), HasSubstr("made no provider"));
  EXPECT_EQ(Host::created, 1);
}

TEST(KitHosts, WhatAnInitializerThrowsIsAStatus) {
  class Absent final : public kit::Plugin {
   public:
    explicit Absent(const kit::PluginConfig& config) : kit::Plugin(config) {
      throw kit::Error(EP_STATUS_NOT_FOUND, "no driver");
    }
    std::unique_ptr<kit::Provider> CreateProvider(const kit::ProviderConfig&) override { return nullptr; }
  };
  const EpPluginDescriptor* const absent = EPIPHYTE_KIT_DESCRIPTOR(Absent, "absent", "tests", "1");
  const EpHostInfo& host = *core::HostInfo();
  EpPlugin* plugin = nullptr;
  EpStatus* const status = absent->Initialize(&host, &kEnvironment, &plugin);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(plugin, nullptr);
  EXPECT_EQ(host.status->GetCode(status), EP_STATUS_NOT_FOUND);
  EXPECT_STREQ(host.status->GetMessage(status), "no driver");
  host.status->Release(status);
}

}  // namespace
}  // namespace epiphyte::test
