// Policy on the command line: an administrator's rules, how users see them, and a run's own settings.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

// A fixture with the bundled plugins, a user's folders, and a replacement for /etc/epiphyte.
class PolicyOnTheCommandLine : public ::testing::Test {
 protected:
  PolicyOnTheCommandLine() { folder_.Write("model.onnx", AddModel()); }

  void System(const std::string& text) { folder_.Write("etc/epiphyte.yaml", "policy_version: 1\n" + text); }
  void User(const std::string& text) { folder_.Write("config/epiphyte/epiphyte.yaml", "policy_version: 1\n" + text); }
  ProgramResult Run(const std::vector<std::string>& arguments, std::map<std::string, std::string> more = {}) {
    more.insert({{"EPIPHYTE_PLUGIN_PATH", EPIPHYTE_PLUGIN_FOLDER},
                 {"XDG_CONFIG_HOME", (folder_ / "config").string()},
                 {"LD_PRELOAD", EPIPHYTE_TEST_SYSTEM_FOLDER_LIBRARY},
                 {"EPIPHYTE_TEST_SYSTEM_FOLDER", (folder_ / "etc").string()}});
    return RunEpiphyte(arguments, folder_.path(), more);
  }
  // Returns state and message of a plugin, as `epiphyte plugins` lists it.
  std::string State(const std::string& name, const std::vector<std::string>& flags = {},
                    const std::map<std::string, std::string>& environment = {}) {
    std::vector<std::string> words = {"plugins", "--json"};
    words.insert(words.end(), flags.begin(), flags.end());
    const ProgramResult result = Run(words, environment);
    const Json report = Json::parse(result.out, nullptr, false);
    if (report.is_discarded()) return result.out + result.err;
    for (const Json& plugin : report["plugins"]) {
      if (plugin["name"] == name)
        return plugin["state"].get<std::string>() + ": " + plugin["message"].get<std::string>();
    }
    return "not listed";
  }

  TempDir folder_;
};

TEST_F(PolicyOnTheCommandLine, AnAdministratorDeniesAPluginForEachUserAndEachWayOfAsking) {
  System("deny: [cpu]\n");
  User("providers: {cpu: {enabled: true}}\nallow: [cpu, npu, vulkan]\n");
  folder_.Write("mine.yaml", "policy_version: 1\n");
  const std::vector<std::vector<std::string>> kAttempts = {
      {"run", "model.onnx", "--ep", "cpu"}, {"run", "model.onnx", "--ep", "cpu", "--policy", "mine.yaml"}};
  for (const std::vector<std::string>& attempt : kAttempts) {
    const ProgramResult result = Run(attempt);
    EXPECT_EQ(result.code, 1) << result.out;
    EXPECT_THAT(result.err, AllOf(HasSubstr("Denied: 'cpu' is in the deny list of /etc/epiphyte/epiphyte.yaml"),
                                  HasSubstr("the administrator of this machine can change that file")));
  }
  const ProgramResult variable =
      Run({"run", "model.onnx", "--ep", "cpu"}, {{"EPIPHYTE_POLICY", (folder_ / "mine.yaml").string()}});
  EXPECT_EQ(variable.code, 1);
  EXPECT_THAT(variable.err, HasSubstr("Denied"));
  EXPECT_THAT(Run({"run", "model.onnx"}).err, HasSubstr("deny list of /etc/epiphyte/epiphyte.yaml"));
}

TEST_F(PolicyOnTheCommandLine, APinnedOptionEndsASessionThatChangesIt) {
  System("providers: {cpu: {pinned: {precision: f32}}}\n");
  const ProgramResult refused = Run({"run", "model.onnx", "--ep", "cpu", "--ep-option", "cpu.precision=bf16"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("option 'precision' is 'bf16'; the policy file '/etc/epiphyte/epiphyte.yaml' pins "
                                     "it to 'f32'"));
  EXPECT_EQ(Run({"run", "model.onnx", "--ep", "cpu", "--ep-option", "cpu.precision=f32"}).code, 0);
  EXPECT_EQ(Run({"run", "model.onnx", "--ep", "cpu"}).code, 0);
}

TEST_F(PolicyOnTheCommandLine, ShowNamesTheFileThatSetEachRule) {
  System("providers: {cpu: {priority: 5, pinned: {precision: f32}}}\ndeny: [npu]\n");
  User("providers:\n  cpu: {priority: 7, options: {precision: bf16}}\n");
  const ProgramResult text = Run({"policy", "show"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("system +/etc/epiphyte/epiphyte.yaml\n"));
  EXPECT_THAT(text.out, ContainsRegex("cpu +priority +7 +[^ ]*config/epiphyte/epiphyte.yaml:3:19\n"));
  EXPECT_THAT(text.out,
              ContainsRegex("cpu +priority +5 +/etc/epiphyte/epiphyte.yaml:2:29 +overridden by [^ ]*:3:19\n"));
  EXPECT_THAT(text.out, ContainsRegex("cpu +pinned precision +f32 +/etc/epiphyte/epiphyte.yaml:2:52\n"));
  EXPECT_THAT(text.out, ContainsRegex("npu +denied +true +/etc/epiphyte/epiphyte.yaml:3:8\n"));
  const Json json = Json::parse(Run({"policy", "show", "--json"}).out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["files"][0]["path"], "/etc/epiphyte/epiphyte.yaml");
  EXPECT_EQ(json["files"][1]["origin"], "user");
  EXPECT_FALSE(json["settings"].empty());
}

TEST_F(PolicyOnTheCommandLine, ShowSaysWhichFilesWouldBeRead) {
  const ProgramResult result = Run({"policy", "show"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("system +/etc/epiphyte/epiphyte.yaml +no such file\n"));
  EXPECT_THAT(result.out, ContainsRegex("user +[^ ]*config/epiphyte/epiphyte.yaml +no such file\n"));
}

TEST_F(PolicyOnTheCommandLine, CheckFindsNamesThatNoPluginHas) {
  System("deny: [vulcan]\n");
  const ProgramResult found = Run({"policy", "check"});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out,
              HasSubstr("/etc/epiphyte/epiphyte.yaml:2:8: no plugin named 'vulcan' is installed; did you mean "
                        "'vulkan'?"));
  EXPECT_THAT(found.err, HasSubstr("1 finding about the policy files"));
  EXPECT_THAT(Run({"plugins"}).out, HasSubstr("policy: /etc/epiphyte/epiphyte.yaml:2:8: no plugin named 'vulcan'"));
  EXPECT_THAT(Run({"run", "model.onnx", "--ep", "cpu"}).err, HasSubstr("did you mean 'vulkan'?")) << "a run warns, too";
  System("deny: [vulkan]\n");
  const ProgramResult fine = Run({"policy", "check"});
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_THAT(fine.out, HasSubstr("nothing is wrong with what they say"));
}

TEST_F(PolicyOnTheCommandLine, CheckTriesAFileBeforeItIsPutIntoItsPlace) {
  folder_.Write("new.yaml", "policy_version: 1\nproviders: {cpu: {options: {precision: bf61}}}\n");
  const ProgramResult wrong = Run({"policy", "check", "new.yaml"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("option 'precision' of the policy file 'new.yaml' is 'bf61'"),
                               HasSubstr("did you mean 'bf16'?")));
  folder_.Write("new.yaml", "policy_version: 1\ndenny: [cpu]\n");
  const ProgramResult bad = Run({"policy", "check", "new.yaml"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("new.yaml:2:8: unknown key 'denny' found"));
  EXPECT_THAT(Run({"policy", "check", "absent.yaml"}).err, HasSubstr("'absent.yaml' does not exist"));
  folder_.Write("new.yaml", "policy_version: 1\nproviders: {cpu: {options: {precision: bf16}}}\n");
  EXPECT_EQ(Run({"policy", "check", "new.yaml"}).code, 0);
}

TEST_F(PolicyOnTheCommandLine, APluginIsLeftOutOfOneRunByFlagOrVariable) {
  EXPECT_EQ(State("npu"), "Ready: ");
  EXPECT_EQ(State("npu", {"--disable", "npu"}), "Disabled: disabled for this run by the application");
  EXPECT_EQ(State("npu", {"--disable", "vulkan,npu"}), "Disabled: disabled for this run by the application");
  EXPECT_EQ(State("npu", {}, {{"EPIPHYTE_DISABLE", "npu"}}), "Disabled: disabled for this run by EPIPHYTE_DISABLE");
  const ProgramResult run = Run({"run", "model.onnx", "--ep", "cpu", "--disable", "cpu"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("Disabled"));
  EXPECT_THAT(Run({"plugins", "--disable", "npuu"}).out, HasSubstr("did you mean 'npu'?"));
}

TEST_F(PolicyOnTheCommandLine, DoctorProbesUnderThePolicyOfTheRun) {
  folder_.Write("run.yaml", "policy_version: 1\nallow: [cpu]\n");
  const ProgramResult result = Run({"doctor", "--json", "--policy", "run.yaml"});
  const Json report = Json::parse(result.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << result.out << result.err;
  for (const Json& plugin : report["plugins"]) {
    EXPECT_EQ(plugin["state"], plugin["name"] == "cpu" ? "Loaded" : "Denied") << plugin["name"];
  }
}

}  // namespace
}  // namespace epiphyte::test
