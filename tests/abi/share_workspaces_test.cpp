// The host's side of share groups: one workspace for each plugin and group, and the context nodes that a provider of a
// compiling group may write. Also CheckContext with answers that the host must not trust.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "core/abi/context_check.h"
#include "core/abi/host_tables.h"
#include "core/abi/provider.h"
#include "core/base/error.h"
#include "epiphyte/ep_share.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::ContextVerdict;
using core::ShareWorkspaces;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::atomic<int> g_made;
std::atomic<int> g_released;
std::atomic<int> g_released_too_early;
std::atomic<int> g_live_providers;

struct Hooks {
  EpMakeWorkspace make = nullptr;
  std::function<EpStatus*(EpContextSink*)> get_nodes;
  std::function<EpStatus*(const EpContextHeader*, EpContextVerdict*, char*, uint64_t)> check;
};
Hooks g_hooks;

const EpShareApi& Share() {
  return *static_cast<const EpShareApi*>(core::HostInfo()->GetExtension(core::HostInfo(), EP_SHARE_EXTENSION));
}

EpStatus* EP_CALL MakeWorkspace(void*, void** workspace) {
  std::this_thread::yield();
  *workspace = new int(++g_made);
  return nullptr;
}
void EP_CALL FreeWorkspace(void* workspace) {
  ++g_released;
  if (g_live_providers != 0) ++g_released_too_early;
  delete static_cast<int*>(workspace);
}

// A provider that takes its workspace in CreateProvider.
struct SharingProvider {
  EpShareGroup* group = nullptr;
  void* workspace = nullptr;
};

EpStatus* EP_CALL CreateProvider(EpPlugin*, const EpProviderConfig* config, EpProvider** provider) {
  SharingProvider made{config->share_group, nullptr};
  if (made.group != nullptr) {
    EpStatus* status = Share().GetWorkspace(made.group, g_hooks.make, nullptr, FreeWorkspace, &made.workspace);
    if (status != nullptr) return status;
  }
  ++g_live_providers;
  *provider = reinterpret_cast<EpProvider*>(new SharingProvider(made));
  return nullptr;
}
void EP_CALL DestroyProvider(EpProvider* provider) {
  --g_live_providers;
  delete reinterpret_cast<SharingProvider*>(provider);
}
EpStatus* EP_CALL GetEpContextNodes(EpProvider*, EpContextSink* sink, EpTask*) { return g_hooks.get_nodes(sink); }
EpStatus* EP_CALL CheckContext(EpPlugin*, const EpContextHeader* header, EpContextVerdict* verdict, char* reason,
                               uint64_t capacity) {
  return g_hooks.check(header, verdict, reason, capacity);
}

EpProviderApi ProviderTable() {
  EpProviderApi api = {};
  api.struct_size = sizeof(api);
  api.CreateProvider = CreateProvider;
  api.DestroyProvider = DestroyProvider;
  api.GetEpContextNodes = GetEpContextNodes;
  return api;
}

// A plugin as the catalog would load it.
class InlinePlugin {
 public:
  InlinePlugin() : provider_(ProviderTable()) {
    descriptor_.struct_size = sizeof(descriptor_);
    descriptor_.provider = &provider_;
    descriptor_.CheckContext = CheckContext;
    loaded_.descriptor = &descriptor_;
    loaded_.name = "sharing";
    loaded_.sources = {"Sharing"};
  }
  std::shared_ptr<core::Provider> Make(core::ShareMembership share) {
    core::ProviderConfig config;
    config.share = std::move(share);
    return core::Provider::Create(loaded_, config);
  }
  const core::LoadedPlugin& loaded() const { return loaded_; }
  EpPluginDescriptor& descriptor() { return descriptor_; }

 private:
  EpProviderApi provider_;
  EpPluginDescriptor descriptor_ = {};
  core::LoadedPlugin loaded_;
};

class ShareGroupAbi : public testing::Test {
 protected:
  ShareGroupAbi() {
    g_made = g_released = g_released_too_early = g_live_providers = 0;
    g_hooks = {MakeWorkspace, nullptr, nullptr};
  }
  static core::ShareMembership Loading(std::shared_ptr<ShareWorkspaces> workspaces) {
    return {std::move(workspaces), false, false};
  }

  InlinePlugin plugin_;
  InlinePlugin other_plugin_;
};

TEST_F(ShareGroupAbi, AWorkspaceIsMadeOncePerPluginAndGroup) {
  auto group = std::make_shared<ShareWorkspaces>("a");
  auto other_group = std::make_shared<ShareWorkspaces>("b");
  auto first = plugin_.Make(Loading(group));
  auto second = plugin_.Make(Loading(group));
  EXPECT_EQ(g_made, 1);
  auto apart = plugin_.Make(Loading(other_group));
  EXPECT_EQ(g_made, 2);
  auto stranger = other_plugin_.Make(Loading(group));
  EXPECT_EQ(g_made, 3);
  auto alone = plugin_.Make({});
  EXPECT_EQ(g_made, 3);
}

TEST_F(ShareGroupAbi, AWorkspaceIsReleasedOnceAfterTheLastProviderInAnyOrder) {
  for (bool reverse : {false, true}) {
    g_made = g_released = 0;
    auto group = std::make_shared<ShareWorkspaces>("a");
    auto first = plugin_.Make(Loading(group));
    auto second = plugin_.Make(Loading(group));
    group.reset();
    (reverse ? second : first).reset();
    EXPECT_EQ(g_released, 0);
    (reverse ? first : second).reset();
    EXPECT_EQ(g_released, 1);
  }
  EXPECT_EQ(g_released_too_early, 0) << "a provider outlived its workspace";
}

TEST_F(ShareGroupAbi, TheGroupKeepsAWorkspaceBetweenTwoSessions) {
  auto group = std::make_shared<ShareWorkspaces>("a");
  plugin_.Make({group, true, false}).reset();
  EXPECT_EQ(g_released, 0);
  plugin_.Make({group, true, true}).reset();
  EXPECT_EQ(g_made, 1);
  group.reset();
  EXPECT_EQ(g_released, 1);
}

TEST_F(ShareGroupAbi, AWorkspaceThatCantBeMadeIsTheProvidersErrorAndIsTriedAgain) {
  auto group = std::make_shared<ShareWorkspaces>("tiles");
  g_hooks.make = [](void*, void**) { return core::HostInfo()->status->Create(EP_STATUS_EP_FAIL, "no tiles left"); };
  EXPECT_THAT(FailureOf([&] { plugin_.Make(Loading(group)); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("no tiles left"), HasSubstr("'tiles'")));
  g_hooks.make = [](void*, void**) -> EpStatus* { return nullptr; };
  EXPECT_THAT(FailureOf([&] { plugin_.Make(Loading(group)); }), HasSubstr("gave none"));
  g_hooks.make = [](void*, void**) -> EpStatus* { throw std::runtime_error("thrown while making"); };
  EXPECT_THAT(FailureOf([&] { plugin_.Make(Loading(group)); }), HasSubstr("thrown while making"));
  g_hooks.make = MakeWorkspace;
  EXPECT_NE(plugin_.Make(Loading(group)), nullptr);
  group.reset();
  EXPECT_EQ(g_made, 1);
  EXPECT_EQ(g_released, 1) << "what was never made is not released";
}

TEST_F(ShareGroupAbi, TwoThreadsGetTheSameWorkspace) {
  for (int round = 0; round < 50; ++round) {
    g_made = g_released = 0;
    auto group = std::make_shared<ShareWorkspaces>("a");
    std::thread threads[2];
    for (std::thread& thread : threads) thread = std::thread([&] { plugin_.Make(Loading(group)); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(g_made, 1);
    group.reset();
    EXPECT_EQ(g_released, 1);
  }
}

EpShareGroup* g_group = nullptr;

TEST_F(ShareGroupAbi, TheTableChecksWhatItIsGiven) {
  const EpHostInfo& host = *core::HostInfo();
  EXPECT_EQ(host.GetExtension(&host, "ep.share_group/2"), nullptr);
  EXPECT_EQ(host.GetExtension(&host, nullptr), nullptr);
  const EpHostInfo another = host;
  EXPECT_EQ(host.GetExtension(&another, EP_SHARE_EXTENSION), nullptr) << "of another host";
  EXPECT_EQ(Share().struct_size, sizeof(EpShareApi));
  const auto message = [&](EpStatus* status) {
    std::string text = status == nullptr ? "OK" : host.status->GetMessage(status);
    host.status->Release(status);
    return text;
  };
  EpShareInfo info = {};
  info.struct_size = sizeof(info);
  void* workspace = nullptr;
  EXPECT_THAT(message(Share().GetInfo(nullptr, &info)), HasSubstr("null pointer"));
  EXPECT_THAT(message(Share().GetWorkspace(nullptr, MakeWorkspace, nullptr, FreeWorkspace, &workspace)),
              HasSubstr("null pointer"));
  g_hooks.make = [](void*, void** made) -> EpStatus* {
    *made = new int(0);
    return nullptr;
  };
  // The provider exposes its group for the calls below.
  EpProviderApi api = ProviderTable();
  api.CreateProvider = [](EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
    g_group = config->share_group;
    return CreateProvider(plugin, config, provider);
  };
  EpPluginDescriptor descriptor = {};
  descriptor.provider = &api;
  core::LoadedPlugin loaded;
  loaded.descriptor = &descriptor;
  core::ProviderConfig config;
  config.share = {std::make_shared<ShareWorkspaces>("größe"), true, true};
  auto provider = core::Provider::Create(loaded, config);
  EXPECT_EQ(message(Share().GetInfo(g_group, &info)), "OK");
  EXPECT_EQ(info.compiling, 1u);
  EXPECT_EQ(info.last, 1u);
  EXPECT_STREQ(info.name, "größe");
  EXPECT_THAT(message(Share().GetInfo(g_group, nullptr)), HasSubstr("null pointer"));
  info.struct_size = 8;
  EXPECT_THAT(message(Share().GetInfo(g_group, &info)), HasSubstr("struct_size"));
  EXPECT_THAT(message(Share().GetWorkspace(g_group, nullptr, nullptr, FreeWorkspace, &workspace)),
              HasSubstr("null pointer"));
  EXPECT_THAT(message(Share().GetWorkspace(g_group, MakeWorkspace, nullptr, nullptr, &workspace)),
              HasSubstr("null pointer"));
}

TEST_F(ShareGroupAbi, AskingForAWorkspaceWhileItIsMadeIsAnErrorAndNoDeadlock) {
  auto group = std::make_shared<ShareWorkspaces>("a");
  static ShareWorkspaces* inner = nullptr;
  inner = group.get();
  g_hooks.make = [](void*, void** workspace) {
    return inner->Get("key", MakeWorkspace, nullptr, FreeWorkspace, workspace);
  };
  EXPECT_THAT(FailureOf([&] { plugin_.Make(Loading(group)); }), HasSubstr("call it after that returned"));
}

// --- context nodes that a provider of a compiling group may write

core::ContextNodes Write(core::Provider& provider) {
  struct Nowhere final : core::PayloadWriter {
    void Write(const void*, uint64_t) override {}
    void End() override {}
  };
  return provider.GetEpContextNodes("", false, [] { return std::make_unique<Nowhere>(); });
}

TEST_F(ShareGroupAbi, AnEarlierSessionBeginsNoPayload) {
  auto group = std::make_shared<ShareWorkspaces>("a");
  auto earlier = plugin_.Make({group, true, false});
  EXPECT_TRUE(earlier->DefersPayload());
  g_hooks.get_nodes = [](EpContextSink* sink) {
    EpContextWriter* writer = nullptr;
    return core::HostInfo()->context->BeginPayload(sink, &writer);
  };
  EXPECT_THAT(FailureOf([&] { Write(*earlier); }),
              AllOf(StartsWith("EP_FAIL"), HasSubstr("not the last of its share group"), HasSubstr("workspace")));
}

TEST_F(ShareGroupAbi, TheLastSessionWritesAPayloadEvenWithoutPartitions) {
  auto last = plugin_.Make({std::make_shared<ShareWorkspaces>("llama"), true, true});
  EXPECT_FALSE(last->DefersPayload());
  g_hooks.get_nodes = [](EpContextSink*) -> EpStatus* { return nullptr; };
  EXPECT_THAT(FailureOf([&] { Write(*last); }), AllOf(HasSubstr("'llama'"), HasSubstr("finished no payload")));
  g_hooks.get_nodes = [](EpContextSink* sink) {
    EpContextWriter* writer = nullptr;
    return core::HostInfo()->context->BeginPayload(sink, &writer);
  };
  EXPECT_THAT(FailureOf([&] { Write(*last); }), HasSubstr("finished no payload"));
  g_hooks.get_nodes = [](EpContextSink* sink) -> EpStatus* {
    EpContextWriter* writer = nullptr;
    if (EpStatus* status = core::HostInfo()->context->BeginPayload(sink, &writer)) return status;
    return core::HostInfo()->context->EndPayload(writer);
  };
  EXPECT_EQ(Write(*last).payloads.size(), 1u);
}

TEST_F(ShareGroupAbi, OutsideOfACompilingGroupNothingIsDeferred) {
  EXPECT_FALSE(plugin_.Make({})->DefersPayload());
  EXPECT_FALSE(plugin_.Make(Loading(std::make_shared<ShareWorkspaces>("a")))->DefersPayload());
}

// --- CheckContext

class ContextCheckAbi : public ShareGroupAbi {};

core::ContextCheck Check(InlinePlugin& plugin) {
  core::ContextHeader header;
  header.source = "Sharing";
  return core::CheckContext(plugin.loaded(), header);
}

TEST_F(ContextCheckAbi, AVerdictComesBackWithItsReason) {
  g_hooks.check = [](const EpContextHeader* header, EpContextVerdict* verdict, char* reason, uint64_t capacity) {
    EXPECT_STREQ(header->source, "Sharing");
    EXPECT_STREQ(header->compatibility_info, "");
    EXPECT_EQ(header->blob, nullptr);
    EXPECT_GE(capacity, 256u);
    *verdict = EP_CONTEXT_PREFER_RECOMPILATION;
    std::strcpy(reason, "made for\nanother driver");
    return static_cast<EpStatus*>(nullptr);
  };
  const core::ContextCheck check = Check(plugin_);
  EXPECT_EQ(check.verdict, ContextVerdict::kPreferRecompilation);
  EXPECT_EQ(check.reason, "made for another driver");
  EXPECT_STREQ(ContextVerdictName(check.verdict), "prefer recompilation");
}

TEST_F(ContextCheckAbi, HostileAnswersAreNotApplicable) {
  using Answer = std::function<EpStatus*(EpContextVerdict*, char*, uint64_t)>;
  const std::pair<Answer, const char*> cases[] = {
      {[](EpContextVerdict* verdict, char*, uint64_t) -> EpStatus* {
         *verdict = 4;
         return nullptr;
       },
       "verdict 4"},
      {[](EpContextVerdict* verdict, char*, uint64_t) -> EpStatus* {
         *verdict = UINT32_MAX;
         return nullptr;
       },
       "verdict 4294967295"},
      {[](EpContextVerdict*, char*, uint64_t) -> EpStatus* { throw std::runtime_error("thrown in CheckContext"); },
       "thrown in CheckContext"},
      {[](EpContextVerdict*, char*, uint64_t) -> EpStatus* { throw 42; }, "let an exception escape"},
      {[](EpContextVerdict* verdict, char*, uint64_t) {
         *verdict = EP_CONTEXT_OPTIMAL;
         return core::HostInfo()->status->Create(9999, "the driver hangs");
       },
       "the driver hangs"},
  };
  for (const auto& hostile : cases) {
    g_hooks.check = [&](const EpContextHeader*, EpContextVerdict* verdict, char* text, uint64_t capacity) {
      return hostile.first(verdict, text, capacity);
    };
    const core::ContextCheck check = Check(plugin_);
    EXPECT_EQ(check.verdict, ContextVerdict::kNotApplicable) << hostile.second;
    EXPECT_THAT(check.reason, AllOf(HasSubstr(hostile.second), HasSubstr("'sharing'")));
  }
}

TEST_F(ContextCheckAbi, AReasonWithoutEndIsCutOffAndGarbageMadeReadable) {
  g_hooks.check = [](const EpContextHeader*, EpContextVerdict* verdict, char* reason, uint64_t capacity) {
    *verdict = EP_CONTEXT_UNSUPPORTED;
    std::memset(reason, 0xFF, capacity);
    return static_cast<EpStatus*>(nullptr);
  };
  const core::ContextCheck check = Check(plugin_);
  EXPECT_EQ(check.verdict, ContextVerdict::kUnsupported);
  EXPECT_LE(check.reason.size(), 4096u);
  EXPECT_EQ(check.reason.find_first_not_of('?'), std::string::npos);
}

TEST_F(ContextCheckAbi, APluginThatChecksNothingSaysSo) {
  plugin_.descriptor().CheckContext = nullptr;
  const core::ContextCheck check = Check(plugin_);
  EXPECT_EQ(check.verdict, ContextVerdict::kNotApplicable);
  EXPECT_THAT(check.reason, HasSubstr("doesn't check contexts"));
  EXPECT_STREQ(ContextVerdictName(check.verdict), "not applicable");
}

}  // namespace
}  // namespace epiphyte::test
