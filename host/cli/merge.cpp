// epiphyte merge: merges several context models into one.
#include <filesystem>
#include <iostream>
#include <memory>

#include "epiphyte/context_tools.hpp"
#include "epiphyte/environment.hpp"
#include "host/cli/commands.h"
#include "host/cli/plugin_flags.h"
#include "host/cli/progress.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

struct MergeFlags {
  PluginFlags plugins;
  std::vector<std::string> models;
  std::vector<std::string> connections;
  std::string output;
  std::string external_initializers;
  bool force = false;
  bool json = false;
};

MergedContext Merge(const MergeFlags& flags) {
  MergeOptions options;
  options.models.assign(flags.models.begin(), flags.models.end());
  options.connections = flags.connections;
  options.output = flags.output;
  options.external_initializers = flags.external_initializers;
  options.overwrite = flags.force;
  Progress progress("merging " + CountText(flags.models.size(), "model"));
  return MergeContexts(flags.plugins.Open(), options);
}

void PrintText(const MergedContext& merged) {
  Table table({"FILE", "SIZE", ""});
  auto add = [&](const std::filesystem::path& path, const std::string& what) {
    table.Add({Printable(path.string()), SizeText(std::filesystem::file_size(path)), what});
  };
  add(merged.model, "written");
  for (const auto& path : merged.written) add(path, "written");
  for (const auto& path : merged.referenced) add(path, "as it was");
  table.Print();
  for (const std::string& renamed : merged.renamed) std::cout << Printable(renamed) << '\n';
  std::cout << CountText(merged.context_nodes, "context node") << ", " << CountText(merged.plain_nodes, "plain node")
            << '\n';
}

void PrintReport(const MergedContext& merged) {
  Json json;
  json["output"] = merged.model.string();
  json["written"] = FilesJson(merged.written);
  json["referenced"] = FilesJson(merged.referenced);
  json["renamed"] = merged.renamed;
  json["context_nodes"] = merged.context_nodes;
  json["plain_nodes"] = merged.plain_nodes;
  PrintJson(json);
}

}  // namespace

Command AddMergeCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("merge", "Joins context models into one");
  auto flags = std::make_shared<MergeFlags>();
  command->add_option("MODELS", flags->models, "Context models, two or more")->required()->expected(2, 1000);
  command->add_option("-o,--output", flags->output, "Model to write")->required()->type_name("FILE");
  command
      ->add_option("--connect", flags->connections,
                   "Feed an output to an input; may be repeated. A and B: a model's file name without _ctx.onnx, or A "
                   "for the first model, B for the second, …")
      ->type_name("A.OUT=B.IN")
      ->allow_extra_args(false);
  command
      ->add_option("--external-initializers", flags->external_initializers,
                   "Weights of nodes that were not compiled go to this file beside the model; default: into the model")
      ->type_name("NAME");
  flags->plugins.Add(*command);
  command->add_flag("--force", flags->force, "Overwrite what exists");
  command->add_flag("--json", flags->json, "Print JSON");
  return {command, [flags] {
            MergedContext merged = Merge(*flags);
            if (flags->json) {
              PrintReport(merged);
            } else {
              PrintText(merged);
            }
          }};
}

}  // namespace epiphyte::cli
