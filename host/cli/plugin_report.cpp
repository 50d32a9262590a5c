#include "host/cli/plugin_report.h"

namespace epiphyte::cli {
namespace {

Json ToJson(const PluginInfo& plugin) {
  Json json;
  json["name"] = plugin.name;
  json["state"] = plugin.state;
  json["priority"] = plugin.priority;
  json["version"] = plugin.version;
  json["vendor"] = plugin.vendor;
  json["license"] = plugin.license;
  json["description"] = plugin.description;
  json["abi"] = plugin.abi;
  json["library"] = plugin.library.string();
  json["manifest"] = plugin.manifest.string();
  json["sources"] = plugin.sources;
  json["devices"] = plugin.device_kinds;
  json["options"] = plugin.options;
  json["message"] = plugin.message;
  json["hint"] = plugin.hint;
  json["notes"] = plugin.notes;
  if (plugin.state != "Loaded") return json;
  Json& found = json["found_devices"] = Json::array();
  for (const DeviceInfo& device : plugin.devices) {
    found.push_back({{"kind", device.kind},
                     {"name", device.name},
                     {"vendor", device.vendor},
                     {"driver_version", device.driver_version},
                     {"architecture", device.architecture}});
  }
  return json;
}

}  // namespace

Json ToJson(const std::vector<PluginInfo>& plugins, const std::vector<SearchedFolder>& folders) {
  Json json;
  json["plugins"] = Json::array();
  for (const PluginInfo& plugin : plugins) json["plugins"].push_back(ToJson(plugin));
  json["folders"] = Json::array();
  for (const SearchedFolder& folder : folders) {
    json["folders"].push_back({{"path", folder.path.string()},
                               {"origin", folder.origin},
                               {"exists", folder.exists},
                               {"manifests", folder.manifests}});
  }
  return json;
}

}  // namespace epiphyte::cli
