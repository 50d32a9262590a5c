// Layers of policy: the system's rules, which nothing overrides, the system's defaults, the user's file, and the run's
// own settings.
#include "core/registry/policy_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/registry/catalog.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"
#include "tests/registry/fake_plugin.h"
#include "tests/registry/manifest_text.h"
#include "tests/registry/scoped_variable.h"

namespace epiphyte::core {
namespace {

namespace fs = std::filesystem;
using test::ErrorOf;
using test::ScopedVariable;
using testing::_;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

// A fixture with plugins `acme` and `zeta`, and a folder of the test in place of /etc/epiphyte.
class PolicyLayersTest : public testing::Test {
 protected:
  PolicyLayersTest() : root_(fs::canonical(folder_.path())) {
    options_.use_environment = false;
    options_.use_user_folder = false;
    options_.use_system_folders = true;
    options_.system_folder = root_ / "etc";
    options_.paths = {root_ / "p"};
    folder_.Write("p/lib.so", "never opened");
    folder_.Write("p/acme.yaml", test::ManifestText("acme", "lib.so", "options: {device: 0, mode: fast}\npriority: 1"));
    folder_.Write("p/zeta.yaml", test::ManifestText("zeta", "lib.so"));
  }
  void System(std::string_view text) { folder_.Write("etc/epiphyte.yaml", "policy_version: 1\n" + std::string(text)); }
  void User(std::string_view text) {
    folder_.Write("config/epiphyte/epiphyte.yaml", "policy_version: 1\n" + std::string(text));
    options_.use_user_folder = true;
  }
  PluginEntry Entry(std::string_view name) {
    for (PluginEntry& entry : Catalog(options_, &test::FakeHost()).entries()) {
      if (entry.manifest.name == name) return std::move(entry);
    }
    ADD_FAILURE() << name << " is not listed";
    return {};
  }
  PolicyReport Report() { return Catalog(options_, &test::FakeHost()).policy(); }
  // Returns the settings for `acme` as lines "option=value place", with "pinned" or "overridden" appended if they are.
  std::vector<std::string> Settings() {
    std::vector<std::string> lines;
    for (const PolicySetting& setting : Report().settings) {
      if (setting.provider != "acme" || setting.kind != PolicySetting::Kind::kOption) continue;
      lines.push_back(fmt::format("{}={} {}{}{}", setting.option, setting.value,
                                  fs::path(setting.place).lexically_relative(root_).string(),
                                  setting.pinned ? " pinned" : "", setting.in_effect() ? "" : " overridden"));
    }
    return lines;
  }

  test::TempDir folder_;
  fs::path root_;
  CatalogOptions options_;
  ScopedVariable config_{"XDG_CONFIG_HOME", (root_ / "config").string()};
  ScopedVariable data_{"XDG_DATA_HOME", (root_ / "data").string()};
};

TEST_F(PolicyLayersTest, AUsersFileLiftsNothingThatTheSystemDenies) {
  System("deny: [acme]\n");
  for (const char* attempt :
       {"providers: {acme: {enabled: true, priority: 7}}\n", "allow: [acme, zeta]\n", "deny: []\n"}) {
    User(attempt);
    const PluginEntry acme = Entry("acme");
    EXPECT_EQ(acme.state, PluginState::kDenied) << attempt;
    EXPECT_EQ(acme.message, fmt::format("'acme' is in the deny list of {}", (root_ / "etc/epiphyte.yaml").string()));
    EXPECT_EQ(acme.hint, "the administrator of this machine can change that file");
    EXPECT_EQ(Entry("zeta").state, PluginState::kReady);
  }
}

TEST_F(PolicyLayersTest, ApplicationAndEnvironmentLiftNothingThatTheSystemDenies) {
  System("deny: [acme]\n");
  const std::string mine = folder_.Write("mine.yaml", "policy_version: 1\n").string();
  options_.policy_file = mine;
  options_.use_system_folders = false;
  EXPECT_EQ(Entry("acme").state, PluginState::kDenied);
  options_.policy_file = "";
  options_.use_environment = true;
  const ScopedVariable policy("EPIPHYTE_POLICY", mine);
  EXPECT_EQ(Entry("acme").state, PluginState::kDenied);
}

TEST_F(PolicyLayersTest, AUsersFileCanDenyMore) {
  System("deny: [acme]\n");
  User("deny: [zeta]\n");
  EXPECT_EQ(Entry("acme").state, PluginState::kDenied);
  EXPECT_EQ(Entry("zeta").state, PluginState::kDenied);
  EXPECT_THAT(Entry("zeta").hint, AllOf(HasSubstr("config/epiphyte/epiphyte.yaml"), StartsWith("change ")));
}

TEST_F(PolicyLayersTest, AProviderMustBeInTheAllowListOfEachLayer) {
  System("allow: [acme]\n");
  User("allow: [acme, zeta]\n");
  EXPECT_EQ(Entry("acme").state, PluginState::kReady);
  EXPECT_EQ(Entry("zeta").state, PluginState::kDenied);
  User("allow: [zeta]\n");
  EXPECT_EQ(Entry("acme").state, PluginState::kDenied);
}

TEST_F(PolicyLayersTest, TheUsersSettingsComeOverTheSystemsKeyByKey) {
  System("providers: {acme: {priority: 5, enabled: false, options: {mode: slow, tiles: 4}}}\n");
  EXPECT_EQ(Entry("acme").state, PluginState::kDisabled);
  User("providers: {acme: {enabled: true, options: {mode: odd}}}\n");
  const PluginEntry acme = Entry("acme");
  EXPECT_EQ(acme.state, PluginState::kReady);
  EXPECT_EQ(acme.priority, 5);
  EXPECT_THAT(acme.options, ElementsAre(Pair("device", "0"), Pair("mode", "odd"), Pair("tiles", "4")));
  EXPECT_THAT(acme.option_files, ElementsAre(Pair("mode", root_ / "config/epiphyte/epiphyte.yaml"),
                                             Pair("tiles", root_ / "etc/epiphyte.yaml")));
}

TEST_F(PolicyLayersTest, WhatTheSystemPinsNeitherUserNorSessionChanges) {
  System("providers: {acme: {pinned: {mode: safe}}}\n");
  User("providers: {acme: {options: {mode: odd, tiles: 2}}}\n");
  const PluginEntry acme = Entry("acme");
  EXPECT_THAT(acme.options, ElementsAre(Pair("device", "0"), Pair("mode", "safe"), Pair("tiles", "2")));
  std::map<std::string, std::string> session = {{"tiles", "8"}, {"mode", "safe"}};
  AddEntryOptions(acme, &session);
  EXPECT_THAT(session, ElementsAre(Pair("device", "0"), Pair("mode", "safe"), Pair("tiles", "8")));
  session["mode"] = "odd";
  EXPECT_EQ(
      ErrorOf(StatusCode::kInvalidArgument, [&] { AddEntryOptions(acme, &session); }),
      fmt::format("provider 'acme': option 'mode' is 'odd'; the policy file '{}' pins it to 'safe': leave it out of "
                  "the session's options",
                  (root_ / "etc/epiphyte.yaml").string()));
}

TEST_F(PolicyLayersTest, AUserMayPinWhatTheSystemDoesNot) {
  System("providers: {acme: {pinned: {mode: safe}}}\n");
  User("providers: {acme: {pinned: {mode: odd, device: 1}}}\n");
  EXPECT_THAT(Entry("acme").options, ElementsAre(Pair("device", "1"), Pair("mode", "safe")));
  EXPECT_THAT(Entry("acme").pinned, ElementsAre("device", "mode"));
  EXPECT_THAT(Report().notes, Contains(AllOf(HasSubstr("option 'mode' of 'acme' has no effect"), HasSubstr("'safe'"))));
}

TEST_F(PolicyLayersTest, AnApplicationWithoutTheSystemsFoldersHasItsRulesButNotItsDefaults) {
  System("providers: {acme: {priority: 5, options: {tiles: 4}, pinned: {mode: safe}}}\n");
  options_.use_system_folders = false;
  EXPECT_EQ(Entry("acme").priority, 1);
  EXPECT_THAT(Entry("acme").options, ElementsAre(Pair("device", "0"), Pair("mode", "safe")));
}

TEST_F(PolicyLayersTest, EachSettingSaysWhichFileMadeItAndWhatTookItsPlace) {
  System("providers:\n  acme:\n    pinned: {device: 3}\n    options: {mode: slow}\n");
  User("providers:\n  acme: {options: {device: 1, mode: odd}}\n");
  EXPECT_THAT(Settings(),
              ElementsAre("device=0 p/acme.yaml overridden", "mode=fast p/acme.yaml overridden",
                          "mode=slow etc/epiphyte.yaml:5:21 overridden", "device=3 etc/epiphyte.yaml:4:22 pinned",
                          "device=1 config/epiphyte/epiphyte.yaml:3:28 overridden",
                          "mode=odd config/epiphyte/epiphyte.yaml:3:37"));
}

TEST_F(PolicyLayersTest, TheSystemsFileIsListedWhetherItExistsOrNot) {
  options_.use_user_folder = true;
  PolicyReport report = Report();
  ASSERT_EQ(report.files.size(), 2u);
  EXPECT_EQ(report.files[0].path, root_ / "etc/epiphyte.yaml");
  EXPECT_EQ(report.files[0].origin, "system");
  EXPECT_FALSE(report.files[0].exists);
  EXPECT_EQ(report.files[1].origin, "user");
  EXPECT_FALSE(report.files[1].exists);
  System("");
  EXPECT_TRUE(Report().files[0].exists);
}

TEST_F(PolicyLayersTest, ANameThatNoManifestHasIsReportedWhereverItIs) {
  System("deny: [acm]\nallow: [acme, zeta, zetta]\nproviders: {acmee: {priority: 1}}\n");
  EXPECT_THAT(Report().notes,
              testing::IsSupersetOf(
                  {HasSubstr("etc/epiphyte.yaml:2:8: no plugin named 'acm' is installed; did you mean 'acme'?"),
                   HasSubstr("no plugin named 'zetta' is installed; did you mean 'zeta'?"),
                   HasSubstr("no plugin named 'acmee' is installed; did you mean 'acme'?")}));
  System("deny: [something]\n");
  EXPECT_THAT(Report().notes, Contains(EndsWith("epiphyte.yaml:2:8: no plugin named 'something' is installed")));
}

TEST_F(PolicyLayersTest, UserRulesOverriddenByTheSystemAreReported) {
  System("deny: [acme]\n");
  User("providers: {acme: {enabled: true}}\n");
  EXPECT_THAT(Report().notes, Contains(AllOf(HasSubstr("enabling 'acme' has no effect"), HasSubstr("deny list of"))));
}

TEST_F(PolicyLayersTest, AFileThatOthersCouldChangeIsNotedAndRefusedWithRaisedPrivileges) {
  System("deny: [acme]\n");
  fs::permissions(root_ / "etc/epiphyte.yaml", fs::perms{0666});
  EXPECT_THAT(Report().notes,
              Contains(AllOf(HasSubstr("others could change this policy"), HasSubstr("epiphyte.yaml"))));
  options_.elevated = true;
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { Report(); }),
              AllOf(HasSubstr("etc/epiphyte.yaml"), HasSubstr("raised privileges")));
}

TEST_F(PolicyLayersTest, AVariableNamesThePolicyFileOfOneRun) {
  options_.use_environment = true;
  User("deny: [acme]\n");
  const fs::path file = folder_.Write("run.yaml", "policy_version: 1\ndeny: [zeta]\n");
  const ScopedVariable variable("EPIPHYTE_POLICY", file.string());
  EXPECT_EQ(Entry("acme").state, PluginState::kReady);
  EXPECT_EQ(Entry("zeta").state, PluginState::kDenied);
  options_.policy_file = folder_.Write("application.yaml", "policy_version: 1\n");
  EXPECT_EQ(Entry("zeta").state, PluginState::kReady) << "what the application names comes first";
  options_.policy_file = "";
  options_.use_environment = false;
  EXPECT_EQ(Entry("acme").state, PluginState::kDenied);
}

TEST_F(PolicyLayersTest, APolicyFileThatIsNamedMustExist) {
  options_.use_environment = true;
  const ScopedVariable variable("EPIPHYTE_POLICY", (root_ / "absent.yaml").string());
  EXPECT_THAT(ErrorOf(StatusCode::kNoSuchFile, [&] { Entry("acme"); }),
              AllOf(HasSubstr("absent.yaml"), HasSubstr("EPIPHYTE_POLICY")));
  options_.policy_file = root_ / "gone.yaml";
  EXPECT_THAT(ErrorOf(StatusCode::kNoSuchFile, [&] { Entry("acme"); }), HasSubstr("gone.yaml"));
}

TEST_F(PolicyLayersTest, AVariableDisablesPluginsForOneRun) {
  options_.use_environment = true;
  User("providers: {acme: {enabled: true}}\n");
  {
    const ScopedVariable variable("EPIPHYTE_DISABLE", "acme,zetta");
    EXPECT_EQ(Entry("acme").state, PluginState::kDisabled);
    EXPECT_EQ(Entry("acme").message, "disabled for this run by EPIPHYTE_DISABLE");
    EXPECT_EQ(Entry("zeta").state, PluginState::kReady);
    EXPECT_THAT(Report().notes,
                Contains("EPIPHYTE_DISABLE: no plugin named 'zetta' is installed; did you mean 'zeta'?"));
  }
  {
    const ScopedVariable variable("EPIPHYTE_DISABLE", "acme, zeta");
    EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { Entry("acme"); }),
                AllOf(HasSubstr("EPIPHYTE_DISABLE"), HasSubstr("' zeta'")));
  }
  options_.disabled = {"zeta"};
  EXPECT_EQ(Entry("zeta").message, "disabled for this run by the application");
  EXPECT_EQ(Entry("acme").state, PluginState::kReady);
}

TEST_F(PolicyLayersTest, WithRaisedPrivilegesVariablesAndTheUsersFilesDoNotCount) {
  options_.use_environment = true;
  User("deny: [acme]\n");
  const ScopedVariable disable("EPIPHYTE_DISABLE", "zeta");
  const ScopedVariable policy("EPIPHYTE_POLICY", (root_ / "absent.yaml").string());
  options_.elevated = true;
  ASSERT_EQ(Report().files.size(), 1u);
  EXPECT_EQ(Entry("acme").message.find("deny list"), std::string::npos);
  EXPECT_EQ(Entry("zeta").message.find("EPIPHYTE_DISABLE"), std::string::npos);
}

TEST_F(PolicyLayersTest, APolicyThatCanNotBeLookedAtIsAnErrorAndNoMissingFile) {
  folder_.Write("file", "");
  options_.system_folder = root_ / "file/below";
  EXPECT_FALSE(Report().files[0].exists) << "a folder that is a file has nothing in it";
  fs::create_symlink(root_ / "loop", root_ / "loop");
  options_.system_folder = root_ / "loop";
  EXPECT_THAT(ErrorOf(StatusCode::kFail, [&] { Report(); }),
              AllOf(HasSubstr("loop"), HasSubstr("can't be found or read")));
}

TEST_F(PolicyLayersTest, ASystemPolicyThatIsALinkToNothingIsAnError) {
  fs::create_directory(root_ / "etc");
  fs::create_symlink(root_ / "gone.yaml", root_ / "etc/epiphyte.yaml");
  options_.system_folder = root_ / "etc";
  EXPECT_THAT(ErrorOf(StatusCode::kFail, [&] { Report(); }),
              AllOf(HasSubstr("is a link to"), HasSubstr("gone.yaml"), HasSubstr("does not exist")));
}

TEST_F(PolicyLayersTest, AGitLfsPointerIsNamedAsSuch) {
  options_.policy_file = folder_.Write("p.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidGraph, [&] { Report(); }),
              AllOf(HasSubstr("policy file"), HasSubstr("git lfs pull")));
}

TEST_F(PolicyLayersTest, AHomeThatCanNotBeLookedAtHasNoPolicy) {
  options_.use_user_folder = true;
  fs::create_symlink(root_ / "config", root_ / "config");
  ASSERT_EQ(Report().files.size(), 2u);
  EXPECT_FALSE(Report().files[1].exists);
}

TEST_F(PolicyLayersTest, ABadSystemPolicyStopsEveryCatalog) {
  System("denny: [acme]\n");
  options_.use_system_folders = false;
  EXPECT_THAT(ErrorOf(StatusCode::kInvalidArgument, [&] { Report(); }),
              AllOf(HasSubstr("etc/epiphyte.yaml:2:"), HasSubstr("did you mean 'deny'?")));
}

}  // namespace
}  // namespace epiphyte::core
