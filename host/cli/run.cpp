// epiphyte run: runs a model once, on inputs from files or random ones.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/files.hpp"
#include "epiphyte/session.hpp"
#include "epiphyte/value_file.hpp"
#include "host/cli/commands.h"
#include "host/cli/open_session.h"
#include "host/cli/progress.h"
#include "host/cli/random_inputs.h"
#include "host/cli/session_flags.h"
#include "host/cli/stopwatch.h"
#include "host/cli/text.h"
#include "host/cli/value_summary.h"

namespace epiphyte::cli {
namespace {

struct RunFlags {
  std::string model;
  SessionFlags session;
  InputFlags inputs;
  std::string outputs;      // folder for output_0.pb …
  std::string save_inputs;  // folder for input_0.pb …
  std::string profile;
  bool json = false;
};

struct Result {
  std::vector<std::string> providers;
  std::vector<ValueInfo> input_infos;
  std::vector<ValueInfo> output_infos;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  bool context = false;
  double session_ms = 0;
  double run_ms = 0;
};

std::filesystem::path FileOf(const std::string& folder, const std::string& stem, size_t index) {
  return std::filesystem::path(folder) / (stem + "_" + std::to_string(index) + ".pb");
}

void SaveAll(const std::string& folder, const std::string& stem, const std::vector<ValueInfo>& infos,
             const std::vector<Value>& values) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(StatusCode::kFail, "folder '" + folder + "' can't be made: " + error.message());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) SaveValue(FileOf(folder, stem, i), values[i], infos[i].type, infos[i].name);
  }
}

// A target that can't be written is an error before anything runs for long. Missing folders are made later.
void CheckFiles(const std::string& folder, const std::string& stem, size_t count) {
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::is_directory(folder, ignored)) return;
  for (size_t i = 0; i < count; ++i) CheckWritable(FileOf(folder, stem, i));
}

// Runs the session as the flags ask.
void UseSession(const RunFlags& flags, const Session& session, const TimeLimit& limit, Result& result) {
  CheckFiles(flags.save_inputs, "input", session.inputs().size());
  CheckFiles(flags.outputs, "output", session.outputs().size());
  result.providers = session.placement().providers();
  result.context = session.has_context();
  result.input_infos = session.inputs();
  result.output_infos = session.outputs();
  result.inputs = flags.inputs.Make(session);
  std::vector<NamedValue> given = flags.inputs.LoadInitializers(session);
  for (size_t i = 0; i < result.inputs.size(); ++i) {
    if (result.inputs[i]) given.emplace_back(result.input_infos[i].name, result.inputs[i]);
  }
  if (!flags.save_inputs.empty()) SaveAll(flags.save_inputs, "input", result.input_infos, result.inputs);
  {
    Progress progress("running " + std::filesystem::path(flags.model).filename().string());
    Stopwatch stopwatch;
    RunOptions run;
    run.stop = limit.stop();
    limit.Watch("running", [&] { result.outputs = session.Run(given, run); });
    result.run_ms = stopwatch.Milliseconds();
  }
  if (!flags.outputs.empty()) SaveAll(flags.outputs, "output", result.output_infos, result.outputs);
  session.SaveProfile();
}

Result RunModel(const RunFlags& flags) {
  Result result;
  const Environment environment = flags.session.plugins.Open();
  SessionOptions options = flags.session.Build();
  if (!flags.profile.empty()) options.SetProfile(flags.profile);
  Stopwatch opening;
  const TimeLimit limit(flags.session.time_limit);
  const Session session = OpenSession(environment, flags.model, options, "loading", limit);
  result.session_ms = opening.Milliseconds();
  try {
    UseSession(flags, session, limit, result);
  } catch (...) {
    session.DiscardProfile();
    throw;
  }
  return result;
}

Json Describe(const std::vector<ValueInfo>& infos, const std::vector<Value>& values, const std::string& folder,
              const std::string& stem) {
  Json list = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    Json item = {{"name", infos[i].name}, {"type", TypeText(values[i])}};
    if (Json statistics = Statistics(values[i]); !statistics.is_null()) item.update(statistics);
    if (!folder.empty() && values[i]) {
      item["file"] = FileOf(folder, stem, i).string();
    }
    list.push_back(std::move(item));
  }
  return list;
}

void PrintReport(const RunFlags& flags, const Result& result) {
  Json json;
  json["model"] = flags.model;
  json["providers"] = result.providers;
  json["context"] = result.context;
  json["session_ms"] = result.session_ms;
  json["run_ms"] = result.run_ms;
  const std::string& input_folder = flags.inputs.folder.empty() ? flags.save_inputs : flags.inputs.folder;
  json["inputs"] = Describe(result.input_infos, result.inputs, input_folder, "input");
  json["outputs"] = Describe(result.output_infos, result.outputs, flags.outputs, "output");
  PrintJson(json);
}

std::string StatisticsText(const Value& value) {
  Json statistics = Statistics(value);
  if (statistics.is_null() || statistics["min"].is_null()) return "";
  auto number = [&](const char* key) { return std::string(key) + " " + NumberText(statistics[key].get<double>()); };
  std::string text = number("min") + "  " + number("max") + "  " + number("mean");
  if (statistics["nan"] != 0) text += "  " + number("nan");
  return text;
}

void PrintText(const Result& result) {
  std::cout << "session " << MillisecondsText(result.session_ms) << (result.context ? " (from context)" : "")
            << ", run " << MillisecondsText(result.run_ms) << ", on " << Printable(Join(result.providers, ", "))
            << '\n';
  Table table({"OUTPUT", "TYPE", "VALUES"});
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    table.Add({Printable(result.output_infos[i].name), TypeText(result.outputs[i]), StatisticsText(result.outputs[i])});
  }
  table.Print();
}

}  // namespace

Command AddRunCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Runs a model once");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("MODEL", flags->model, "ONNX model or context model")->required();
  flags->session.AddProviders(*command);
  flags->inputs.AddFolder(*command);
  command->add_option("--outputs", flags->outputs, "Folder to write output_0.pb, output_1.pb, … to")->type_name("DIR");
  flags->inputs.AddRandom(*command);
  command->add_option("--save-inputs", flags->save_inputs, "Folder to write the inputs used to")->type_name("DIR");
  flags->session.AddThreads(*command);
  flags->session.AddCache(*command);
  flags->session.AddTimeLimit(*command);
  command->add_option("--profile", flags->profile, "Write a trace for chrome://tracing")->type_name("FILE");
  command->add_flag("--json", flags->json, "Print JSON");
  flags->session.AddOptions(*command);
  return {command, [flags] {
            Result result = RunModel(*flags);
            if (flags->json) {
              PrintReport(*flags, result);
            } else {
              PrintText(result);
            }
          }};
}

}  // namespace epiphyte::cli
