// operators --ep cpu,vulkan,npu [--cases N] [--first M] [--operator NAME] [--type T] [--form LIST]
//
// Runs the catalogue of operators on plugins of the build tree. Prints a line for each operator and a closing line for
// each provider. The files expected/<provider>.txt beside this one list the cases that must fail.
//
// Exit code 0: all results are as expected; 1: some are not; 2: wrong arguments; 77: a provider has no device.
#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "host/conformance/cases/expectations.h"
#include "host/conformance/operators/catalogue_arguments.h"
#include "tests/framework/test_session.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::operators {
namespace {

constexpr int kNoDevice = 77;

// Returns the tolerance for results of a provider of this repository, compared with the reference.
Tolerance ToleranceOf(const std::string& provider) {
  // GPUs divide, and compute exponentials, with errors of a few ULPs of the type.
  if (provider == "vulkan") return {.factor = 4, .ulps = 4};
  // NPUs round halves upwards; QuantizeLinear rounds them to even.
  if (provider == "npu") return {.quantum = 1};
  return {};
}

// Returns whether all results are as expected.
bool RunProvider(const std::string& provider, CatalogueOptions options, bool verbose) {
  options.runner = {.provider = provider, .tolerance = ToleranceOf(provider)};
  if (provider == "vulkan" && *vulkan::TestPreference() != '\0')
    options.runner.provider_options["prefer"] = vulkan::TestPreference();
  options.make_environment = test::BuildTreeEnvironment;
  const auto file = std::filesystem::path(EPIPHYTE_EXPECTED_FAILURES) / (provider + ".txt");
  if (std::filesystem::exists(file)) options.expected_failures = conformance::ReadExpectations(file);
  const CatalogueReport report = RunCatalogue(options);
  WriteText(std::cout, report, verbose);
  return report.HasPassed();
}

int Main(int argc, char** argv) {
  CLI::App app("Runs the catalogue of operators on plugins of the build tree.", "operators");
  std::vector<std::string> providers;
  CatalogueArguments arguments;
  bool verbose = false;
  app.add_option("--ep", providers, "providers, with commas")->delimiter(',')->required();
  arguments.AddTo(app);
  app.add_flag("--verbose", verbose, "all failures with their tensors, and why cases are not claimed");
  CLI11_PARSE(app, argc, argv);
  bool has_passed = true;
  for (const std::string& provider : providers) {
    if (provider == "vulkan" && !vulkan::PinLavapipe()) {
      std::cout << "vulkan: " << vulkan::kNoLavapipe << "\n";
      return kNoDevice;
    }
    has_passed = RunProvider(provider, arguments.Options(), verbose) && has_passed;
  }
  return has_passed ? 0 : 1;
}

}  // namespace
}  // namespace epiphyte::operators

int main(int argc, char** argv) {
  try {
    return epiphyte::operators::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "operators: " << error.what() << "\n";
    return 2;
  }
}
