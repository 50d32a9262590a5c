#include "host/cli/session_flags.h"

#include <map>
#include <sstream>

#include "epiphyte/error.hpp"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

using ProviderOptions = std::map<std::string, std::map<std::string, std::string>>;

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) {
    if (name.empty()) {
      throw Error(StatusCode::kInvalidArgument, "--ep '" + list + "' has an empty name; write it like vulkan,cpu");
    }
    names.push_back(name);
  }
  return names;
}

ProviderOptions SplitProviderOptions(const std::vector<std::string>& flags) {
  ProviderOptions options;
  for (const std::string& flag : flags) {
    auto [key, value] = SplitAssignment(flag, "--ep-option");
    size_t dot = key.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == key.size()) {
      throw Error(StatusCode::kInvalidArgument,
                  "--ep-option '" + flag + "' names no provider; write it like cpu.precision=bf16");
    }
    options[key.substr(0, dot)][key.substr(dot + 1)] = value;
  }
  return options;
}

}  // namespace

void SessionFlags::AddProviders(CLI::App& command) {
  command
      .add_option("--ep", providers, "Providers in order of priority, like vulkan,cpu; default: all that are usable")
      ->type_name("LIST");
  plugins.Add(command);
}

void SessionFlags::AddOptions(CLI::App& command) {
  command.add_option("--option", options, "Session option; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--ep-option", provider_options, "Option of a provider; may be repeated")
      ->type_name("PROVIDER.KEY=VALUE")
      ->allow_extra_args(false);
  std::string known = "Session options:";
  for (const OptionDescription& option : SessionOptions::Known()) {
    known += "\n  " + option.key;
    if (!option.default_value.empty()) known += "=" + option.default_value;
    known += "\n      " + option.description;
  }
  command.footer(known);
}

void SessionFlags::AddThreads(CLI::App& command) {
  command.add_option("--threads", threads, "Threads of a run; default: one for each physical core")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
}

void SessionFlags::AddCache(CLI::App& command) {
  command.add_option("--cache", cache, "Folder where what was compiled is kept and found again; see epiphyte cache")
      ->type_name("DIR");
}

void SessionFlags::AddTimeLimit(CLI::App& command) {
  command.add_option("--time-limit", time_limit, "End with an error after so many seconds; default: none")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e9));
}

SessionOptions SessionFlags::Build() const {
  SessionOptions built;
  for (const std::string& flag : options) {
    auto [key, value] = SplitAssignment(flag, "--option");
    built.Set(key, value);
  }
  if (!cache.empty()) built.Set("session.context_cache_dir", cache);
  for (const std::string& name : SplitList(providers)) built.AddProvider(name);
  for (const auto& [provider, values] : SplitProviderOptions(provider_options)) {
    for (const auto& [key, value] : values) built.SetProviderOption(provider, key, value);
  }
  built.SetThreadCount(threads);
  return built;
}

std::pair<std::string, std::string> SplitAssignment(const std::string& text, std::string_view flag) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(StatusCode::kInvalidArgument, std::string(flag) + " '" + text + "' is not of the form KEY=VALUE");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace epiphyte::cli
