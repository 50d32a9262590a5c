// epiphyte compile: writes the EP context model of a model.
#include <filesystem>
#include <iostream>
#include <memory>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/session.hpp"
#include "host/cli/commands.h"
#include "host/cli/open_session.h"
#include "host/cli/session_flags.h"
#include "host/cli/stopwatch.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

struct CompileFlags {
  std::string model;
  SessionFlags session;
  std::string output;
  bool embed = false;
  bool force = false;
  bool allow_plain = false;
  bool json = false;
};

struct Compiled {
  ContextFiles files;
  std::vector<std::string> providers;
  double milliseconds = 0;
};

Compiled Compile(const CompileFlags& flags) {
  const Environment environment = flags.session.plugins.Open();
  SessionOptions options = flags.session.Build();
  options.Set("ep.context_enable", "1");
  if (flags.allow_plain) {
    options.Set("epiphyte.context_if_empty", "plain");
  } else if (options.Get("epiphyte.context_if_empty") == "skip") {
    options.Set("epiphyte.context_if_empty", "error");
  }
  if (!flags.output.empty()) options.Set("ep.context_file_path", flags.output);
  if (flags.embed) options.Set("ep.context_embed_mode", "1");
  if (flags.force) options.Set("epiphyte.context_overwrite", "1");
  Stopwatch stopwatch;
  const TimeLimit limit(flags.session.time_limit);
  const Session session = OpenSession(environment, flags.model, options, "compiling", limit);
  double milliseconds = stopwatch.Milliseconds();
  std::optional<ContextFiles> files = session.context_files();
  // A session of a share group that is not the last one writes nothing.
  if (!files) {
    throw Error(StatusCode::kInvalidArgument, "'" + flags.model +
                                                  "' gave no context model: ep.share_ep_contexts is for several "
                                                  "sessions of one process; use ep_weight_sharing_ctx_gen");
  }
  return {*std::move(files), session.placement().providers(), milliseconds};
}

std::vector<std::filesystem::path> Written(const ContextFiles& files) {
  std::vector<std::filesystem::path> paths = {files.model};
  paths.insert(paths.end(), files.others.begin(), files.others.end());
  return paths;
}

void PrintText(const Compiled& compiled) {
  Table table({"FILE", "SIZE"});
  for (const auto& path : Written(compiled.files)) {
    table.Add({Printable(path.string()), SizeText(std::filesystem::file_size(path))});
  }
  table.Print();
  std::cout << CountText(compiled.files.context_nodes, "context node") << ", "
            << CountText(compiled.files.plain_nodes, "plain node") << ", by "
            << Printable(Join(compiled.providers, ", ")) << ", in " << MillisecondsText(compiled.milliseconds) << '\n';
  if (compiled.files.context_nodes == 0) std::cout << "nothing was compiled: the model has plain nodes alone\n";
}

void PrintReport(const CompileFlags& flags, const Compiled& compiled) {
  Json json;
  json["model"] = flags.model;
  json["output"] = compiled.files.model.string();
  json["providers"] = compiled.providers;
  json["context_nodes"] = compiled.files.context_nodes;
  json["plain_nodes"] = compiled.files.plain_nodes;
  json["compile_ms"] = compiled.milliseconds;
  json["files"] = FilesJson(Written(compiled.files));
  PrintJson(json);
}

}  // namespace

Command AddCompileCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compile", "Compiles a model and writes what was compiled as a context model");
  auto flags = std::make_shared<CompileFlags>();
  command->add_option("MODEL", flags->model, "ONNX model")->required();
  flags->session.AddProviders(*command);
  flags->session.AddTimeLimit(*command);
  command->add_option("--output", flags->output, "Context model to write; default: MODEL_ctx.onnx beside the model")
      ->type_name("FILE");
  command->add_flag("--embed", flags->embed, "Put what was compiled into the model, not into a file beside it");
  command->add_flag("--force", flags->force, "Overwrite what exists");
  command->add_flag("--allow-plain", flags->allow_plain,
                    "Write the model with plain nodes alone when no provider has anything to compile; else that fails");
  command->add_flag("--json", flags->json, "Print JSON");
  flags->session.AddOptions(*command);
  return {command, [flags] {
            Compiled compiled = Compile(*flags);
            if (flags->json) {
              PrintReport(*flags, compiled);
            } else {
              PrintText(compiled);
            }
          }};
}

}  // namespace epiphyte::cli
