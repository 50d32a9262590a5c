#include "host/conformance/operators/plugin_catalogue.h"

#include <utility>

#include "host/conformance/plugin_manifest.h"
#include "host/conformance/suite.h"

namespace epiphyte::operators {
namespace {

// A vendor's kernels may sum in another order and use the device's own functions.
constexpr Tolerance kTolerance = {.factor = 16, .ulps = 16, .quantum = 1};

}  // namespace

CatalogueReport RunCatalogueOn(const conformance::Target& target, CatalogueOptions options) {
  const conformance::ScratchFolder scratch;
  const core::CatalogOptions catalog = conformance::CatalogOf(target, scratch.path());
  options.runner.provider = conformance::ReadTarget(catalog.paths.at(0)).name;
  options.runner.tolerance = kTolerance;
  options.make_environment = [&] { return std::make_unique<core::Environment>(catalog); };
  return RunCatalogue(options);
}

}  // namespace epiphyte::operators
