#include "host/cli/probe.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>

#include "epiphyte/error.hpp"
#include "host/cli/child_process.h"
#include "host/cli/interrupt.h"
#include "host/cli/plugin_report.h"
#include "host/cli/process_state.h"

namespace epiphyte::cli {
namespace {

// The report has a line "step …" before each operation of the plugin, a line "changed …" for each change that the
// plugin made to the process, and a line "found …" with JSON. The plugin may write to standard output, so the report
// has a descriptor of its own. The plugin could write to that, too, so the report is checked before use.
constexpr int kReportDescriptor = 3;
constexpr std::string_view kStep = "step ";
constexpr std::string_view kFound = "found ";
constexpr std::string_view kChanged = "changed ";
constexpr size_t kMostChanges = 32;
// In its log, the host reports rule violations in lines with this text.
constexpr std::string_view kWarning = " warning abi: ";
constexpr size_t kMaxReport = 1 << 20;
constexpr std::string_view kDone = "done";
constexpr std::string_view kBlameVendor =
    "report this to the plugin's vendor and disable it in epiphyte.yaml until then";
constexpr std::string_view kDamaged = "damaged report";

void WriteLine(std::string_view kind, std::string_view text) {
  std::string line = std::string(kind) + std::string(text) + '\n';
  for (std::string_view left = line; !left.empty();) {
    const ssize_t written = write(kReportDescriptor, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw Error(StatusCode::kFail, "the report can't be written; --probe is for epiphyte doctor");
    left.remove_prefix(static_cast<size_t>(written));
  }
}

std::string ThisProgram() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return program.string();
  const auto* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (name == nullptr) throw Error(StatusCode::kFail, "this program's file is not known; mount /proc");
  return std::filesystem::absolute(name).string();
}

struct Report {
  std::string step;
  std::vector<std::string> changes;
  Json found;  // null: nothing was found
};

Report ReadReport(const std::string& text) {
  Report report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kStep)) report.step = PrintableText(line.substr(kStep.size()), 200);
    if (line.starts_with(kChanged) && report.changes.size() < kMostChanges) {
      report.changes.push_back(PrintableText(line.substr(kChanged.size()), 300));
    }
    if (line.starts_with(kFound)) report.found = Json::parse(line.substr(kFound.size()), nullptr, false);
  }
  if (report.found.is_discarded()) report.found = nullptr;
  return report;
}

// Adds the warnings of the host's log about the plugin.
void AddWarnings(const std::string& log, std::vector<std::string>* notes) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line) && notes->size() < kMostChanges;) {
    const size_t found = line.find(kWarning);
    if (found != std::string::npos) notes->push_back(PrintableText(line.substr(found + kWarning.size()), 500));
  }
}

std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// Returns the abnormal end of the child; "" when it ended normally.
std::string EndOf(const ChildResult& child) {
  if (child.timed_out) return "timeout";
  if (child.signal != 0) return SignalName(child.signal);
  return child.code == 0 ? "" : "exit code " + std::to_string(child.code);
}

void Explain(const ChildResult& child, std::chrono::seconds limit, Probed* probed) {
  PluginInfo& plugin = probed->plugin;
  plugin.state = "InitFailed";
  plugin.devices.clear();
  const std::string during = " while the host was " + (probed->step.empty() ? "starting" : probed->step);
  if (child.timed_out) {
    plugin.message = "it did not answer within " + std::to_string(limit.count()) + " s" + during;
    plugin.hint = "look after its device and driver, give it more time with --timeout, or disable it in epiphyte.yaml";
    return;
  }
  if (probed->end == kDamaged) {
    plugin.message = "it wrote to descriptor " + std::to_string(kReportDescriptor) +
                     ", which it had not opened, and damaged the report of what it can do";
    plugin.hint = kBlameVendor;
    return;
  }
  const std::string last = LastLine(child.err);
  // The C++ library prints this text before it ends a process with an uncaught exception. A library's initialisers have
  // no caller that could catch one.
  if (child.signal == SIGABRT && last.ends_with("std::bad_alloc")) {
    plugin.message = "it found no memory" + during + ", and ended the process with " + probed->end;
    plugin.hint = "give the process more memory (ulimit -v, the limit of its container)";
    return;
  }
  plugin.message = child.signal != 0 ? "it crashed with " + probed->end + during
                                     : "it ended the process with " + probed->end + during;
  if (!last.empty()) {
    plugin.message += "; the last that it said: " + PrintableText(last, 200);
  }
  plugin.hint = kBlameVendor;
}

// Reports the plugin's changes to the process, step by step.
class ChangeReporter {
 public:
  // Changes that are found now were made in the previous step.
  void Begin(std::string_view step) {
    Finish();
    WriteLine(kStep, step);
    step_ = step;
  }
  void Finish() {
    const ProcessState now = ProcessState::Current();
    for (const std::string& change : now.ChangesSince(state_)) WriteLine(kChanged, step_ + ": " + change);
    state_ = now;
  }

 private:
  ProcessState state_ = ProcessState::Current();
  std::string step_ = "starting";
};

// Probing a name tries the next plugin with that name when the first fails.
PluginInfo ProbeOne(const PluginCatalog& catalog, const std::string& manifest, ChangeReporter* reporter) {
  const auto listed = [&] {
    for (PluginInfo& plugin : catalog.List()) {
      if (plugin.manifest == manifest) return std::move(plugin);
    }
    throw Error(StatusCode::kNotFound, "no plugin has the manifest '" + manifest + "'");
  };
  PluginInfo found = catalog.Probe(listed().name, [reporter](std::string_view step) { reporter->Begin(step); });
  return found.manifest == manifest ? found : listed();
}

}  // namespace

Probed ProbeInChild(const PluginInfo& listed, std::chrono::seconds limit, const std::vector<std::string>& flags) {
  std::vector<std::string> words = {ThisProgram(), "doctor", "--probe", listed.manifest.string()};
  words.insert(words.end(), flags.begin(), flags.end());
  const ChildResult child =
      RunChild({.words = std::move(words), .out_descriptor = kReportDescriptor, .limit = limit, .max_out = kMaxReport});
  const Report report = ReadReport(child.out);
  Probed probed = {listed, "", EndOf(child)};
  if (probed.end.empty()) {
    if (child.out.size() >= kMaxReport) {
      probed.end = kDamaged;
    } else if (report.step != kDone) {
      probed.end = "exit code 0";  // the plugin ended the process before the last line
    } else if (!AddFindings(report.found, &probed.plugin)) {
      probed.end = kDamaged;
    }
  }
  if (!probed.end.empty()) {
    probed.step = report.step == kDone ? "" : report.step;
    Explain(child, limit, &probed);
  }
  std::vector<std::string>& notes = probed.plugin.notes;
  notes.insert(notes.end(), report.changes.begin(), report.changes.end());
  AddWarnings(child.err, &notes);
  return probed;
}

void ReportProbe(const std::string& manifest, const PluginFlags& flags) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // if the parent dies, nothing else ends this process
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setenv("EPIPHYTE_LOG", "warning", 1);  // the host's warnings are part of the report
  auto environment = std::make_unique<const Environment>(flags.Open());
  ChangeReporter reporter;  // made after the environment, which installs a signal handler for mapped files
  const PluginInfo found = ProbeOne(environment->plugins(), manifest, &reporter);
  reporter.Finish();
  WriteLine(kFound, Findings(found).dump(-1, ' ', true, Json::error_handler_t::replace));
  reporter.Begin("calling Shutdown");
  environment.reset();
  reporter.Begin(kDone);
}

}  // namespace epiphyte::cli
