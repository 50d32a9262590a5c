// Probes: small graphs of common operators with inputs and the outputs that ONNX defines. The suite compiles and runs
// those that a plugin claims.
#pragma once

#include <string>
#include <vector>

#include "host/conformance/debug_host/debug_run.h"
#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/plugin/session.h"

namespace epiphyte::conformance {

struct Probe {
  std::string name;
  GraphSpec graph;  // one partition if the plugin claims all of it
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> expected;  // expected elements of each output

  // Returns the graph as the partition `partition_name`.
  GraphSpec As(const std::string& partition_name) const;
  // Returns the graph with another element type for all values.
  GraphSpec WithType(EpElementType type) const;
};

std::vector<Probe> AllProbes();
// Returns the probes that the provider claims completely and that may be one partition.
std::vector<Probe> ClaimedProbes(Session& session);
// Returns the probes with an unknown first dimension, and with inputs of no rows.
std::vector<Probe> EmptyProbes();

// Returns "" when `found` is as the probe expects, else the difference.
std::string Difference(const Probe& probe, const std::vector<Tensor>& found);

}  // namespace epiphyte::conformance
