// epiphyte plugins: lists the installed plugins from their manifests, without opening libraries.
#include <iostream>
#include <memory>

#include "epiphyte/environment.hpp"
#include "host/cli/commands.h"
#include "host/cli/hints.h"
#include "host/cli/plugin_flags.h"
#include "host/cli/plugin_report.h"

namespace epiphyte::cli {
namespace {

void PrintTable(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders) {
  if (plugins.empty()) {
    std::cout << "no plugins found in " << folders.size() << " folders" << HintText(Hint::kProbePlugins) << '\n';
    return;
  }
  Table table({"NAME", "STATE", "PRIORITY", "VERSION", "VENDOR", "DEVICES", "SOURCES"});
  for (const PluginInfo& plugin : plugins) {
    table.Add({Printable(plugin.name.empty() ? "?" : plugin.name), plugin.state, std::to_string(plugin.priority),
               PrintableCell(plugin.version), PrintableCell(plugin.vendor),
               PrintableCell(Join(plugin.device_kinds, ",")), PrintableCell(Join(plugin.sources, ","))});
  }
  table.Print();
  for (const PluginInfo& plugin : plugins) {
    const std::string name = Printable(plugin.name.empty() ? plugin.manifest.string() : plugin.name);
    if (!plugin.message.empty()) std::cout << name << ": " << Printable(plugin.message) << '\n';
    for (const std::string& note : plugin.notes) std::cout << name << ": note: " << Printable(note) << '\n';
  }
}

}  // namespace

Command AddPluginsCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("plugins", "Lists the plugins that are installed, without opening any");
  auto json = std::make_shared<bool>(false);
  auto added = std::make_shared<PluginFlags>();
  added->Add(*command);
  command->add_flag("--json", *json, "Print JSON");
  return {command, [json, added] {
            const PluginCatalog catalog = added->Open().plugins();
            const std::vector<std::string> notes = catalog.Policy().notes;
            if (*json) {
              Json report = ToJson(catalog.List(), catalog.Folders());
              report["policy_notes"] = notes;
              PrintJson(report);
            } else {
              PrintTable(catalog.List(), catalog.Folders());
              for (const std::string& note : notes) std::cout << "policy: " << Printable(note) << '\n';
            }
          }};
}

}  // namespace epiphyte::cli
