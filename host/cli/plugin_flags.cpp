#include "host/cli/plugin_flags.h"

namespace epiphyte::cli {

void PluginFlags::Add(CLI::App& command) {
  command
      .add_option("--plugin", libraries,
                  "Library of a plugin that has no manifest, or whose manifest is elsewhere; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  AddPolicy(command);
}

void PluginFlags::AddPolicy(CLI::App& command) {
  command.add_option("--policy", policy, "Policy file in the place of the user's, for this run; see epiphyte policy")
      ->type_name("FILE");
  command.add_option("--disable", disabled, "Plugins not to use in this run, like npu,vulkan; may be repeated")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
}

std::vector<std::string> PluginFlags::PolicyWords() const {
  std::vector<std::string> words;
  if (!policy.empty()) words.insert(words.end(), {"--policy", policy});
  for (const std::string& name : disabled) words.insert(words.end(), {"--disable", name});
  return words;
}

Environment PluginFlags::Open() const {
  EnvironmentOptions options;
  options.policy_file = policy;
  options.disabled_plugins = disabled;
  Environment environment(options);
  for (const std::string& library : libraries) environment.plugins().Add(library);
  return environment;
}

}  // namespace epiphyte::cli
