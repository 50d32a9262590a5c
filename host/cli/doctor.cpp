// epiphyte doctor: opens each plugin, asks it for its devices, and says what is wrong and what to do.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/plugin_report.h"

namespace epiphyte::cli {
namespace {

// States that somebody chose, or that the machine explains, are not defects.
bool IsDefect(const PluginInfo& plugin) {
  constexpr std::string_view kFine[] = {"Ready",  "Loaded",        "Disabled", "Shadowed",
                                        "Denied", "WrongPlatform", "NoDevice"};
  return std::find(std::begin(kFine), std::end(kFine), plugin.state) == std::end(kFine);
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
  PrintField("version   ", plugin.version + (plugin.vendor.empty() ? "" : " by " + plugin.vendor));
  PrintField("library   ", plugin.library.string());
  PrintField("manifest  ", plugin.manifest.string());
  for (const std::string& note : plugin.notes) PrintField("note      ", note);
  std::cout << '\n';
}

void PrintReport(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders) {
  for (const PluginInfo& plugin : plugins) PrintPlugin(plugin);
  Table table({"FOLDER", "FROM", "MANIFESTS"});
  for (const SearchedFolder& folder : folders) {
    table.Add({Printable(folder.path.string()), folder.origin,
               folder.exists ? std::to_string(folder.manifests) : "no such folder"});
  }
  table.Print();
}

void CheckHealth(const std::vector<PluginInfo>& plugins) {
  std::vector<std::string> defects;
  bool any_loaded = false;
  for (const PluginInfo& plugin : plugins) {
    any_loaded |= plugin.state == "Loaded";
    if (!IsDefect(plugin)) continue;
    defects.push_back((plugin.name.empty() ? plugin.manifest.filename().string() : plugin.name) + " (" + plugin.state +
                      ")");
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
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Exit code 0 when every plugin works that is enabled and meant for this machine, else 1.");
  return {command, [json] {
            PluginCatalog catalog = Environment().plugins();
            std::vector<PluginInfo> plugins = catalog.ProbeAll();
            if (*json) {
              PrintJson(ToJson(plugins, catalog.Folders()));
            } else {
              PrintReport(plugins, catalog.Folders());
            }
            CheckHealth(plugins);
          }};
}

}  // namespace epiphyte::cli
