// Probes: small graphs of common operators with inputs and the outputs that ONNX defines. What a plugin claims of them
// is what the suite compiles and runs.
#pragma once

#include <string>
#include <vector>

#include "host/conformance/debug_host/debug_run.h"
#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/plugin/session.h"

namespace epiphyte::conformance {

struct Probe {
  std::string name;
  GraphSpec graph;  // one partition, when all of it is claimed
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> expected;  // expected elements of each output

  // The graph as the partition `name`.
  GraphSpec As(const std::string& partition_name) const;
  // The same with another element type everywhere.
  GraphSpec WithType(EpElementType type) const;
};

std::vector<Probe> AllProbes();
// The probes that the provider claims whole and that may be one partition.
std::vector<Probe> ClaimedProbes(Session& session);
// The same graphs with a first dimension that isn't known, and inputs without a row.
std::vector<Probe> EmptyProbes();

// "" when `found` is what the probe expects, else what differs.
std::string Difference(const Probe& probe, const std::vector<Tensor>& found);

}  // namespace epiphyte::conformance
