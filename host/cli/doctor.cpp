// epiphyte doctor: opens each plugin in a process of its own, asks it for its devices, and reports problems with
// advice. It prints one line per plugin, and all details for plugins named on the command line.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/plugin_flags.h"
#include "host/cli/plugin_report.h"
#include "host/cli/probe.h"
#include "host/cli/program.h"
#include "host/cli/progress.h"

namespace epiphyte::cli {
namespace {

struct DoctorFlags {
  bool json = false;
  uint32_t timeout = 10;
  std::vector<std::string> names;  // empty: all
  std::string probe;
  PluginFlags plugins;
};

// States that a user chose, or that the machine explains, are not defects.
bool IsDefect(const PluginInfo& plugin) {
  constexpr std::string_view kFine[] = {"Ready",  "Loaded",        "Disabled", "Shadowed",
                                        "Denied", "WrongPlatform", "NoDevice"};
  if (plugin.state == "Loaded" && !plugin.message.empty()) return true;
  return std::find(std::begin(kFine), std::end(kFine), plugin.state) == std::end(kFine);
}

// Returns an option as "precision = f32 (f32, bf16)", "tiles = 4 (1 to 8)", "quiet = false (true, false)" or "name =
// \"\" (string)".
std::string Summary(const OptionInfo& option) {
  std::string fits = option.type;
  if (!option.choices.empty()) fits = Join(option.choices, ", ");
  if (!option.minimum.empty() && !option.maximum.empty()) fits = option.minimum + " to " + option.maximum;
  if (!option.minimum.empty() && option.maximum.empty()) fits = "at least " + option.minimum;
  if (option.minimum.empty() && !option.maximum.empty()) fits = "at most " + option.maximum;
  std::string given = option.default_value.empty() ? "\"\"" : option.default_value;
  if (option.type == "bool") {
    fits = "true, false";
    given = given == "1" || given == "true" ? "true" : "false";
  }
  return option.name + " = " + given + " (" + fits + ")";
}

constexpr size_t kLabelWidth = 12;

// On a terminal, continuation lines are aligned with the first line of the text.
void PrintField(std::string_view label, const std::string& text) {
  if (text.empty()) return;
  std::string line = "  " + std::string(label);
  line.resize(kLabelWidth, ' ');
  const size_t width = TerminalWidth();
  const size_t room = width > 2 * kLabelWidth ? width - kLabelWidth : 0;
  for (const std::string& part : WrapText(Printable(text), room)) {
    std::cout << line << part << '\n';
    line.assign(kLabelWidth, ' ');
  }
}

enum class Colour { kGood = 32, kChosen = 33, kBad = 31 };

Colour ColourOf(const PluginInfo& plugin) {
  if (IsDefect(plugin)) return Colour::kBad;
  return plugin.usable() ? Colour::kGood : Colour::kChosen;
}

// Text is coloured on a terminal, unless the user has set NO_COLOR (https://no-color.org).
std::string Coloured(const std::string& text, Colour colour) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool wanted = (no_color == nullptr || *no_color == '\0') && terminal != nullptr &&
                      std::string_view(terminal) != "dumb" && TerminalWidth() != 0;
  if (!wanted) return text;
  return "\033[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\033[0m";
}

std::string NameOf(const PluginInfo& plugin) {
  return Printable(plugin.name.empty() ? plugin.manifest.filename().string() : plugin.name);
}

std::string DeviceText(const DeviceInfo& device) {
  std::string text = device.kind + "  " + device.name;
  if (!device.architecture.empty()) text += "  (" + device.architecture + ")";
  if (!device.driver_version.empty()) text += "  driver " + device.driver_version;
  return text;
}

void PrintPlugin(const PluginInfo& plugin) {
  std::cout << NameOf(plugin) << "  " << Coloured(plugin.state, ColourOf(plugin)) << '\n';
  PrintField("problem", plugin.message);
  PrintField("to do", plugin.hint);
  for (const DeviceInfo& device : plugin.devices) PrintField("device", DeviceText(device));
  for (const OptionInfo& option : plugin.declared_options) {
    PrintField("option", Summary(option) + "  " + option.help);
  }
  PrintField("version",
             PrintableCell(plugin.version) + (plugin.vendor.empty() ? "" : " by " + PrintableCell(plugin.vendor)));
  PrintField("library", plugin.library.string());
  PrintField("manifest", plugin.manifest.string());
  for (const std::string& note : plugin.notes) PrintField("note", note);
  std::cout << '\n';
}

// Summarises a plugin in a few words: its problem, or its devices.
std::string InShort(const PluginInfo& plugin) {
  if (!plugin.message.empty()) return Printable(plugin.message);
  std::vector<std::string> names;
  for (const DeviceInfo& device : plugin.devices) names.push_back(Printable(device.name));
  return Join(names, ", ");
}

void PrintLines(const std::vector<Probed>& plugins) {
  size_t name_width = 0;
  size_t state_width = 0;
  for (const Probed& probed : plugins) {
    name_width = std::max(name_width, CharactersIn(NameOf(probed.plugin)));
    state_width = std::max(state_width, probed.plugin.state.size());
  }
  const size_t begins = name_width + state_width + 4;
  const size_t width = TerminalWidth();
  for (const Probed& probed : plugins) {
    const PluginInfo& plugin = probed.plugin;
    const std::string name = NameOf(plugin);
    const std::string rest = width > begins ? CutTo(InShort(plugin), width - begins) : InShort(plugin);
    std::cout << name << std::string(name_width - CharactersIn(name) + 2, ' ')
              << Coloured(plugin.state, ColourOf(plugin));
    if (!rest.empty()) std::cout << std::string(state_width - plugin.state.size() + 2, ' ') << rest;
    std::cout << '\n';
  }
  for (const Probed& probed : plugins) {
    for (const std::string& note : probed.plugin.notes) {
      std::cout << "note: " << NameOf(probed.plugin) << ": " << Printable(note) << '\n';
    }
  }
}

void PrintFolders(const std::vector<SearchedFolder>& folders) {
  Table table({"FOLDER", "FROM", "MANIFESTS"});
  for (const SearchedFolder& folder : folders) {
    table.Add({Printable(folder.path.string()), folder.origin,
               folder.exists ? std::to_string(folder.manifests) : "no such folder"});
  }
  table.Print();
}

// Adds "probe": {"step", "end"} for plugins with a process that ended abnormally.
Json Describe(const std::vector<Probed>& plugins, const std::vector<SearchedFolder>& folders,
              const std::vector<std::string>& policy_notes) {
  Json json = ToJson(std::vector<PluginInfo>(), folders);
  for (const Probed& probed : plugins) {
    Json plugin = ToJson(probed.plugin);
    if (!probed.end.empty()) plugin["probe"] = {{"step", probed.step}, {"end", probed.end}};
    json["plugins"].push_back(std::move(plugin));
  }
  json["policy_notes"] = policy_notes;
  return json;
}

std::vector<Probed> ProbeAll(const PluginCatalog& catalog, std::chrono::seconds limit,
                             const std::vector<std::string>& names, const std::vector<std::string>& flags) {
  Progress progress("probing plugins");
  std::vector<Probed> plugins;
  std::set<std::string> failed;
  for (PluginInfo& plugin : catalog.List()) {
    if (!names.empty() && std::ranges::find(names, plugin.name) == names.end()) continue;
    const bool ready = plugin.state == "Ready";
    plugins.push_back(ready ? ProbeInChild(plugin, limit, flags) : Probed{std::move(plugin), "", ""});
    const Probed& probed = plugins.back();
    if (ready && probed.end.empty() && probed.plugin.state != "Loaded") failed.insert(probed.plugin.name);
  }
  // Shadowed plugins take the name of one that can't be loaded, so they are probed next.
  for (Probed& probed : plugins) {
    const bool next = probed.plugin.state == "Shadowed" && failed.contains(probed.plugin.name);
    if (next) probed = ProbeInChild(probed.plugin, limit, flags);
  }
  return plugins;
}

void CheckNames(const PluginCatalog& catalog, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const PluginInfo& plugin : catalog.List()) known.push_back(plugin.name);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string nearest = NearestTo(name, known);
    throw Error(StatusCode::kNotFound,
                "no plugin named '" + Printable(name) + "' is installed" +
                    (nearest.empty() ? "" : "; did you mean '" + Printable(nearest) + "'?"),
                Hint::kListPlugins);
  }
}

// Returns a summary of all defects; "" when there are none.
std::string Verdict(const std::vector<Probed>& plugins, bool all) {
  std::vector<std::string> defects;
  std::string first;
  bool any_loaded = false;
  for (const Probed& probed : plugins) {
    const PluginInfo& plugin = probed.plugin;
    any_loaded |= plugin.state == "Loaded";
    if (!IsDefect(plugin)) continue;
    if (first.empty()) first = plugin.name;
    defects.push_back(NameOf(plugin) + " (" + (plugin.state == "Loaded" ? "wrong options" : plugin.state) + ")");
  }
  if (!defects.empty()) {
    return std::to_string(defects.size()) + " of " + CountText(plugins.size(), "plugin") +
           " can't be used: " + Join(defects, ", ") + "; " +
           (all && !first.empty() ? "epiphyte doctor " + first + " tells all about it, " : "") +
           "repair them as it says or disable them in epiphyte.yaml";
  }
  if (any_loaded || !all) return "";
  return "no plugin can be used; install one or name its folder in EPIPHYTE_PLUGIN_PATH";
}

void Examine(const DoctorFlags& flags) {
  const PluginCatalog catalog = flags.plugins.Open().plugins();
  const bool all = flags.names.empty();
  CheckNames(catalog, flags.names);
  const std::vector<Probed> plugins =
      ProbeAll(catalog, std::chrono::seconds(flags.timeout), flags.names, flags.plugins.PolicyWords());
  const std::vector<std::string> policy_notes = catalog.Policy().notes;
  const std::string verdict = Verdict(plugins, all);
  if (flags.json) {
    PrintJson(Describe(plugins, catalog.Folders(), policy_notes));
  } else if (all) {
    PrintLines(plugins);
    if (plugins.empty()) PrintFolders(catalog.Folders());
    for (const std::string& note : policy_notes) std::cout << "policy: " << Printable(note) << '\n';
    if (verdict.empty()) std::cout << "\nevery plugin works that is enabled and meant for this machine\n";
  } else {
    for (const Probed& probed : plugins) PrintPlugin(probed.plugin);
    PrintFolders(catalog.Folders());
  }
  if (!verdict.empty()) throw ReportedError(StatusCode::kEpFail, verdict);
}

}  // namespace

Command AddDoctorCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Opens each plugin and says what is wrong with those that fail");
  auto flags = std::make_shared<DoctorFlags>();
  command->add_option("NAME", flags->names,
                      "Plugins to tell everything about: devices, options, files; default: a line each");
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_option("--timeout", flags->timeout, "Seconds that each plugin has to answer; default: 10")
      ->type_name("N")
      ->check(CLI::Range(1, 3600));
  flags->plugins.AddPolicy(*command);
  // The process that probes a plugin runs with this option. Without a group, it is not in --help.
  command->add_option("--probe", flags->probe)->group("");
  command->footer("Exit code 0 when every plugin works that is enabled and meant for this machine, else 1.");
  return {command, [flags] {
            if (!flags->probe.empty()) return ReportProbe(flags->probe, flags->plugins);
            Examine(*flags);
          }};
}

}  // namespace epiphyte::cli
