// onnx_backend_test DIR [--list] [--ep NAME[,NAME]...] [--via-context | --via-embedded-context] [--filter GLOB]
//                   [--expect FILE]... [--ep-option PROVIDER.KEY=VALUE]... [--claimed] [--why] [--at-least N] [--runs N]
//
// Runs every case below DIR that has the layout of ONNX's backend tests. Each failing case gives one line. The last
// line is "N passed, N failed". The exit code is 0 when all passed or, with --expect, when exactly the listed ones
// failed.
//
// --claimed: runs only the cases that the providers of --ep claim completely, without the fallback. The number of the
// other cases is printed. With --why each of them is listed with its first node that the providers do not claim.
// --at-least: the minimum number of cases that must pass. --runs: number of runs of each data set in one session.

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/session.h"
#include "tests/onnx_backend/backend_case.h"
#include "host/conformance/cases/expectations.h"
#include "host/conformance/process/isolated_runs.h"

namespace epiphyte::test {
namespace {

using conformance::CaseResult;
using conformance::FindSurprises;
using conformance::IsolatedTasks;
using conformance::ReadExpectations;
using conformance::RunIsolated;

constexpr std::chrono::seconds kCaseTimeout(60);

constexpr const char* kUsage =
    "usage: onnx_backend_test DIR [--list] [--ep NAME[,NAME]...] [--via-context | --via-embedded-context] [--filter GLOB] "
    "[--expect FILE]... [--ep-option PROVIDER.KEY=VALUE]... [--claimed] [--why] [--at-least N] [--runs N]";

struct Arguments {
  std::filesystem::path root;
  bool list = false;
  std::string filter = "*";
  std::vector<std::filesystem::path> expectations;
  bool why = false;
  size_t at_least = 0;
  BackendRunOptions run;
};

Arguments ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--list") {
      arguments.list = true;
    } else if (argument == "--via-context") {
      arguments.run.via_context = true;
    } else if (argument == "--via-embedded-context") {
      arguments.run.via_context = arguments.run.embed_context = true;
    } else if (argument == "--claimed") {
      arguments.run.claimed_only = true;
    } else if (argument == "--why") {
      arguments.why = true;
    } else if (argument == "--at-least" && has_value) {
      arguments.at_least = std::stoul(argv[++i]);
    } else if (argument == "--runs" && has_value) {
      arguments.run.runs = std::stoi(argv[++i]);
    } else if (argument == "--filter" && has_value) {
      arguments.filter = argv[++i];
    } else if (argument == "--expect" && has_value) {
      arguments.expectations.push_back(argv[++i]);
    } else if (argument == "--ep" && has_value) {
      std::istringstream names(argv[++i]);
      for (std::string name; std::getline(names, name, ',');) arguments.run.providers.push_back(name);
    } else if (argument == "--ep-option" && has_value) {
      const std::string_view option = argv[++i];
      const size_t dot = option.find('.'), equals = option.find('=');
      if (dot == std::string_view::npos || equals == std::string_view::npos || equals < dot)
        throw std::invalid_argument(kUsage);
      arguments.run.provider_options[std::string(option.substr(0, dot))]
                                    [std::string(option.substr(dot + 1, equals - dot - 1))] = option.substr(equals + 1);
    } else if (!argument.starts_with("-") && arguments.root.empty()) {
      arguments.root = argument;
    } else {
      throw std::invalid_argument(kUsage);
    }
  }
  if (arguments.root.empty()) throw std::invalid_argument(kUsage);
  if (!std::filesystem::is_directory(arguments.root)) {
    throw std::invalid_argument("'" + arguments.root.string() + "' is not a folder; Debian's libonnx-testdata has " +
                                "cases in /usr/share/libonnx-testdata/data");
  }
  // Only an explicitly listed provider writes contexts; the automatic fallback does not.
  if (arguments.run.via_context && arguments.run.providers.empty()) arguments.run.providers = {"cpu"};
  return arguments;
}

std::vector<BackendCase> SelectCases(const Arguments& arguments) {
  std::vector<BackendCase> cases = FindBackendCases(arguments.root);
  std::erase_if(cases,
                [&](const BackendCase& test) { return fnmatch(arguments.filter.c_str(), test.name.c_str(), 0) != 0; });
  return cases;
}

std::vector<CaseResult> RunCases(const std::vector<BackendCase>& cases, const BackendRunOptions& options) {
  std::unique_ptr<core::Environment> environment;
  IsolatedTasks tasks;
  tasks.count = cases.size();
  tasks.start = [&] { environment = std::make_unique<core::Environment>(core::CatalogOptions{}); };
  tasks.run = [&](size_t index) { return RunBackendCase(*environment, cases[index], options); };
  const std::vector<std::string> failures =
      RunIsolated(tasks, kCaseTimeout, [](const std::string& cause) { return "CRASH: " + cause; });

  std::vector<CaseResult> results;
  for (size_t i = 0; i < cases.size(); ++i) results.push_back({cases[i].name, failures[i]});
  return results;
}

int Main(const Arguments& arguments) {
  const std::vector<BackendCase> cases = SelectCases(arguments);
  if (arguments.list) {
    for (const BackendCase& test : cases) std::printf("%s\n", test.name.c_str());
    return 0;
  }
  std::vector<CaseResult> results = RunCases(cases, arguments.run);
  const size_t all = results.size();
  std::set<std::string> not_claimed;
  std::erase_if(results, [&](const CaseResult& result) {
    if (!result.failure.starts_with(kNotClaimed)) return false;
    not_claimed.insert(result.name);
    if (arguments.why) std::printf("%s: %s\n", result.name.c_str(), result.failure.c_str());
    return true;
  });
  size_t failed = 0;
  for (const CaseResult& result : results) {
    if (result.failure.empty()) continue;
    ++failed;
    std::printf("FAIL %s: %s\n", result.name.c_str(), result.failure.c_str());
  }
  bool good = failed == 0;
  if (!arguments.expectations.empty()) {
    std::set<std::string> expected;
    for (const std::filesystem::path& file : arguments.expectations) expected.merge(ReadExpectations(file));
    for (const std::string& name : not_claimed) expected.erase(name);  // these cases did not run
    const std::vector<std::string> surprises = FindSurprises(expected, results);
    for (const std::string& surprise : surprises) std::printf("UNEXPECTED: %s\n", surprise.c_str());
    good = surprises.empty();
  }
  const size_t passed = results.size() - failed;
  if (arguments.run.claimed_only) std::printf("%zu of %zu cases claimed\n", results.size(), all);
  if (passed < arguments.at_least) {
    std::printf("at least %zu must pass\n", arguments.at_least);
    good = false;
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  try {
    return epiphyte::test::Main(epiphyte::test::ParseArguments(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "onnx_backend_test: %s\n", error.what());
    return 2;
  }
}
