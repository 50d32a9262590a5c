// EPContext nodes as a provider makes and loads them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/context_node.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

// What GetEpContextNodes gave for one partition; what the provider left out is empty.
struct ContextNode : ContextAttributes {
  uint32_t partition = 0;
  int32_t payload = -1;  // index into ContextNodes::payloads; -1: none, or of the share group's last session
};

// Where a payload's bytes go while the plugin writes them.
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
