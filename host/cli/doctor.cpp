// epiphyte doctor: opens each plugin in a process of its own, asks it for its devices, and says what is wrong and what
// to do.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/plugin_report.h"
#include "host/cli/probe.h"
#include "host/cli/progress.h"

namespace epiphyte::cli {
namespace {

struct DoctorFlags {
  bool json = false;
  uint32_t timeout = 10;
  std::string probe;
};

// States that somebody chose, or that the machine explains, are not defects.
bool IsDefect(const PluginInfo& plugin) {
  constexpr std::string_view kFine[] = {"Ready",  "Loaded",        "Disabled", "Shadowed",
                                        "Denied", "WrongPlatform", "NoDevice"};
  if (plugin.state == "Loaded" && !plugin.message.empty()) return true;
  return std::find(std::begin(kFine), std::end(kFine), plugin.state) == std::end(kFine);
}

// "precision = f32 (f32, bf16)", "tiles = 4 (1 to 8)", "quiet = false (true, false)", "name = \"\" (string)"
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

void PrintField(std::string_view label, const std::string& text) {
  if (!text.empty()) std::cout << "  " << label << Printable(text) << '\n';
}

void PrintPlugin(const PluginInfo& plugin) {
  std::cout << Printable(plugin.name.empty() ? "(unnamed)" : plugin.name) << "  " << plugin.state << '\n';
  PrintField("problem   ", plugin.message);
  PrintField("to do     ", plugin.hint);
  for (const DeviceInfo& device : plugin.devices) {
    std::string text = device.kind + "  " + device.name;
    if (!device.architecture.empty()) text += "  (" + device.architecture + ")";
    if (!device.driver_version.empty()) text += "  driver " + device.driver_version;
    PrintField("device    ", text);
  }
  for (const OptionInfo& option : plugin.declared_options) {
    PrintField("option    ", Summary(option) + "  " + option.help);
  }
  PrintField("version   ",
             PrintableCell(plugin.version) + (plugin.vendor.empty() ? "" : " by " + PrintableCell(plugin.vendor)));
  PrintField("library   ", plugin.library.string());
  PrintField("manifest  ", plugin.manifest.string());
  for (const std::string& note : plugin.notes) PrintField("note      ", note);
  std::cout << '\n';
}

void PrintReport(const std::vector<Probed>& plugins, const std::vector<SearchedFolder>& folders) {
  for (const Probed& probed : plugins) PrintPlugin(probed.plugin);
  Table table({"FOLDER", "FROM", "MANIFESTS"});
  for (const SearchedFolder& folder : folders) {
    table.Add({Printable(folder.path.string()), folder.origin,
               folder.exists ? std::to_string(folder.manifests) : "no such folder"});
  }
  table.Print();
}

// With "probe": {"step", "end"} for those whose process didn't end well.
Json Describe(const std::vector<Probed>& plugins, const std::vector<SearchedFolder>& folders) {
  Json json = ToJson(std::vector<PluginInfo>(), folders);
  for (const Probed& probed : plugins) {
    Json plugin = ToJson(probed.plugin);
    if (!probed.end.empty()) plugin["probe"] = {{"step", probed.step}, {"end", probed.end}};
    json["plugins"].push_back(std::move(plugin));
  }
  return json;
}

std::vector<Probed> ProbeAll(const PluginCatalog& catalog, std::chrono::seconds limit) {
  Progress progress("probing plugins");
  std::vector<Probed> plugins;
  std::set<std::string> failed;
  for (PluginInfo& plugin : catalog.List()) {
    const bool ready = plugin.state == "Ready";
    plugins.push_back(ready ? ProbeInChild(plugin, limit) : Probed{std::move(plugin), "", ""});
    const Probed& probed = plugins.back();
    if (ready && probed.end.empty() && probed.plugin.state != "Loaded") failed.insert(probed.plugin.name);
  }
  // Those that have the name next.
  for (Probed& probed : plugins) {
    const bool next = probed.plugin.state == "Shadowed" && failed.contains(probed.plugin.name);
    if (next) probed = ProbeInChild(probed.plugin, limit);
  }
  return plugins;
}

void CheckHealth(const std::vector<Probed>& plugins) {
  std::vector<std::string> defects;
  bool any_loaded = false;
  for (const Probed& probed : plugins) {
    const PluginInfo& plugin = probed.plugin;
    any_loaded |= plugin.state == "Loaded";
    if (!IsDefect(plugin)) continue;
    defects.push_back((plugin.name.empty() ? plugin.manifest.filename().string() : plugin.name) + " (" +
                      (plugin.state == "Loaded" ? "wrong options" : plugin.state) + ")");
  }
  if (!defects.empty()) {
    throw Error(StatusCode::kEpFail, std::to_string(defects.size()) + " of " + std::to_string(plugins.size()) +
                                         " plugins can't be used: " + Join(defects, ", ") +
                                         "; repair them as the report says or disable them in epiphyte.yaml");
  }
  if (!any_loaded) {
    throw Error(StatusCode::kNotFound, "no plugin can be used; install one or name its folder in EPIPHYTE_PLUGIN_PATH");
  }
}

}  // namespace

Command AddDoctorCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Opens each plugin and says what is wrong with those that fail");
  auto flags = std::make_shared<DoctorFlags>();
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_option("--timeout", flags->timeout, "Seconds that each plugin has to answer; default: 10")
      ->type_name("N")
      ->check(CLI::Range(1, 3600));
  // What the process runs in which a plugin is probed; no group: not in --help.
  command->add_option("--probe", flags->probe)->group("");
  command->footer("Exit code 0 when every plugin works that is enabled and meant for this machine, else 1.");
  return {command, [flags] {
            if (!flags->probe.empty()) return ReportProbe(flags->probe);
            const PluginCatalog catalog = Environment().plugins();
            const std::vector<Probed> plugins = ProbeAll(catalog, std::chrono::seconds(flags->timeout));
            if (flags->json) {
              PrintJson(Describe(plugins, catalog.Folders()));
            } else {
              PrintReport(plugins, catalog.Folders());
            }
            CheckHealth(plugins);
          }};
}

}  // namespace epiphyte::cli
