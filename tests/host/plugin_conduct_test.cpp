// Plugins that change or end the process of their host. The tests check what the host detects, restores and reports.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/framework/crashing_plugin/crashing_plugin.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"
#include "tests/host/small_models.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class PluginConduct : public ::testing::Test {
 protected:
  ProgramResult Run(std::vector<std::string> arguments) {
    return RunEpiphyte(arguments, folder_.path(),
                       {{"EPIPHYTE_PLUGIN_PATH", folder_.path().string() + ":" + EPIPHYTE_PLUGIN_FOLDER}});
  }
  void Install(const std::string& name) {
    InstallCrashingPlugin(folder_.path(), name);
    folder_.Write("model.onnx", AddModel());
  }

  TempDir folder_;
};

TEST_F(PluginConduct, ExitInCompileIsNoSuccess) {
  Install("quit_compile");
  const ProgramResult result = Run({"compile", "model.onnx", "--output", "ctx.onnx", "--ep", "quit_compile"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("exit was called inside of provider 'quit_compile', in Compile, with code 0"),
                                HasSubstr("report this to its vendor")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ctx.onnx"));
}

TEST_F(PluginConduct, ExitInExecuteIsNoSuccess) {
  Install("quit_execute");
  const ProgramResult result = Run({"run", "model.onnx", "--ep", "quit_execute"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("exit was called inside of provider 'quit_execute', in Execute, with code 0"));
}

TEST_F(PluginConduct, ExitWhileThePluginIsLoadedIsNoSuccess) {
  for (const char* name : {"quit_open", "quit_query", "quit_initialize", "quit_devices"}) {
    Install(name);
    const ProgramResult result = Run({"run", "model.onnx", "--ep", name});
    EXPECT_EQ(result.code, 1) << name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(std::string("exit was called inside of provider '") + name + "'"));
  }
}

TEST_F(PluginConduct, AChangedRoundingModeIsReportedAndRestored) {
  Install("round_initialize");
  const ProgramResult result = Run({"run", "model.onnx", "--ep", "round_initialize,cpu"});
  EXPECT_THAT(result.err, HasSubstr("provider 'round_initialize': in Initialize the thread's floating-point mode "
                                    "changed, from rounding to nearest to rounding up; it was restored"));
}

TEST_F(PluginConduct, AChangedWorkingDirectoryIsReported) {
  Install("wander_initialize");
  const ProgramResult result = Run({"run", (folder_ / "model.onnx").string(), "--ep", "wander_initialize"});
  EXPECT_THAT(result.err,
              HasSubstr("provider 'wander_initialize': in Initialize the working directory changed to '/'"));
}

TEST_F(PluginConduct, DoctorReportsAllThatAPluginChangesInItsProcess) {
  Install("wander_devices");
  Install("round_query");
  Install("fine_devices");
  const ProgramResult result = Run({"doctor", "--json"});
  const Json report = Json::parse(result.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << result.out << result.err;
  std::map<std::string, std::string> notes;
  for (const Json& plugin : report["plugins"]) notes[plugin["name"]] = plugin["notes"].dump();
  EXPECT_THAT(notes["wander_devices"],
              AllOf(HasSubstr("calling GetDevices: the working directory changed from '"), HasSubstr("to '/'"),
                    HasSubstr("(umask) changed from "), HasSubstr("to 00"),
                    HasSubstr("limit of open files (ulimit -n) changed from ")));
  EXPECT_THAT(notes["round_query"], HasSubstr("floating-point mode changed"));
  for (const char* name : {"fine_devices", "cpu", "npu"}) {
    EXPECT_THAT(notes[name], Not(HasSubstr("changed"))) << name;
  }
  EXPECT_THAT(Run({"doctor"}).out, HasSubstr("the working directory changed"));
}

}  // namespace
}  // namespace epiphyte::test
