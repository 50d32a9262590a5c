// epiphyte place: shows which provider would run which node, why others declined, and why nodes were removed.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/files.hpp"
#include "epiphyte/placement.hpp"
#include "host/cli/commands.h"
#include "host/cli/session_flags.h"
#include "host/cli/svg.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

struct PlaceFlags {
  std::string model;
  SessionFlags session;
  bool json = false;
  bool details = false;
  std::string svg;
};

void PrintTable(const Placement& placement, bool details) {
  std::vector<std::string> titles = {"NODE", "OPERATOR", "PROVIDER", "DEVICE", "PARTITION", "DECLINED BY"};
  if (details) titles.push_back("NOTES");
  Table table(titles);
  for (const NodePlacement& node : placement.nodes()) {
    std::vector<std::string> declines;
    for (const Decline& decline : node.declines) declines.push_back(decline.provider + ": " + decline.reason);
    std::string name = node.graph.empty() ? node.name : node.graph + "/" + node.name;
    std::vector<std::string> row = {Printable(name.empty() ? "-" : name),
                                    Printable(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type),
                                    Printable(node.provider.empty() ? "none" : node.provider),
                                    Printable(node.device),
                                    Printable(node.partition),
                                    Printable(Join(declines, "; "))};
    if (details) row.push_back(Printable(Join(node.notes, "; ")));
    table.Add(std::move(row));
  }
  for (const RemovedNode& node : placement.removed()) {
    const std::string name = node.graph.empty() ? node.name : node.graph + "/" + node.name;
    std::vector<std::string> row = {Printable(name.empty() ? "-" : name),
                                    Printable(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type),
                                    "-",
                                    "-",
                                    Printable(node.text),
                                    ""};
    if (details) row.push_back("");
    table.Add(std::move(row));
  }
  table.Print();
  std::cout << '\n' << Printable(placement.Summary()) << '\n';
  if (const std::string removed = placement.RemovedSummary(); !removed.empty()) std::cout << Printable(removed) << '\n';
  for (const std::string& warning : placement.warnings()) std::cout << "warning: " << Printable(warning) << '\n';
}

void Place(const PlaceFlags& flags) {
  if (!flags.svg.empty()) CheckWritable(flags.svg);
  const Environment environment = flags.session.plugins.Open();
  Placement placement = Placement::Of(environment, flags.model, flags.session.Build());
  if (!flags.svg.empty()) {
    WriteSvg(placement.ToDot(), flags.svg);
    std::cout << Printable(flags.svg) << '\n';
  } else if (flags.json) {
    std::cout << PrintableJson(placement.ToJson()) << '\n';
  } else {
    PrintTable(placement, flags.details);
  }
}

}  // namespace

Command AddPlaceCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("place", "Says which provider would run which node of a model, and why");
  auto flags = std::make_shared<PlaceFlags>();
  command->add_option("MODEL", flags->model, "ONNX model")->required();
  flags->session.AddProviders(*command);
  CLI::Option* json = command->add_flag("--json", flags->json, "Print JSON");
  command->add_option("--svg", flags->svg, "Draw a picture with graphviz instead")->type_name("FILE")->excludes(json);
  command->add_flag("--details", flags->details, "Show which kernel each node gets, and why not a faster one")->excludes(json);
  flags->session.AddOptions(*command);
  return {command, [flags] { Place(*flags); }};
}

}  // namespace epiphyte::cli
