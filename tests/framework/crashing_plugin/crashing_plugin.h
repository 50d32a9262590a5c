// Installs the crashing plugin under names that a test chooses, each with its manifest.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace epiphyte::test {

// Makes <folder>/<name>.so and <name>.yaml. `name` is a name such as "abort_query" (crashing_plugin.cpp).
inline void InstallCrashingPlugin(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::copy_file(EPIPHYTE_CRASHING_PLUGIN, folder / (name + ".so"));
  std::ofstream(folder / (name + ".yaml")) << "manifest_version: 1\n"
                                              "name: " +
                                                  name +
                                                  "\n"
                                                  "vendor: tests\n"
                                                  "version: 1.0.0\n"
                                                  "license: Apache-2.0\n"
                                                  "description: misbehaves\n"
                                                  "library: " +
                                                  name +
                                                  ".so\n"
                                                  "abi: \"0.2\"\n"
                                                  "sources: [" +
                                                  name +
                                                  "]\n"
                                                  "devices: [other]\n"
                                                  "priority: 60\n";
}

}  // namespace epiphyte::test
