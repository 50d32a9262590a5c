#include "host/cli/plugin_report.h"

#include <utility>

namespace epiphyte::cli {
namespace {

constexpr size_t kMaxFoundText = 16 << 10;

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

Json ToJson(const std::vector<OptionInfo>& options) {
  Json list = Json::array();
  for (const OptionInfo& option : options) {
    list.push_back({{"name", option.name},
                    {"type", option.type},
                    {"default", option.default_value},
                    {"help", option.help},
                    {"minimum", option.minimum},
                    {"maximum", option.maximum},
                    {"choices", option.choices}});
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
  json["found_options"] = ToJson(plugin.declared_options);
  return json;
}

Json ToJson(const PolicyInfo& policy) {
  Json json;
  json["files"] = Json::array();
  for (const PolicyFile& file : policy.files) {
    json["files"].push_back({{"path", file.path.string()}, {"origin", file.origin}, {"exists", file.exists}});
  }
  json["settings"] = Json::array();
  for (const PolicySetting& setting : policy.settings) {
    json["settings"].push_back({{"plugin", setting.plugin},
                                {"kind", setting.kind},
                                {"option", setting.option},
                                {"value", setting.value},
                                {"pinned", setting.pinned},
                                {"origin", setting.origin},
                                {"place", setting.place},
                                {"overridden_by", setting.overridden_by}});
  }
  json["notes"] = policy.notes;
  return json;
}

Json Findings(const PluginInfo& probed) {
  return {{"state", probed.state},
          {"message", probed.message},
          {"hint", probed.hint},
          {"devices", ToJson(probed.devices)},
          {"options", ToJson(probed.declared_options)},
          {"notes", probed.notes}};
}

bool AddFindings(const Json& findings, PluginInfo* plugin) {
  PluginInfo found;
  try {
    const auto text = [](const Json& object, const char* key) {
      return PrintableText(object.at(key).get<std::string>(), kMaxFoundText);
    };
    found.state = text(findings, "state");
    found.message = text(findings, "message");
    found.hint = text(findings, "hint");
    for (const Json& device : findings.at("devices")) {
      found.devices.push_back({text(device, "kind"), text(device, "name"), text(device, "vendor"),
                               text(device, "driver_version"), text(device, "architecture")});
    }
    for (const Json& option : findings.at("options")) {
      found.declared_options.push_back({text(option, "name"),
                                        text(option, "type"),
                                        text(option, "default"),
                                        text(option, "help"),
                                        text(option, "minimum"),
                                        text(option, "maximum"),
                                        {}});
      for (const Json& choice : option.at("choices")) {
        found.declared_options.back().choices.push_back(PrintableText(choice.get<std::string>(), kMaxFoundText));
      }
    }
    for (const Json& note : findings.at("notes")) {
      found.notes.push_back(PrintableText(note.get<std::string>(), kMaxFoundText));
    }
  } catch (const Json::exception&) {
    return false;
  }
  plugin->state = std::move(found.state);
  plugin->message = std::move(found.message);
  plugin->hint = std::move(found.hint);
  plugin->devices = std::move(found.devices);
  plugin->declared_options = std::move(found.declared_options);
  plugin->notes = std::move(found.notes);
  return true;
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
