#include "host/conformance/suite.h"

#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/registry/manifest.h"
#include "core/registry/platform.h"
#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path LibraryOf(const core::Manifest& manifest) {
  for (const std::string& platform : {std::string(core::CurrentPlatform()), std::string()}) {
    const auto found = manifest.library.find(platform);
    if (found != manifest.library.end()) return manifest.path.parent_path() / found->second;
  }
  core::Fail(core::StatusCode::kInvalidArgument, "manifest '{}' names no library for {}", manifest.path.string(),
             core::CurrentPlatform());
}

}  // namespace

Target ReadTarget(const fs::path& path) {
  if (!fs::is_regular_file(path)) {
    core::Fail(core::StatusCode::kNoSuchFile, "'{}' is no file; a plugin's library or its manifest is expected",
               path.string());
  }
  Target target;
  const fs::path file = fs::canonical(path);
  if (file.extension() != ".yaml" && file.extension() != ".yml") {
    target.library = file;
    return target;
  }
  const core::Manifest manifest = core::ParseManifest(ReadText(file), file);
  target.manifest = file;
  target.library = LibraryOf(manifest);
  if (!fs::is_regular_file(target.library)) {
    core::Fail(core::StatusCode::kNoSuchFile, "manifest '{}' names the library '{}', which is no file", file.string(),
               target.library.string());
  }
  target.library = fs::canonical(target.library);
  target.name = manifest.name;
  target.version = manifest.version;
  target.sources = manifest.sources;
  target.options = manifest.options;
  target.parameters = manifest.parameters;
  return target;
}

std::vector<RuleResult> RunSuite(const Target& target, const SuiteOptions& options, std::optional<CaseCounts>* counts) {
  Journal journal;
  // Each area depends on the areas before it. After a failure, the later areas are not reached, because they would fail
  // for the same reason.
  for (const std::span<const Check> checks :
       {LibraryChecks(), OptionChecks(), DeviceMemoryChecks(), DeviceStreamChecks(), ProviderChecks(), ExecuteChecks(),
        DeviceKernelChecks(), ContextChecks(), ShareChecks(), SchemaChecks(), ReportChecks()}) {
    for (const Check& check : checks) {
      RunIsolated(journal, options.isolation, [&] { check.run(journal, target); });
      if (!journal.broken().empty())
        core::Fail(core::StatusCode::kFail, "check '{}' could not be made: {}", check.name, journal.broken());
    }
    if (journal.HasFailure()) break;
  }
  const std::initializer_list<Rule> of_cases = {Rule::kCasesAreRight, Rule::kCasesViaContext,
                                                Rule::kCasesViaEmbeddedContext, Rule::kExpectedFailuresFail};
  if (!options.cases) {
    NotApplicable(journal, of_cases, "no cases were given; see --models");
  } else if (journal.HasFailure()) {
    NotApplicable(journal, of_cases, "cases are run when all other rules hold");
  } else {
    const CaseCounts found = RunOperatorCases(journal, target, *options.cases);
    if (counts != nullptr) *counts = found;
  }
  return Summarize(journal.findings());
}

}  // namespace epiphyte::conformance
