// epiphyte doctor and plugins that end or block the process in which they are opened. Each becomes a finding with its
// place and its end, and the other plugins are listed as usual.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "host/cli/text.h"
#include "tests/framework/crashing_plugin/crashing_plugin.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

struct Case {
  const char* plugin;
  const char* step;
  const char* end;
  const char* message;
};
constexpr Case kCases[] = {
    {"abort_open", "opening the library", "SIGABRT", "crashed with SIGABRT while the host was opening the library"},
    {"starve_open", "opening the library", "SIGABRT", "found no memory while the host was opening the library"},
// ThreadSanitizer ends a process with its own exit code when the process exits while a library is opened.
#if !defined(__SANITIZE_THREAD__)
    {"exit_open", "opening the library", "exit code 3", "ended the process with exit code 3"},
#endif
    {"segfault_query", "calling EpPluginQuery", "SIGSEGV", "crashed with SIGSEGV while the host was calling"},
    {"exit_query", "calling EpPluginQuery", "exit code 1", "in EpPluginQuery, with code 0"},
    {"quit_devices", "calling GetDevices", "exit code 1", "in GetDevices, with code 0"},
    {"abort_initialize", "calling Initialize", "SIGABRT", "crashed with SIGABRT"},
    {"segfault_devices", "calling GetDevices", "SIGSEGV", "while the host was calling GetDevices"},
    {"hang_devices", "calling GetDevices", "timeout",
     "did not answer within 5 s while the host was calling GetDevices"},
    {"hang_open", "opening the library", "timeout", "did not answer within 5 s while the host was opening"},
    {"abort_shutdown", "calling Shutdown", "SIGABRT", "crashed with SIGABRT while the host was calling Shutdown"},
};

class Doctor : public ::testing::Test {
 protected:
  ProgramResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"doctor", "--timeout", "5"});
    return RunEpiphyte(arguments, folder_.path(),
                       {{"EPIPHYTE_PLUGIN_PATH", folder_.path().string() + ":" + EPIPHYTE_PLUGIN_FOLDER}});
  }
  static const Json& Find(const Json& report, const std::string& name) {
    static const Json nothing;
    for (const Json& plugin : report["plugins"]) {
      if (plugin["name"] == name) return plugin;
    }
    ADD_FAILURE() << name << " is not listed";
    return nothing;
  }

  TempDir folder_;
};

TEST_F(Doctor, ProbesTheNextPluginWithTheSameNameToo) {
  folder_.Write("nolib.so", "not a library");
  folder_.Write("cpu.yaml", "manifest_version: 1\nname: cpu\nvendor: V\nversion: 1\nlibrary: nolib.so\nabi: \"0.2\"\n");
  const ProgramResult result = Run({"--json"});
  EXPECT_EQ(result.code, 1);
  std::vector<std::string> states;
  const Json report = Json::parse(result.out);
  for (const Json& plugin : report["plugins"]) {
    if (plugin["name"] == "cpu") states.push_back(plugin["state"]);
  }
  EXPECT_THAT(states, ::testing::UnorderedElementsAre("InitFailed", "Loaded"));
  folder_.Write("model.onnx", AddModel());
  const ProgramResult run =
      RunEpiphyte({"run", "model.onnx"}, folder_.path(), {{"EPIPHYTE_PLUGIN_PATH", folder_.path().string()}});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("is used in place of the one of '"));
  EXPECT_THAT(run.err, HasSubstr("can't be used: InitFailed: "));
}

TEST_F(Doctor, SaysWhichPluginEndedItsProcessAndWhere) {
  for (const Case& expected : kCases) InstallCrashingPlugin(folder_.path(), expected.plugin);
  InstallCrashingPlugin(folder_.path(), "fine_devices");
  const ProgramResult result = Run({"--json"});
  EXPECT_EQ(result.code, 1) << result.err;
  const Json report = Json::parse(result.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << result.out;
  for (const Case& expected : kCases) {
    const Json& plugin = Find(report, expected.plugin);
    EXPECT_EQ(plugin["state"], "InitFailed") << expected.plugin;
    EXPECT_EQ(plugin["probe"]["step"], expected.step) << expected.plugin;
    EXPECT_EQ(plugin["probe"]["end"], expected.end) << expected.plugin;
    EXPECT_THAT(plugin["message"].get<std::string>(), HasSubstr(expected.message));
    EXPECT_THAT(plugin["hint"].get<std::string>(), Not(IsEmpty()));
    EXPECT_THAT(result.err, HasSubstr(std::string(expected.plugin) + " (InitFailed)"));
  }
  // The misbehaving plugins do not affect the report on the others.
  for (const char* name : {"fine_devices", "cpu"}) {
    EXPECT_EQ(Find(report, name)["state"], "Loaded") << Find(report, name)["message"];
    EXPECT_FALSE(Find(report, name).contains("probe"));
    EXPECT_FALSE(Find(report, name)["found_devices"].empty());
  }
}

TEST_F(Doctor, APluginThatDamagesTheReportIsAFindingAndTheOthersAreListed) {
  for (const char* name : {"garble_shutdown", "flood_devices", "close_devices", "fine_devices"}) {
    InstallCrashingPlugin(folder_.path(), name);
  }
  const ProgramResult result = Run({"--json"});
  EXPECT_EQ(result.code, 1) << result.err;
  const Json report = Json::parse(result.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << result.out << result.err;
  for (const char* name : {"garble_shutdown", "flood_devices"}) {
    const Json& plugin = Find(report, name);
    EXPECT_EQ(plugin["state"], "InitFailed") << name;
    EXPECT_EQ(plugin["probe"]["end"], "damaged report") << name;
    EXPECT_THAT(plugin["message"].get<std::string>(), HasSubstr("it wrote to descriptor 3")) << name;
    EXPECT_THAT(plugin["hint"].get<std::string>(), HasSubstr("report this to the plugin's vendor")) << name;
  }
  EXPECT_EQ(Find(report, "close_devices")["state"], "InitFailed");
  EXPECT_THAT(Find(report, "close_devices")["message"].get<std::string>(), HasSubstr("the report can't be written"));
  for (const char* name : {"fine_devices", "cpu"}) EXPECT_EQ(Find(report, name)["state"], "Loaded") << name;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
}

// The test device also exports the symbol through which tests control it.
TEST_F(Doctor, NotesWhatALibraryExportsBesideTheOneSymbol) {
  std::filesystem::copy_file(EPIPHYTE_TEST_DEVICE, folder_ / "device.so");
  folder_.Write("device.yaml",
                "manifest_version: 1\nname: test_device\nvendor: tests\nversion: 1.0.0\nlibrary: device.so\n"
                "abi: \"0.2\"\nsources: [TestDevice]\n");
  const ProgramResult result = Run({"--json"});
  const Json report = Json::parse(result.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << result.out << result.err;
  const Json& device = Find(report, "test_device");
  EXPECT_EQ(device["state"], "Loaded") << device["message"];
  EXPECT_THAT(device["notes"].dump(),
              AllOf(HasSubstr("exports EpTestDeviceControl beside EpPluginQuery"), HasSubstr("-fvisibility=hidden")));
  EXPECT_THAT(Find(report, "cpu")["notes"].dump(), Not(HasSubstr("exports")));
}

TEST_F(Doctor, PrintsTheSameAsText) {
  InstallCrashingPlugin(folder_.path(), "abort_devices");
  const ProgramResult result = Run({"abort_devices", "cpu"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("abort_devices  InitFailed"), HasSubstr("SIGABRT"), HasSubstr("calling GetDevices"),
                    HasSubstr("disable it in epiphyte.yaml"), HasSubstr("cpu  Loaded")));
  EXPECT_THAT(result.out, HasSubstr("the last that it said:  [31mwith a  red word"));
  EXPECT_THAT(result.out + result.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.out, Not(HasSubstr("a plugin may print"))) << "standard output is the doctor's";
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
}

// --- options

// Returns the cpu plugin's manifest, changed so that it works in another folder.
std::string CpuManifestWith(std::string_view options) {
  std::string text = ReadFile(std::filesystem::path(EPIPHYTE_PLUGIN_FOLDER) / "cpu.yaml");
  const auto replace = [&](const std::string& from, std::string_view to) {
    text = std::regex_replace(text, std::regex(from), std::string(to));
  };
  replace("libepiphyte_cpu\\.so", EPIPHYTE_PLUGIN_FOLDER "/libepiphyte_cpu.so");
  replace("precision: f32", options);
  return text;
}

TEST_F(Doctor, ShowsTheOptionsThatAPluginDeclares) {
  const ProgramResult json = Run({"--json"});
  EXPECT_EQ(json.code, 0) << json.err;
  const Json report = Json::parse(json.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << json.out;
  const Json& options = Find(report, "cpu")["found_options"];
  ASSERT_EQ(options.size(), 1u) << options;
  EXPECT_EQ(options[0]["name"], "precision");
  EXPECT_EQ(options[0]["type"], "choice");
  EXPECT_EQ(options[0]["default"], "f32");
  EXPECT_EQ(options[0]["choices"], Json({"f32", "bf16", "int8-dynamic"}));
  EXPECT_THAT(options[0]["help"].get<std::string>(), Not(IsEmpty()));
  EXPECT_THAT(Run({"cpu"}).out, HasSubstr("  option    precision = f32 (f32, bf16, int8-dynamic)  "));
}

TEST_F(Doctor, AManifestThatSetsWhatThePluginDoesNotDeclareIsAMismatch) {
  for (const auto& [given, problem] :
       {std::pair("precison: f32", "did you mean 'precision'?"),
        {"precision: bf61", "one of f32, bf16, int8-dynamic expected; did you mean 'bf16'?"}}) {
    folder_.Write("cpu.yaml", CpuManifestWith(given));
    const ProgramResult result = Run({"cpu"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.out, AllOf(HasSubstr("cpu  ManifestMismatch"), HasSubstr("of the manifest is "),
                                  HasSubstr(problem), HasSubstr("correct `options` in the manifest")));
    EXPECT_THAT(result.err, HasSubstr("cpu (ManifestMismatch)"));
  }
}

TEST_F(Doctor, APolicyFileThatSetsWhatThePluginDoesNotTakeIsADefect) {
  folder_.Write("config/epiphyte/epiphyte.yaml",
                "policy_version: 1\nproviders: { cpu: { options: { precision: bf61 } } }\n");
  const ProgramResult result = RunEpiphyte(
      {"doctor", "cpu"}, folder_.path(),
      {{"EPIPHYTE_PLUGIN_PATH", EPIPHYTE_PLUGIN_FOLDER}, {"XDG_CONFIG_HOME", (folder_ / "config").string()}});
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("cpu  Loaded"), HasSubstr("option 'precision' of the policy file '"),
                                HasSubstr("is 'bf61', one of f32, bf16, int8-dynamic expected; did you mean 'bf16'?"),
                                HasSubstr("correct providers.cpu.options there")));
  EXPECT_THAT(result.err, HasSubstr("cpu (wrong options)"));
}

// --- output for people

TEST_F(Doctor, PrintsALineAndAVerdictForEachPlugin) {
  const ProgramResult fine = RunEpiphyte({"doctor", "--disable", "vulkan"}, folder_.path(),
                                         {{"EPIPHYTE_PLUGIN_PATH", EPIPHYTE_PLUGIN_FOLDER}});
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_EQ(std::ranges::count(fine.out, '\n'), 5) << "three plugins, an empty line and the verdict:\n" << fine.out;
  EXPECT_THAT(fine.out, ContainsRegex("cpu     Loaded    [^\n]+\n"));
  EXPECT_THAT(fine.out, ContainsRegex("vulkan  Disabled  disabled for this run by the application\n"));
  EXPECT_THAT(fine.out, HasSubstr("\nevery plugin works that is enabled and meant for this machine\n"));
  EXPECT_THAT(fine.out, Not(HasSubstr("\x1b")));

  folder_.Write("bad.yaml", "manifest_version: 1\nname: bad\n");
  const ProgramResult broken = Run({});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.out, ContainsRegex("bad +BadManifest +[^\n]*bad.yaml:1:1: [^\n]*\n"));
  EXPECT_THAT(broken.out, Not(HasSubstr("every plugin works")));
  EXPECT_THAT(broken.err,
              HasSubstr("plugins can't be used: bad (BadManifest); epiphyte doctor bad tells all about it"));
}

TEST_F(Doctor, PrintsAllDetailsOfNamedPlugins) {
  folder_.Write("bad.yaml", "manifest_version: 1\nname: bad\n");
  const ProgramResult named = Run({"cpu"});
  EXPECT_EQ(named.code, 0) << "of the others nothing was asked: " << named.err;
  EXPECT_THAT(named.out, AllOf(HasSubstr("cpu  Loaded\n"), HasSubstr("  device    cpu  "), HasSubstr("  option    "),
                               HasSubstr("  library   "), HasSubstr("  manifest  "), Not(HasSubstr("bad  "))));
  const Json report = Json::parse(Run({"bad", "--json"}).out, nullptr, false);
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["plugins"].size(), 1u);
  const ProgramResult unknown = Run({"cpuu"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("no plugin named 'cpuu' is installed; did you mean 'cpu'?"));
}

bool HasTerminals() {
  int terminal = -1, program = -1;
  if (openpty(&terminal, &program, nullptr, nullptr, nullptr) != 0) return false;
  close(terminal);
  close(program);
  return true;
}

// Returns the program's output on a terminal with that many columns.
std::string OnTerminal(const std::vector<std::string>& arguments, unsigned short columns,
                       const std::map<std::string, std::string>& environment) {
  winsize size = {};
  size.ws_col = columns;
  size.ws_row = 24;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // standard error has the progress bar and the verdict
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<std::string> words = {EPIPHYTE_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(EPIPHYTE_PROGRAM, pointers.data());
    _exit(127);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(terminal, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(terminal);
  waitpid(child, nullptr, 0);
  std::erase(text, '\r');
  return text;
}

TEST_F(Doctor, OnATerminalLinesEndAtItsEdgeAndStatesHaveColours) {
  if (!HasTerminals()) GTEST_SKIP() << "the system gives no pseudo-terminal; is /dev/pts mounted?";
  folder_.Write("bad.yaml", "manifest_version: 1\nname: bad\n");
  std::map<std::string, std::string> environment = {
      {"EPIPHYTE_PLUGIN_PATH", folder_.path().string() + ":" + EPIPHYTE_PLUGIN_FOLDER},
      {"EPIPHYTE_DISABLE", "vulkan,npu"},
      {"HOME", folder_.path().string()},
      {"TERM", "xterm"},
      {"NO_COLOR", ""}};
  const std::string wide = OnTerminal({"doctor"}, 200, environment);
  EXPECT_THAT(wide, AllOf(HasSubstr("\x1b[32mLoaded\x1b[0m"), HasSubstr("\x1b[31mBadManifest\x1b[0m"),
                          HasSubstr("\x1b[33mDisabled\x1b[0m")));
  environment["NO_COLOR"] = "1";
  const std::string narrow = OnTerminal({"doctor", "cpu"}, 60, environment);
  EXPECT_THAT(narrow, Not(HasSubstr("\x1b[3")));
  environment["NO_COLOR"] = "";
  environment["TERM"] = "dumb";
  const std::string lines = OnTerminal({"doctor"}, 60, environment);
  EXPECT_THAT(lines, Not(HasSubstr("\x1b[3")));
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    EXPECT_LE(line.size(), 60u) << line;
  }
  EXPECT_THAT(lines, ContainsRegex("bad +BadManifest +[^\n]*\\.\\.\\.\n")) << "what is cut shows it";
}

TEST(Text, IsWrappedBetweenWordsAndCutWhereItMustBe) {
  using ::testing::ElementsAre;
  EXPECT_THAT(cli::WrapText("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(cli::WrapText("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(cli::WrapText("one two three", 6), ElementsAre("one", "two", "three"));
  EXPECT_THAT(cli::WrapText("abcdefghij", 4), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(cli::WrapText("äöü äöü", 4), ElementsAre("äöü", "äöü"));
  EXPECT_THAT(cli::WrapText("any", 0), ElementsAre("any"));
  EXPECT_THAT(cli::WrapText("", 5), ElementsAre(""));
  EXPECT_EQ(cli::CutTo("abcdefghij", 8), "abcde...");
  EXPECT_EQ(cli::CutTo("äöüäöüäöü", 8), "äöüäö...");
  EXPECT_EQ(cli::CutTo("short", 8), "short");
}

TEST_F(Doctor, TheTimeHasBounds) {
  EXPECT_EQ(RunEpiphyte({"doctor", "--timeout", "0"}).code, 2);
  EXPECT_THAT(RunEpiphyte({"doctor", "--help"}).out, AllOf(HasSubstr("--timeout"), Not(HasSubstr("--probe"))));
}

}  // namespace
}  // namespace epiphyte::test
