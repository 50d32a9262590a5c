// `epiphyte`: the command line over the public C++ API.
//
// host/cli/program.h describes exit codes and the output of errors.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/environment.hpp"
#include "host/cli/commands.h"
#include "host/cli/program.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

constexpr const char* kProgram = "epiphyte";

std::vector<std::string> CommandNames(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Returns the names of a command's subcommands, such as list, verify, gc and clear of `epiphyte cache`.
std::vector<std::string> ActionNames(const CLI::App& command) {
  std::vector<std::string> names;
  if (command.get_parent() == nullptr) return names;
  for (const CLI::App* action : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(action->get_name());
  return names;
}

std::string DidYouMean(const std::string& found, const std::vector<std::string>& known) {
  std::string nearest = NearestTo(found, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

// Returns the error about the command line, and the command that prints more help.
UsageError WrongUsage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  std::string name = command == &app ? "epiphyte" : "epiphyte " + command->get_name();
  std::string message = error.what();
  std::vector<std::string> extras = command->remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty()) {
    auto flag = std::ranges::find_if(extras, [](const std::string& extra) { return extra.starts_with("-"); });
    const std::string& found = flag != extras.end() ? *flag : extras.front();
    message = "argument '" + found + "' is not expected";
    if (flag != extras.end()) message += DidYouMean(found, FlagNames(*command));
  }
  const std::vector<std::string> actions = ActionNames(*command);
  if (!actions.empty() && command->get_subcommands().empty()) {
    const bool is_named = !extras.empty() && !extras.front().starts_with("-");
    message =
        is_named ? "unknown action '" + extras.front() + "'" + DidYouMean(extras.front(), actions) : "no action given";
    message += "; actions are: " + Join(actions, ", ");
  }
  return UsageError(message + " (see " + name + " --help)");
}

int Main(int argc, char** argv) {
  CLI::App app("Runs ONNX models on execution providers that are found as plugins.", "epiphyte");
  app.set_version_flag("--version", "epiphyte " + std::string(Version()));
  std::vector<Command> commands = {AddPluginsCommand(app), AddDoctorCommand(app),  AddPolicyCommand(app),
                                   AddPlaceCommand(app),   AddCompileCommand(app), AddRunCommand(app),
                                   AddBenchCommand(app),   AddInspectCommand(app), AddVerifyCommand(app),
                                   AddMergeCommand(app),   AddCacheCommand(app),   AddNewPluginCommand(app),
                                   AddManifestCommand(app)};
  app.footer(
      "Environment:\n"
      "  EPIPHYTE_LOG=LEVEL         trace, debug, info, warning (the default), error or off; to standard error\n"
      "  EPIPHYTE_PLUGIN_PATH=DIRS  folders with manifests of plugins, with ':' between them, before all others\n"
      "  EPIPHYTE_POLICY=FILE       a policy file in the place of the user's; see epiphyte policy --help\n"
      "  EPIPHYTE_DISABLE=NAMES     plugins not to use, like npu,vulkan");
  std::vector<std::string> names = CommandNames(commands);
  if (argc < 2) {
    throw UsageError("no command given; use one of: " + Join(names, ", ") + " (see epiphyte --help)");
  }
  std::string first = argv[1];
  if (!first.starts_with("-") && std::ranges::find(names, first) == names.end()) {
    throw UsageError("unknown command '" + first + "'" + DidYouMean(first, names) +
                     "; commands are: " + Join(names, ", "));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    throw WrongUsage(app, error);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) command.run();
  }
  return 0;
}

}  // namespace
}  // namespace epiphyte::cli

int main(int argc, char** argv) {
  using namespace epiphyte::cli;
  // The words are read directly, because a program that asked for JSON gets JSON even if parsing fails.
  const bool json = std::any_of(argv + (argc > 0 ? 1 : 0), argv + argc,
                                [](const char* word) { return std::string_view(word) == "--json"; });
  return RunMain(
      kProgram, [&] { return Main(argc, argv); }, json);
}
