// Data of EPContext nodes that a provider makes or loads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/context_node.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// Answer of GetEpContextNodes for one partition. Fields that the provider left out are empty.
struct ContextNode : ContextAttributes {
  uint32_t partition = 0;
  // Index into ContextNodes::payloads; -1: no payload, or the share group's last session writes it.
  int32_t payload = -1;
};

// Receives a payload's bytes while the plugin writes them.
class PayloadWriter {
 public:
  virtual ~PayloadWriter() = default;
  virtual void Write(const void* data, uint64_t size) = 0;
  virtual void End() = 0;
};

struct ContextNodes {
  std::vector<ContextNode> nodes;
  std::vector<std::unique_ptr<PayloadWriter>> payloads;
  std::string compatibility_info;
};

// One EPContext node to load.
struct ContextNodeToLoad : ContextAttributes {
  const Node* node = nullptr;
  int32_t blob = -1;
  std::vector<TypePtr> output_types;
};

}  // namespace epiphyte::core
