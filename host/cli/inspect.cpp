// epiphyte inspect: lists the EPContext nodes of a model. With --check, it also tells whether they can be used here.
#include <iostream>
#include <memory>

#include "epiphyte/context.hpp"
#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/program.h"
#include "host/cli/session_flags.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

void PrintReport(const ContextInfo& info) {
  Json json;
  json["model"] = info.model.string();
  json["plain_nodes"] = info.plain_nodes;
  json["nodes"] = Json::array();
  for (const ContextNodeInfo& node : info.nodes) {
    json["nodes"].push_back({{"name", node.name},
                             {"graph", node.graph},
                             {"source", node.source},
                             {"partition", node.partition},
                             {"main_context", node.main_context},
                             {"embed_mode", node.embed_mode},
                             {"file", node.file},
                             {"size", node.size},
                             {"digest", node.digest},
                             {"recorded_digest", node.recorded_digest},
                             {"sdk_version", node.sdk_version},
                             {"hardware", node.hardware},
                             {"notes", node.notes},
                             {"onnx_model_filename", node.onnx_model_filename},
                             {"max_size", node.max_size},
                             {"problem", node.problem}});
  }
  json["metadata"] = info.metadata;
  PrintJson(json);
}

void PrintField(std::string_view label, const std::string& text) {
  if (!text.empty()) std::cout << "  " << label << Printable(text) << '\n';
}

void PrintNode(const ContextNodeInfo& node) {
  std::cout << Printable(node.graph.empty() ? node.name : node.graph + "/" + node.name) << '\n';
  PrintField("source        ", node.source.empty() ? "(none)" : node.source);
  PrintField("partition     ", node.partition);
  PrintField("main_context  ", node.main_context ? "1" : "0");
  PrintField("embed_mode    ", std::to_string(node.embed_mode));
  PrintField("file          ", node.file);
  if (!node.digest.empty()) {
    PrintField("size          ", std::to_string(node.size) + " (" + SizeText(node.size) + ")");
    PrintField("digest        ", node.digest + (node.recorded_digest.empty() ? "  (none recorded)" : ""));
  }
  PrintField("SDK version   ", node.sdk_version);
  PrintField("hardware      ", node.hardware);
  PrintField("notes         ", node.notes);
  PrintField("problem       ", node.problem);
  std::cout << '\n';
}

void PrintText(const ContextInfo& info) {
  for (const ContextNodeInfo& node : info.nodes) PrintNode(node);
  std::cout << CountText(info.nodes.size(), "context node") << ", " << CountText(info.plain_nodes, "plain node")
            << '\n';
  for (const auto& [key, value] : info.metadata) std::cout << Printable(key) << " = " << Printable(value) << '\n';
}

Json ToJson(const ContextCheck& check) {
  auto entry = [](const std::string& name, ContextVerdict verdict, const std::string& reason) {
    return Json{{"name", name}, {"verdict", ContextVerdictName(verdict)}, {"reason", reason}};
  };
  Json json = {{"verdict", ContextVerdictName(check.verdict)}, {"reason", check.reason}};
  json["providers"] = Json::array();
  for (const auto& provider : check.providers) {
    json["providers"].push_back(entry(provider.name, provider.verdict, provider.reason));
  }
  json["nodes"] = Json::array();
  for (const auto& node : check.nodes) {
    Json described = entry(node.name, node.verdict, node.reason);
    described["source"] = node.source;
    described["provider"] = node.provider;
    json["nodes"].push_back(std::move(described));
  }
  return json;
}

void PrintCheck(const ContextCheck& check) {
  Table table({"NODE", "SOURCE", "PROVIDER", "VERDICT", "REASON"});
  for (const auto& node : check.nodes) {
    table.Add({Printable(node.name), node.source.empty() ? "(none)" : Printable(node.source),
               node.provider.empty() ? "-" : Printable(node.provider), std::string(ContextVerdictName(node.verdict)),
               Printable(node.reason)});
  }
  table.Print();
  std::cout << ContextVerdictName(check.verdict) << '\n';
}

void Check(const std::string& model, const SessionFlags& session, bool json) {
  const ContextCheck check = CheckContext(session.plugins.Open(), model, session.Build());
  if (json) {
    Json report;
    report["model"] = model;
    report.update(ToJson(check));
    PrintJson(report);
  } else {
    PrintCheck(check);
  }
  if (check.usable()) return;
  throw ReportedError(
      StatusCode::kInvalidGraph,
      "'" + model + "' can't be used here (" + std::string(ContextVerdictName(check.verdict)) + "): " + check.reason);
}

}  // namespace

Command AddInspectCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "Shows the EPContext nodes of a model and their payloads");
  auto model = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto check = std::make_shared<bool>(false);
  auto session = std::make_shared<SessionFlags>();
  command->add_option("MODEL", *model, "ONNX model")->required();
  command->add_flag("--check", *check, "Ask the plugins whether the model can be used here");
  session->AddProviders(*command);
  session->AddOptions(*command);
  command->add_flag("--json", *json, "Print JSON");
  return {command, [model, json, check, session] {
            if (*check) return Check(*model, *session, *json);
            ContextInfo info = InspectContext(*model);
            if (*json) {
              PrintReport(info);
            } else {
              PrintText(info);
            }
          }};
}

}  // namespace epiphyte::cli
