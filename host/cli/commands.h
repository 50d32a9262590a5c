// The commands of `epiphyte`. Each Add… function adds one subcommand with its flags to the application, and returns the
// function that runs the subcommand after parsing. A command reports failure by throwing epiphyte::Error. Standard
// output is for results only.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <vector>

namespace epiphyte::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<void()> run;
};

Command AddPluginsCommand(CLI::App& app);
Command AddDoctorCommand(CLI::App& app);
Command AddPolicyCommand(CLI::App& app);
Command AddPlaceCommand(CLI::App& app);
Command AddCompileCommand(CLI::App& app);
Command AddRunCommand(CLI::App& app);
Command AddBenchCommand(CLI::App& app);
Command AddInspectCommand(CLI::App& app);
Command AddVerifyCommand(CLI::App& app);
Command AddMergeCommand(CLI::App& app);
Command AddCacheCommand(CLI::App& app);
Command AddNewPluginCommand(CLI::App& app);
Command AddManifestCommand(CLI::App& app);

}  // namespace epiphyte::cli
