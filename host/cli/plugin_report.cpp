#include "host/cli/plugin_report.h"

namespace epiphyte::cli {
namespace {

Json ToJson(const std::vector<DeviceInfo>& devices) {
  Json list = Json::array();
  for (const DeviceInfo& device : devices) {
    list.push_back({{"kind", device.kind},
                    {"name", device.name},
                    {"vendor", device.vendor},
                    {"driver_version", device.driver_version},
                    {"architecture", device.architecture}});
  }
  return list;
}

}  // namespace

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
  json["found_devices"] = ToJson(plugin.devices);
  return json;
}

Json Findings(const PluginInfo& probed) {
  return {
      {"state", probed.state}, {"message", probed.message}, {"hint", probed.hint}, {"devices", ToJson(probed.devices)}};
}

void AddFindings(const Json& findings, PluginInfo* plugin) {
  plugin->state = findings.at("state").get<std::string>();
  plugin->message = findings.at("message").get<std::string>();
  plugin->hint = findings.at("hint").get<std::string>();
  for (const Json& device : findings.at("devices")) {
    plugin->devices.push_back({device.at("kind").get<std::string>(), device.at("name").get<std::string>(),
                               device.at("vendor").get<std::string>(), device.at("driver_version").get<std::string>(),
                               device.at("architecture").get<std::string>()});
  }
}

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
