// The catalog as applications see it.
#include <gmock/gmock.h>

#include <filesystem>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/placement.hpp"
#include "tests/framework/crashing_plugin/crashing_plugin.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/small_models.h"

namespace epiphyte {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ManifestText(const std::string& name, int priority) {
  return "manifest_version: 1\nname: " + name + "\nvendor: V\nversion: 1.2.3\nlicense: MIT\ndescription: d\n" +
         "library: lib" + name + ".so\nabi: \"0.2\"\nsources: [Src" + name +
         "]\ndevices: [gpu]\npriority: " + std::to_string(priority) + "\noptions: { device: 0 }\n";
}

// Returns an environment that finds only the plugins in this folder.
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
  EXPECT_EQ(plugin.abi, "0.2");
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

// --- libraries that the application names

// Copies the crashing plugin to a file <name>.so. The plugin reports the name of its file as its own.
std::filesystem::path Library(const test::TempDir& folder, const std::string& name) {
  const std::filesystem::path path = folder / (name + ".so");
  std::filesystem::copy_file(EPIPHYTE_CRASHING_PLUGIN, path, std::filesystem::copy_options::overwrite_existing);
  return path;
}

// Adding the library must fail with a message of one line and change nothing. Returns the message.
std::string Refused(PluginCatalog catalog, const std::filesystem::path& library, const PluginLibrary& expected = {},
                    StatusCode code = StatusCode::kEpFail) {
  const size_t before = catalog.List().size();
  try {
    catalog.Add(library, expected);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    EXPECT_EQ(catalog.List().size(), before);
    return error.what();
  }
  return "accepted";
}

TEST(PluginCatalog, ALibraryIsAddedByItsPath) {
  test::TempDir nothing;
  test::TempDir folder;
  const Environment environment = Only(nothing);
  const PluginInfo added = environment.plugins().Add(
      Library(folder, "fine_one"), {.name = "fine_one", .priority = 300, .options = {{"speed", "11"}}});
  EXPECT_EQ(added.name, "fine_one");
  EXPECT_EQ(added.state, "Loaded");
  EXPECT_EQ(added.vendor, "tests");
  EXPECT_EQ(added.version, "1.0.0");
  EXPECT_EQ(added.priority, 300);
  EXPECT_EQ(added.options.at("speed"), "11");
  EXPECT_THAT(added.sources, ElementsAre("fine_one"));
  EXPECT_EQ(added.library, std::filesystem::canonical(folder / "fine_one.so"));
  EXPECT_TRUE(added.manifest.empty());
  ASSERT_EQ(added.devices.size(), 1u);
  environment.plugins().Add(Library(folder, "fine_two"), {.priority = 301});
  std::vector<std::string> names;
  for (const PluginInfo& plugin : environment.plugins().List()) names.push_back(plugin.name);
  EXPECT_THAT(names, ElementsAre("fine_two", "fine_one"));
  // An added plugin claims nodes like any other: here Add.
  const auto model = folder.Write("model.onnx", test::AddModel());
  const Placement placement = Placement::Of(environment, model, SessionOptions().AddProvider("fine_one"));
  EXPECT_THAT(placement.providers(), ElementsAre("fine_one"));
}

TEST(PluginCatalog, WhatIsAddedComesBeforeWhatIsFoundAndOnce) {
  test::TempDir found;
  test::TempDir folder;
  test::InstallCrashingPlugin(found.path(), "fine_one");
  const Environment environment = Only(found);
  const auto library = Library(folder, "fine_one");
  environment.plugins().Add(library);
  std::vector<std::string> states;
  for (const PluginInfo& plugin : environment.plugins().List()) states.push_back(plugin.state);
  EXPECT_THAT(states, ::testing::UnorderedElementsAre("Loaded", "Shadowed"));
  EXPECT_THAT(Refused(environment.plugins(), library, {}, StatusCode::kInvalidArgument), HasSubstr("each once"));
  // Another library with this name is refused while the first is in use.
  EXPECT_THAT(Refused(environment.plugins(), found / "fine_one.so", {}, StatusCode::kInvalidArgument),
              HasSubstr("'fine_one'"));
}

TEST(PluginCatalog, LibrariesThatAreNoGoodAreRefusedWithOneMessage) {
  test::TempDir nothing;
  test::TempDir folder;
  const PluginCatalog catalog = Only(nothing).plugins();
  const auto fine = Library(folder, "fine_one");  // copied once: an open library stays mapped
  EXPECT_THAT(Refused(catalog, folder / "absent.so"), HasSubstr("LibraryMissing"));
  EXPECT_THAT(Refused(catalog, folder.path()), HasSubstr("no regular file"));
  EXPECT_THAT(Refused(catalog, folder.Write("text.so", "not a library")), HasSubstr("not a shared library"));
  EXPECT_THAT(Refused(catalog, fine, {.name = "other"}), HasSubstr("'other' was asked for"));
  EXPECT_THAT(Refused(catalog, fine, {.name = "no name"}, StatusCode::kInvalidArgument), HasSubstr("no plugin's name"));
  EXPECT_THAT(Refused(catalog, fine, {.sha256 = "12"}, StatusCode::kInvalidArgument), HasSubstr("no SHA-256"));
}

// These libraries would end the process if they were opened or initialized.
TEST(PluginCatalog, ALibraryIsNotOpenedAgainstItsDigestNorInitializedAgainstThePolicy) {
  test::TempDir nothing;
  test::TempDir folder;
  EXPECT_THAT(Refused(Only(nothing).plugins(), Library(folder, "abort_open"), {.sha256 = std::string(64, '0')}),
              HasSubstr("DigestMismatch"));
  EnvironmentOptions options;
  options.plugin_folders = {nothing.path()};
  options.use_environment_variable = options.use_user_folder = options.use_system_folders = false;
  options.policy_file = folder.Write("epiphyte.yaml",
                                     "policy_version: 1\ndeny: [abort_initialize]\n"
                                     "providers: { abort_devices: { enabled: false }, fine_one: { priority: 7 } }\n");
  const Environment environment(options);
  EXPECT_THAT(Refused(environment.plugins(), Library(folder, "abort_initialize")), HasSubstr("Denied"));
  EXPECT_THAT(Refused(environment.plugins(), Library(folder, "abort_devices")), HasSubstr("Disabled"));
  EXPECT_EQ(environment.plugins().Add(Library(folder, "fine_one"), {.priority = 1}).priority, 7);
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
  ASSERT_EQ(plugin.declared_options.size(), 1u);
  EXPECT_EQ(plugin.declared_options[0].name, "precision");
  EXPECT_EQ(plugin.declared_options[0].type, "choice");
  EXPECT_EQ(plugin.declared_options[0].default_value, "f32");
}

}  // namespace
}  // namespace epiphyte
