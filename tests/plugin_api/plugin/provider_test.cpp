// The information about the session that a provider made with the kit gets at construction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/thread_pool.h"
#include "tests/plugin_api/plugin/scripted.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(KitProvider, GetsOptionsDevicesThreadsAndContextFlag) {
  Scripted scripted;
  int made = 0;
  scripted.script.create = [&](const kit::ProviderConfig& config) {
    ++made;
    EXPECT_THAT(config.options, ElementsAre(Pair("mode", "fast"), Pair("tiles", "4")));
    EXPECT_THAT(config.devices, ElementsAre(0));
    EXPECT_TRUE(config.context_enabled);
    EXPECT_EQ(config.share_group, nullptr);
    EXPECT_STREQ(config.plugin_name, "scripted");
    EXPECT_EQ(config.threads().wanted, 3u);
    EXPECT_LE(config.threads().Count(), 3u);
    EXPECT_EQ(config.threads().services, config.host.services);
  };
  core::ThreadPool pool(3);
  core::ProviderConfig config;
  config.options = {{"tiles", "4"}, {"mode", "fast"}};
  config.thread_pool = &pool;
  config.context_enabled = true;
  core::Provider::Create(scripted.plugin(), config);
  EXPECT_EQ(made, 1);
}

TEST(KitProvider, RunsLoopsOnTheSessionsThreads) {
  Scripted scripted;
  std::vector<int> sums(1000);
  scripted.script.create = [&](const kit::ProviderConfig& config) {
    config.threads().ParallelFor(1000, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sums[static_cast<size_t>(i)] = static_cast<int>(i);
    });
    EXPECT_THROW(config.threads().ParallelFor(
                     100, 1, [](int64_t, int64_t) { throw kit::Error(EP_STATUS_FAIL, "a share that fails"); }),
                 kit::Error);
  };
  core::ThreadPool pool(3);
  core::ProviderConfig config;
  config.thread_pool = &pool;
  core::Provider::Create(scripted.plugin(), config);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(sums[static_cast<size_t>(i)], i);
}

// State that the sessions of a share group share.
struct Workspace {
  Workspace() { ++alive; }
  ~Workspace() { --alive; }
  int sessions = 0;
  static inline int alive = 0;
};

TEST(KitProvider, SessionsOfAGroupShareAWorkspaceAsLongAsOneIsLeft) {
  Scripted scripted;
  std::vector<int> sessions;
  std::vector<bool> defers;
  scripted.script.create = [&](const kit::ProviderConfig& config) {
    const kit::ShareGroup<Workspace> share(config.host, config.share_group);
    ASSERT_EQ(static_cast<bool>(share), config.share_group != nullptr);
    if (!share) return;
    EXPECT_EQ(share.membership().name, "llama");
    sessions.push_back(++share->sessions);
    defers.push_back(share.membership().defers_payload());
  };
  auto group = std::make_shared<core::ShareWorkspaces>("llama");
  auto first = scripted.Make({group, true, false});
  auto last = scripted.Make({group, true, true});
  auto alone = scripted.Make();
  group.reset();
  EXPECT_THAT(sessions, ElementsAre(1, 2));
  EXPECT_THAT(defers, ElementsAre(true, false));
  first.reset();
  EXPECT_EQ(Workspace::alive, 1);
  last.reset();
  EXPECT_EQ(Workspace::alive, 0);
}

TEST(KitProvider, AWorkspaceThatCannotBeMadeIsAnErrorOfTheSession) {
  struct Broken {
    Broken() { throw kit::Error(EP_STATUS_OUT_OF_MEMORY, "no room for a workspace"); }
  };
  Scripted scripted;
  scripted.script.create = [](const kit::ProviderConfig& config) {
    kit::ShareGroup<Broken> share(config.host, config.share_group);
  };
  EXPECT_THAT(FailureOf([&] {
                scripted.Make({std::make_shared<core::ShareWorkspaces>("a"), false, false});
              }),
              testing::HasSubstr("no room for a workspace"));
}

}  // namespace
}  // namespace epiphyte::test
