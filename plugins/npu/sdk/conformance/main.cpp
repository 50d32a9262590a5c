// nsdk_conformance LIBRARY: holds the SDK of an NPU against the rules of nsdk.h.
//
// Exit code 0: no rule was broken; 1: one was; 2: the suite could not be run. Some rules can't be checked from
// outside, because the check would have to break a rule itself. They stay unchecked: objects that are destroyed twice,
// and calls with an object that is being destroyed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>

#include "suite.h"

namespace {

using epiphyte::nsdk_conformance::KeyValue;

std::vector<KeyValue> Split(const std::vector<std::string>& texts) {
  std::vector<KeyValue> options;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == std::string::npos) throw std::runtime_error("'" + text + "' is no option, expected KEY=VALUE");
    options.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return options;
}

int ListRules() {
  for (const auto& rule : epiphyte::nsdk_conformance::AllRules())
    std::cout << "N" << rule.number << " " << rule.text << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace epiphyte::nsdk_conformance;
  CLI::App app("Holds the SDK of an NPU against the rules of nsdk.h, whose numbers stand in that header.",
               "nsdk_conformance");
  Target target;
  SuiteOptions options;
  std::vector<std::string> own, other;
  std::vector<int> rules;
  int limit = 120;
  bool json = false, verbose = false, list = false, no_fork = false;
  app.add_option("library", target.library, "the SDK's library");
  app.add_option("--option", own, "KEY=VALUE: an option of each context")->allow_extra_args(false);
  app.add_option("--other", other, "KEY=VALUE: an option that makes another architecture, whose blobs must be refused")
      ->allow_extra_args(false);
  app.add_option("--rule", rules, "only this rule; can be given several times");
  app.add_option("--limit", limit, "seconds that each rule may take")->check(CLI::Range(1, 86400));
  app.add_flag("--json", json, "the report as JSON");
  app.add_flag("--verbose", verbose, "rules that hold and rules that don't apply, too");
  app.add_flag("--rules", list, "list the rules and do nothing else");
  app.add_flag("--no-fork", no_fork, "run the checks in this process, for a debugger");
  CLI11_PARSE(app, argc, argv);
  if (list) return ListRules();
  try {
    if (target.library.empty()) throw CLI::RequiredError("library");
    // A name without a slash is a file here, not a library in the system's folders.
    if (target.library.find('/') == std::string::npos) target.library.insert(0, "./");
    target.options = Split(own);
    target.other = Split(other);
    options.fork = !no_fork;
    options.limit = std::chrono::seconds(limit);
    options.rules.insert(rules.begin(), rules.end());
    for (const int rule : rules) {
      const auto known = AllRules();
      if (std::none_of(known.begin(), known.end(), [&](const Rule& one) { return one.number == rule; })) {
        throw std::runtime_error("there is no rule N" + std::to_string(rule) + "; --rules lists them");
      }
    }
    const std::vector<Result> results = RunSuite(target, options);
    if (json) {
      WriteJson(std::cout, target.library, results);
    } else {
      WriteText(std::cout, results, verbose);
    }
    return std::any_of(results.begin(), results.end(),
                       [](const Result& result) { return result.outcome == Outcome::kFail; })
               ? 1
               : 0;
  } catch (const std::exception& error) {
    std::cerr << "nsdk_conformance: " << error.what() << "\n";
    return 2;
  }
}
