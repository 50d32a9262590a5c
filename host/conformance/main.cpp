// ep_conformance LIBRARY|MANIFEST: holds a plugin against the rules of the plugin API.
//
// Exit code 0: no rule was broken; 1: one was; 2: the suite could not be run.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <optional>

#include "host/conformance/suite.h"

namespace {

int ListRules() {
  for (const auto& rule : epiphyte::conformance::AllRules()) {
    std::cout << "R" << static_cast<int>(rule.rule) << " " << rule.header << ": " << rule.text << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace epiphyte::conformance;
  CLI::App app(
      "Holds an execution provider plugin against the rules of the plugin API, whose numbers stand in its headers.",
      "ep_conformance");
  std::filesystem::path path;
  std::filesystem::path models;
  SuiteOptions options;
  CaseOptions cases;
  bool json = false;
  bool verbose = false;
  bool list = false;
  bool no_fork = false;
  app.add_option("plugin", path, "the plugin's library, or its manifest");
  app.add_option("--models", models,
                 "folder with cases in the layout of ONNX's backend tests, to be run on the plugin alone");
  app.add_option("--expect", cases.expected_failures,
                 "file with the names of cases that are expected to fail, one a line");
  app.add_flag("--json", json, "the report as JSON");
  app.add_flag("--verbose", verbose, "rules that hold and rules that don't apply, too");
  app.add_flag("--rules", list, "list the rules and do nothing else");
  app.add_flag("--no-fork", no_fork, "run the checks in this process, for a debugger");
  CLI11_PARSE(app, argc, argv);
  if (list) return ListRules();
  try {
    if (path.empty()) throw CLI::RequiredError("plugin");
    const Target target = ReadTarget(path);
    options.isolation.fork = !no_fork;
    if (!models.empty()) {
      cases.models = models;
      options.cases = cases;
    }
    std::optional<CaseCounts> counts;
    const std::vector<RuleResult> results = RunSuite(target, options, &counts);
    if (json) {
      WriteJson(std::cout, path.string(), results, counts);
    } else {
      WriteText(std::cout, results, verbose, counts);
    }
    const bool failed = std::any_of(results.begin(), results.end(),
                                    [](const RuleResult& result) { return result.outcome == Outcome::kFail; });
    return failed ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << "ep_conformance: " << error.what() << "\n";
    return 2;
  }
}
