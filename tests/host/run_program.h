// Runs programs as a user would, and captures both outputs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace epiphyte::test {

struct ProgramResult {
  int code = -1;  // exit code; 128 + signal if a signal ended the program
  std::string out;
  std::string err;
};

// The environment is the caller's without its Epiphyte settings and user folders, plus `environment`. `folder` is the
// working directory.
ProgramResult RunProgram(const std::string& program, const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder = ".",
                         const std::map<std::string, std::string>& environment = {});
// Runs the command line.
ProgramResult RunEpiphyte(const std::vector<std::string>& arguments, const std::filesystem::path& folder = ".",
                          const std::map<std::string, std::string>& environment = {});

// Returns environment variables that select the plugins in `folder` only, and none that are installed on this machine.
inline std::map<std::string, std::string> OnlyPlugins(const std::filesystem::path& folder) {
  return {{"EPIPHYTE_PLUGIN_PATH", folder.string()}};
}

}  // namespace epiphyte::test
