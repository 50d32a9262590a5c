// epiphyte policy: shows which policy file has which setting, and whether the settings are valid.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>

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

constexpr std::chrono::seconds kProbeLimit{10};

struct PolicyFlags {
  bool json = false;
  PluginFlags plugins;
};

std::string NameOf(const PolicySetting& setting) {
  if (setting.kind != "option") return setting.kind;
  return (setting.pinned ? "pinned " : "option ") + setting.option;
}

// A manifest that enables its plugin is the normal case, so it gets no line.
bool IsWorthALine(const PolicySetting& setting) {
  return setting.origin != "manifest" || setting.kind != "enabled" || setting.value != "true" ||
         !setting.overridden_by.empty();
}

void PrintFiles(const std::vector<PolicyFile>& files) {
  Table table({"LAYER", "FILE", ""});
  for (const PolicyFile& file : files) {
    table.Add({file.origin, Printable(file.path.string()), file.exists ? "" : "no such file"});
  }
  table.Print();
}

void PrintSettings(const PolicyInfo& policy) {
  PrintFiles(policy.files);
  std::cout << '\n';
  Table table({"PLUGIN", "SETTING", "VALUE", "SET BY", ""});
  for (const PolicySetting& setting : policy.settings) {
    if (!IsWorthALine(setting)) continue;
    table.Add({Printable(setting.plugin), Printable(NameOf(setting)),
               setting.kind == "denied" ? "true" : PrintableCell(setting.value), Printable(setting.place),
               setting.overridden_by.empty() ? "" : "overridden by " + Printable(setting.overridden_by)});
  }
  table.Print();
  for (const std::string& note : policy.notes) std::cout << "note: " << Printable(note) << '\n';
}

// Opens the plugins that a policy gives options to, and reports whether they accept them.
std::vector<std::string> CheckOptions(const PluginCatalog& catalog, const PolicyInfo& policy,
                                      const std::vector<std::string>& flags) {
  std::set<std::string> given;
  for (const PolicySetting& setting : policy.settings) {
    const bool by_policy = setting.origin != "manifest" && setting.overridden_by.empty();
    if (setting.kind == "option" && by_policy) given.insert(setting.plugin);
  }
  std::vector<std::string> findings;
  Progress progress("probing plugins");
  for (const PluginInfo& plugin : catalog.List()) {
    if (plugin.state != "Ready" || !given.contains(plugin.name)) continue;
    const Probed probed = ProbeInChild(plugin, kProbeLimit, flags);
    if (probed.plugin.message.empty()) continue;
    findings.push_back(plugin.name + ": " + (probed.plugin.state == "Loaded" ? "" : "its options can't be checked: ") +
                       probed.plugin.message + (probed.plugin.hint.empty() ? "" : "; " + probed.plugin.hint));
  }
  return findings;
}

void Check(const PolicyFlags& flags) {
  const PluginCatalog catalog = flags.plugins.Open().plugins();
  const PolicyInfo policy = catalog.Policy();
  std::vector<std::string> findings = policy.notes;
  for (std::string& finding : CheckOptions(catalog, policy, flags.plugins.PolicyWords())) {
    findings.push_back(std::move(finding));
  }
  if (flags.json) {
    Json json = ToJson(policy);
    json.erase("settings");
    json.erase("notes");
    json["findings"] = findings;
    PrintJson(json);
  } else {
    PrintFiles(policy.files);
    for (const std::string& finding : findings) std::cout << Printable(finding) << '\n';
    const bool any = std::ranges::any_of(policy.files, &PolicyFile::exists);
    if (findings.empty()) std::cout << (any ? "nothing is wrong with what they say\n" : "there is no policy file\n");
  }
  if (findings.empty()) return;
  throw ReportedError(StatusCode::kInvalidArgument,
                      CountText(findings.size(), "finding") + " about the policy files, listed on standard output");
}

void Show(const PolicyFlags& flags) {
  const PolicyInfo policy = flags.plugins.Open().plugins().Policy();
  if (flags.json) {
    PrintJson(ToJson(policy));
  } else {
    PrintSettings(policy);
  }
}

}  // namespace

Command AddPolicyCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("policy", "Shows which policy file set what, or checks the policy files");
  command->require_subcommand(1);
  auto flags = std::make_shared<PolicyFlags>();
  CLI::App* show = command->add_subcommand("show", "Lists the policy files and all that is set, with who set it");
  CLI::App* check = command->add_subcommand(
      "check", "Looks for names that no plugin has, for options that plugins don't take and for what has no effect");
  for (CLI::App* action : {show, check}) {
    flags->plugins.AddPolicy(*action);
    action->add_flag("--json", flags->json, "Print JSON");
  }
  check->add_option("FILE", flags->plugins.policy, "The file to check, as --policy; default: those that are in use");
  check->footer("Exit code 0 when nothing was found, else 1.");
  command->footer(
      "Policy files are /etc/epiphyte/epiphyte.yaml, whose deny, allow and pinned no user can lift, and\n"
      "~/.config/epiphyte/epiphyte.yaml; policy_schema.yaml, which is installed with Epiphyte, describes their keys.\n"
      "EPIPHYTE_POLICY=FILE and --policy FILE take the place of the user's, EPIPHYTE_DISABLE=npu,vulkan and\n"
      "--disable npu,vulkan leave plugins out, for one run.");
  return {command, [=] {
            if (show->parsed()) Show(*flags);
            if (check->parsed()) Check(*flags);
          }};
}

}  // namespace epiphyte::cli
