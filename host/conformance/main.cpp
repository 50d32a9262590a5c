// ep_conformance LIBRARY|MANIFEST: checks a plugin against the rules of the plugin API.
//
// Exit code 0: no rule was broken and no case of --operators failed; 1: a rule was broken or a case failed; 2: the
// suite could not run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>

#include "host/conformance/cases/expectations.h"
#include "host/conformance/operators/catalogue_arguments.h"
#include "host/conformance/operators/plugin_catalogue.h"
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
  bool operators = false;
  std::vector<std::filesystem::path> expected_operators;
  epiphyte::operators::CatalogueArguments arguments;
  bool json = false;
  bool verbose = false;
  bool list = false;
  bool no_fork = false;
  app.add_option("plugin", path, "the plugin's library, or its manifest");
  app.add_option("--models", models,
                 "folder with cases in the layout of ONNX's backend tests, to be run on the plugin alone");
  app.add_option("--expect", cases.expected_failures,
                 "file with the names of cases that are expected to fail, one a line");
  app.add_flag("--operators", operators, "random and hostile cases of every operator, run when all rules hold");
  arguments.AddTo(app);
  app.add_option("--expect-operators", expected_operators,
                 "file with the names of such cases that are expected to fail, one a line: Conv/plain/17");
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
    const bool holds = std::none_of(results.begin(), results.end(),
                                    [](const RuleResult& result) { return result.outcome == Outcome::kFail; });
    std::optional<epiphyte::operators::CatalogueReport> catalogue;
    if (operators && holds) {
      epiphyte::operators::CatalogueOptions all = arguments.Options();
      for (const auto& file : expected_operators) all.expected_failures.merge(ReadExpectations(file));
      catalogue = epiphyte::operators::RunCatalogueOn(target, std::move(all));
    }
    if (json) {
      WriteJson(std::cout, path.string(), results, counts, catalogue ? ToJson(*catalogue) : "");
    } else {
      WriteText(std::cout, results, verbose, counts);
      if (catalogue) WriteText(std::cout, *catalogue, verbose);
    }
    return holds && (!catalogue || catalogue->HasPassed()) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "ep_conformance: " << error.what() << "\n";
    return 2;
  }
}
