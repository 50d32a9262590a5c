// Runs the catalogue on a vendor's plugin, for ep_conformance.
//
//   const CatalogueReport report = RunCatalogueOn(ReadTarget("libacme_ep.so"), arguments.Options());
#pragma once

#include "host/conformance/operators/catalogue.h"
#include "host/conformance/plugin/plugin_library.h"

namespace epiphyte::operators {

// Runs the cases on the plugin alone; no other plugin of the machine can replace it. `options` need no environment and
// no provider. Throws as RunCatalogue does.
CatalogueReport RunCatalogueOn(const conformance::Target& target, CatalogueOptions options);

}  // namespace epiphyte::operators
