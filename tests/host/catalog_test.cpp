// The catalog as applications see it.
#include <gmock/gmock.h>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "tests/framework/temp_dir.h"

namespace epiphyte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ManifestText(const std::string& name, int priority) {
  return "manifest_version: 1\nname: " + name + "\nvendor: V\nversion: 1.2.3\nlicense: MIT\ndescription: d\n" +
         "library: lib" + name + ".so\nabi: \"0.1\"\nsources: [Src" + name +
         "]\ndevices: [gpu]\npriority: " + std::to_string(priority) + "\noptions: { device: 0 }\n";
}

// Only what a test put there.
Environment Only(const test::TempDir& folder) {
  EnvironmentOptions options;
  options.plugin_folders = {folder.path()};
  options.use_environment_variable = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  return Environment(options);
}

TEST(PluginCatalog, DescribesPluginsFromTheirManifests) {
  test::TempDir folder;
  folder.Write("a.yaml", ManifestText("a", 7));
  folder.Write("liba.so", "");
  std::vector<PluginInfo> plugins = Only(folder).plugins().List();
  ASSERT_EQ(plugins.size(), 1u);
  const PluginInfo& plugin = plugins[0];
  EXPECT_EQ(plugin.name, "a");
  EXPECT_EQ(plugin.vendor, "V");
  EXPECT_EQ(plugin.version, "1.2.3");
  EXPECT_EQ(plugin.license, "MIT");
  EXPECT_EQ(plugin.abi, "0.1");
  EXPECT_EQ(plugin.priority, 7);
  EXPECT_EQ(plugin.state, "Ready");
  EXPECT_TRUE(plugin.usable());
  EXPECT_THAT(plugin.sources, ElementsAre("Srca"));
  EXPECT_THAT(plugin.device_kinds, ElementsAre("gpu"));
  EXPECT_EQ(plugin.options.at("device"), "0");
  EXPECT_EQ(plugin.manifest.filename(), "a.yaml");
  EXPECT_EQ(plugin.library.filename(), "liba.so");
}

TEST(PluginCatalog, ListsHigherPrioritiesFirst) {
  test::TempDir folder;
  for (auto [name, priority] : {std::pair("a", 1), std::pair("b", 3), std::pair("c", 2)}) {
    folder.Write(std::string(name) + ".yaml", ManifestText(name, priority));
    folder.Write("lib" + std::string(name) + ".so", "");
  }
  std::vector<std::string> names;
  for (const PluginInfo& plugin : Only(folder).plugins().List()) names.push_back(plugin.name);
  EXPECT_THAT(names, ElementsAre("b", "c", "a"));
}

TEST(PluginCatalog, ProbingALibraryThatIsNoneGivesAStateAndAHint) {
  test::TempDir folder;
  folder.Write("a.yaml", ManifestText("a", 1));
  folder.Write("liba.so", "not a library");
  PluginCatalog catalog = Only(folder).plugins();
  PluginInfo plugin = catalog.Probe("a");
  EXPECT_FALSE(plugin.usable());
  EXPECT_THAT(plugin.message, Not(IsEmpty()));
  EXPECT_THAT(plugin.message, Not(HasSubstr("\n")));
}

TEST(PluginCatalog, ProbingAnUnknownPluginNamesTheNearest) {
  test::TempDir folder;
  folder.Write("vulkan.yaml", ManifestText("vulkan", 1));
  folder.Write("libvulkan.so", "");
  try {
    Only(folder).plugins().Probe("vulcan");
    FAIL() << "an unknown name was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("vulkan"));
  }
}

TEST(PluginCatalog, OutlivesTheEnvironmentItCameFrom) {
  test::TempDir folder;
  folder.Write("a.yaml", ManifestText("a", 1));
  PluginCatalog catalog = Only(folder).plugins();
  EXPECT_EQ(catalog.List().size(), 1u);
  ASSERT_EQ(catalog.Folders().size(), 1u);
  EXPECT_EQ(catalog.Folders()[0].manifests, 1u);
  EXPECT_EQ(catalog.Folders()[0].origin, "application");
}

TEST(PluginCatalog, BundledCpuPluginWorks) {
  EnvironmentOptions options;
  options.plugin_folders = {EPIPHYTE_PLUGIN_FOLDER};
  options.use_environment_variable = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  PluginInfo plugin = Environment(options).plugins().Probe("cpu");
  EXPECT_EQ(plugin.state, "Loaded") << plugin.message;
  ASSERT_FALSE(plugin.devices.empty());
  EXPECT_EQ(plugin.devices[0].kind, "cpu");
}

}  // namespace
}  // namespace epiphyte
