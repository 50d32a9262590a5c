// ep_weight_sharing_ctx_gen: compiles models that share weights into context models that share one binary.
//
//   ep_weight_sharing_ctx_gen -e npu -i "soc_model|60 optimization_mode|3" ./model1.onnx,./model2.onnx
//
// writes model1_ctx.onnx, model2_ctx.onnx and model1_npu.bin: N models give N + 1 files. The tool creates one session
// for each model, in their order. All have ep.context_enable and ep.share_ep_contexts; the last also has
// ep.stop_share_ep_contexts. No file is visible before the last session has succeeded. Flags are those of ONNX
// Runtime's tool of this name, plus -o, --force, --plugin and --model-options:
//
//   --model-options model2.onnx "ep.context_node_name_prefix|second_ npu.tiles|2"
//
// Exit codes: host/cli/program.h.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/session.hpp"
#include "host/cli/open_session.h"
#include "host/cli/plugin_flags.h"
#include "host/cli/program.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

constexpr const char* kProgram = "ep_weight_sharing_ctx_gen";

struct Flags {
  PluginFlags plugins;
  std::vector<std::pair<std::string, std::string>> model_options;  // model, "key|value provider.key|value"
  std::string provider;
  std::string provider_options;  // "key|value key|value"
  std::string session_options;
  std::string output_folder;
  std::vector<std::string> models;
  bool force = false;
  bool verbose = false;
};

std::map<std::string, std::string> SplitPairs(const std::string& text, const std::string& flag) {
  std::map<std::string, std::string> pairs;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t bar = word.find('|');
    if (bar == std::string::npos || bar == 0 || bar + 1 == word.size()) {
      throw Error(StatusCode::kInvalidArgument,
                  flag + ": '" + word + "' is not of the form key|value; pairs are separated by spaces");
    }
    const std::string key = word.substr(0, bar);
    if (!pairs.emplace(key, word.substr(bar + 1)).second) {
      throw Error(StatusCode::kInvalidArgument, flag + ": key '" + key + "' is there twice");
    }
  }
  return pairs;
}

std::filesystem::path ContextPath(const Flags& flags, const std::filesystem::path& model) {
  const std::string name = model.stem().string() + "_ctx.onnx";
  return flags.output_folder.empty() ? model.parent_path() / name : std::filesystem::path(flags.output_folder) / name;
}

// Returns true if a flag names the model, by its path or by its file name.
bool IsCalled(const std::filesystem::path& model, const std::string& name) {
  return model == std::filesystem::path(name) || model.filename() == std::filesystem::path(name);
}

void CheckModelNames(const Flags& flags) {
  for (const auto& [name, pairs] : flags.model_options) {
    const auto called = std::count_if(flags.models.begin(), flags.models.end(),
                                      [&, &name = name](const std::string& model) { return IsCalled(model, name); });
    if (called == 1) continue;
    throw Error(StatusCode::kInvalidArgument, "--model-options: '" + name + "' is " +
                                                  (called == 0 ? "none" : "more than one") +
                                                  " of the models; give the path of one as it is in MODELS");
  }
}

// Sets a session option that --model-options gave. A wrong key may be meant for a provider.
void SetForModel(SessionOptions& options, const std::string& key, const std::string& value,
                 const std::string& provider) {
  try {
    options.Set(key, value);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("--model-options: ") + error.what() +
                                  "; options of the provider begin with '" + provider + ".', because -e is '" +
                                  provider + "'");
  }
}

SessionOptions MakeOptions(const Flags& flags, const std::filesystem::path& model, bool last) {
  SessionOptions options;
  std::map<std::string, std::string> of_provider = SplitPairs(flags.provider_options, "-i");
  std::map<std::string, std::string> of_session = SplitPairs(flags.session_options, "-C");
  // Options of one model override the options of all models.
  const std::string prefix = flags.provider + ".";
  for (const auto& [name, pairs] : flags.model_options) {
    if (!IsCalled(model, name)) continue;
    for (const auto& [key, value] : SplitPairs(pairs, "--model-options")) {
      if (key.starts_with(prefix)) {
        of_provider[key.substr(prefix.size())] = value;
      } else {
        of_session.erase(key);
        SetForModel(options, key, value, flags.provider);
      }
    }
  }
  options.AddProvider(flags.provider, of_provider);
  if (!options.Get("ep.context_file_path").empty() || of_session.contains("ep.context_file_path")) {
    throw Error(StatusCode::kInvalidArgument, "ep.context_file_path names one file for all models; use -o FOLDER");
  }
  for (const auto& [key, value] : of_session) {
    options.Set(key, value);
  }
  options.Set("ep.context_enable", "1").Set("ep.share_ep_contexts", "1");
  if (options.Get("epiphyte.context_if_empty") == "skip") options.Set("epiphyte.context_if_empty", "error");
  if (last) options.Set("ep.stop_share_ep_contexts", "1");
  if (!flags.output_folder.empty()) options.Set("ep.context_file_path", ContextPath(flags, model).string());
  if (flags.force) options.Set("epiphyte.context_overwrite", "1");
  return options;
}

void Generate(const Flags& flags) {
  if (flags.verbose) setenv("EPIPHYTE_LOG", "info", /*overwrite=*/1);
  // Wrong flags fail before the first model is read.
  CheckModelNames(flags);
  for (const std::string& model : flags.models) MakeOptions(flags, model, true);
  const Environment environment = flags.plugins.Open();
  std::vector<std::filesystem::path> files;
  for (size_t i = 0; i < flags.models.size(); ++i) {
    const std::filesystem::path model = flags.models[i];
    const bool last = i + 1 == flags.models.size();
    const Session session = OpenSession(environment, model, MakeOptions(flags, model, last), "compiling");
    files.push_back(ContextPath(flags, model));
    if (!last) continue;
    if (const std::optional<ContextFiles> written = session.context_files()) {
      files.insert(files.end(), written->others.begin(), written->others.end());
    }
  }
  Table table({"FILE", "SIZE"});
  for (const auto& file : files) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(file, error);
    table.Add({Printable(file.string()), error ? "" : SizeText(size)});
  }
  table.Print();
}

int Main(int argc, char** argv) {
  CLI::App app("Compiles models that share weights into context models that share one binary.",
               "ep_weight_sharing_ctx_gen");
  Flags flags;
  app.add_option("-e", flags.provider, "Provider that compiles")->required()->type_name("PROVIDER");
  app.add_option("-i", flags.provider_options, "Options of the provider")->type_name("\"KEY|VALUE KEY|VALUE\"");
  app.add_option("-C", flags.session_options, "Session options")->type_name("\"KEY|VALUE KEY|VALUE\"");
  app.add_option("--model-options", flags.model_options,
                 "Options of one model, before those of all: the session's, and as PROVIDER.KEY the provider's; may be "
                 "repeated")
      ->type_name("MODEL \"KEY|VALUE KEY|VALUE\"");
  flags.plugins.Add(app);
  app.add_option("-o", flags.output_folder, "Folder to write to; default: beside the models")->type_name("FOLDER");
  app.add_flag("-v", flags.verbose, "Say what is done, on standard error");
  app.add_flag("--force", flags.force, "Overwrite what exists");
  app.add_option("MODELS", flags.models, "Models that share weights, separated by commas")
      ->required()
      ->delimiter(',')
      ->type_name("MODEL1,MODEL2,…");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return ReportError(kProgram, kUsage, std::string(error.what()) + " (see ep_weight_sharing_ctx_gen -h)");
  }
  Generate(flags);
  return 0;
}

}  // namespace
}  // namespace epiphyte::cli

int main(int argc, char** argv) {
  using namespace epiphyte::cli;
  return RunMain(kProgram, [&] { return Main(argc, argv); });
}
