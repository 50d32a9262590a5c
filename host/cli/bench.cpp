// epiphyte bench: measures the time to create a session, of the first run, and of later runs.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "epiphyte/environment.hpp"
#include "epiphyte/io_binding.hpp"
#include "epiphyte/session.hpp"
#include "host/cli/commands.h"
#include "host/cli/open_session.h"
#include "host/cli/peak_memory.h"
#include "host/cli/progress.h"
#include "host/cli/random_inputs.h"
#include "host/cli/session_flags.h"
#include "host/cli/stopwatch.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

struct BenchFlags {
  std::string model;
  SessionFlags session;
  InputFlags inputs;
  uint32_t runs = 0;  // 0: as many as fit into two seconds (MeasureRuns)
  bool json = false;
};

struct Measured {
  std::vector<std::string> providers;
  bool context = false;
  double session_ms = 0;
  double first_run_ms = 0;
  std::vector<double> run_ms;         // sorted
  std::optional<double> peak_rss_mb;  // nothing if the system doesn't report it
};

double TimeRun(IoBinding& binding) {
  Stopwatch stopwatch;
  binding.Run();
  return stopwatch.Milliseconds();
}

// Measures `runs` runs. If that is 0, it runs for two seconds, but at least 5 and at most 2000 times.
std::vector<double> MeasureRuns(IoBinding& binding, uint32_t runs) {
  std::vector<double> times;
  Stopwatch total;
  auto enough = [&] {
    if (runs != 0) return times.size() >= runs;
    return times.size() >= 2000 || (times.size() >= 5 && total.Milliseconds() > 2000);
  };
  while (!enough()) times.push_back(TimeRun(binding));
  std::ranges::sort(times);
  return times;
}

double Median(const std::vector<double>& sorted) {
  size_t middle = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Measured Measure(const BenchFlags& flags) {
  const Environment environment = flags.session.plugins.Open();
  Measured measured;
  Stopwatch stopwatch;
  const Session session = OpenSession(environment, flags.model, flags.session.Build(), "loading");
  measured.session_ms = stopwatch.Milliseconds();
  Progress progress("measuring " + std::filesystem::path(flags.model).filename().string());
  measured.providers = session.placement().providers();
  measured.context = session.has_context();

  IoBinding binding(session);
  std::vector<Value> inputs = flags.inputs.Make(session);
  for (size_t i = 0; i < inputs.size(); ++i) binding.BindInput(session.inputs()[i].name, inputs[i]);
  for (const auto& [name, value] : flags.inputs.LoadInitializers(session)) binding.BindInput(name, value);
  measured.first_run_ms = TimeRun(binding);
  measured.run_ms = MeasureRuns(binding, flags.runs);
  measured.peak_rss_mb = PeakRssMb();
  return measured;
}

void PrintReport(const BenchFlags& flags, const Measured& measured) {
  Json json;
  json["model"] = flags.model;
  json["providers"] = measured.providers;
  json["session_ms"] = measured.session_ms;
  json["first_run_ms"] = measured.first_run_ms;
  json["run_ms"] = {
      {"min", measured.run_ms.front()}, {"median", Median(measured.run_ms)}, {"max", measured.run_ms.back()}};
  json["peak_rss_mb"] = measured.peak_rss_mb ? Json(*measured.peak_rss_mb) : Json(nullptr);
  json["context"] = measured.context;
  PrintJson(json);
}

void PrintText(const BenchFlags& flags, const Measured& measured) {
  std::cout << "model      " << Printable(flags.model) << (measured.context ? " (from context)" : "") << '\n'
            << "providers  " << Printable(Join(measured.providers, ", ")) << '\n'
            << "session    " << MillisecondsText(measured.session_ms) << '\n'
            << "first run  " << MillisecondsText(measured.first_run_ms) << '\n'
            << "run        " << MillisecondsText(Median(measured.run_ms)) << " median, "
            << MillisecondsText(measured.run_ms.front()) << " to " << MillisecondsText(measured.run_ms.back())
            << ", of " << measured.run_ms.size() << '\n'
            << "peak rss   " << PeakText(measured.peak_rss_mb) << '\n';
}

}  // namespace

Command AddBenchCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measures a model: session, first run, steady runs, memory");
  auto flags = std::make_shared<BenchFlags>();
  command->add_option("MODEL", flags->model, "ONNX model or context model")->required();
  flags->session.AddProviders(*command);
  flags->session.AddThreads(*command);
  flags->session.AddCache(*command);
  command->add_option("--runs", flags->runs, "Runs to measure; default: for two seconds, 5 to 2000 of them")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000));
  flags->inputs.AddFolder(*command);
  flags->inputs.AddRandom(*command);
  command->add_flag("--json", flags->json, "Print JSON");
  flags->session.AddOptions(*command);
  return {command, [flags] {
            Measured measured = Measure(*flags);
            if (flags->json) {
              PrintReport(*flags, measured);
            } else {
              PrintText(*flags, measured);
            }
          }};
}

}  // namespace epiphyte::cli
