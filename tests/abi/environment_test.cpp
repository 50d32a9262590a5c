// The environment tells a library which manifest the query is for, so that one library can serve several manifests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/abi/host_tables.h"
#include "core/registry/catalog.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() {
    options_.use_environment = false;
    options_.use_user_folder = false;
    options_.use_system_folders = false;
    options_.paths = {folder_.path()};
  }
  void Install(const std::string& name, const std::string& more) {
    folder_.Write(name + ".yaml", "manifest_version: 1\nname: " + name + "\nvendor: tests\nversion: 1.0.0\nlibrary: " +
                                      EPIPHYTE_ABI_PLUGIN_DIR "/bridge_plugin.so\nabi: \"0.2\"\nsources: [" + name +
                                      "Source]\n" + more);
  }

  test::TempDir folder_;
  CatalogOptions options_;
};

TEST_F(EnvironmentTest, OneLibraryIsTheProviderThatEachManifestNames) {
  Install("left", "parameters: {backend: libleft.so.1}\n");
  Install("right", "parameters: {backend: libright.so.2}\n");
  // The second round initializes again what the first has shut down.
  for (int round = 0; round < 2; ++round) {
    Catalog catalog(options_, HostInfo());
    const LoadedPlugin& left = catalog.Load("left");
    const LoadedPlugin& right = catalog.Load("right");
    EXPECT_NE(&left, &right);
    EXPECT_NE(left.plugin, right.plugin);
    EXPECT_THAT(left.sources, ElementsAre("leftSource"));
    EXPECT_THAT(right.sources, ElementsAre("rightSource"));
    ASSERT_EQ(left.devices.size(), 1u);
    EXPECT_EQ(left.devices[0].name, "libleft.so.1");
    EXPECT_EQ(right.devices.at(0).name, "libright.so.2");
  }
}

TEST_F(EnvironmentTest, ALibraryThatHasNothingForAManifestSaysSo) {
  Install("nobody", "");
  Catalog catalog(options_, HostInfo());
  EXPECT_EQ(catalog.TryLoad("nobody"), nullptr);
  const PluginEntry entry = catalog.entries().at(0);
  EXPECT_EQ(entry.state, PluginState::kInitFailed);
  EXPECT_THAT(entry.message, HasSubstr("no plugin for 'nobody', or doesn't support ABI 0.2"));
  EXPECT_THAT(entry.hint, HasSubstr("`parameters`"));
}

}  // namespace
}  // namespace epiphyte::core
