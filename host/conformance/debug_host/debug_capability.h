// DebugSink: checks a plugin's claims of a graph against the rules as they arrive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/ep_capability.h"
#include "host/conformance/debug_host/debug_graph.h"

namespace epiphyte::conformance {

struct Claims {
  std::vector<std::vector<size_t>> units;  // node indices of each unit, which was claimed alone or as a group
  bool exact = false;                      // true: one of the units must not be merged
  size_t nodes = 0;

  bool operator==(const Claims&) const = default;
};

class DebugSink {
 public:
  explicit DebugSink(const DebugGraph& graph);
  ~DebugSink();
  DebugSink(const DebugSink&) = delete;
  DebugSink& operator=(const DebugSink&) = delete;

  EpCapabilitySink* handle() const { return handle_; }
  const Claims& claims() const { return claims_; }

  // `flags` are those of EpClaim.
  EpStatus* Add(const EpNode* const* nodes, uint64_t count, const char* name, uint32_t flags);
  EpStatus* Decline(const EpNode* node, const char* reason);

 private:
  const DebugGraph& graph_;
  EpCapabilitySink* handle_;
  Claims claims_;
  std::vector<bool> claimed_;
};

}  // namespace epiphyte::conformance
