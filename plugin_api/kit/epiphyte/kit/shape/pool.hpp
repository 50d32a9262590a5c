// PoolAttributes: attributes and shapes of MaxPool, AveragePool, LpPool and their global forms.
//
//   const auto attributes = kit::PoolAttributes::Read(node, node.Is("GlobalMaxPool"));
//   const kit::Window window = attributes.Resolve(x);
//   const kit::Dims y = window.OutputDims(x[0], x[1]);
#pragma once

#include <cstdint>

#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/window.hpp"

namespace epiphyte::kit {

struct PoolAttributes {
  WindowAttributes window;
  bool global = false;
  bool ceil_mode = false;
  bool include_pad = false;   // averages count the padding
  bool column_major = false;  // MaxPool's indices are column-major

  // `Node` is any type with String, Ints and Int: ir::Node, NodeView. Throws when a kernel is missing.
  template <typename Node>
  static PoolAttributes Read(const Node& node, bool is_global) {
    PoolAttributes attributes;
    attributes.global = is_global;
    attributes.ceil_mode = node.Int("ceil_mode", 0) != 0;
    attributes.include_pad = node.Int("count_include_pad", 0) != 0;
    attributes.column_major = node.Int("storage_order", 0) != 0;
    if (!is_global) attributes.window = WindowAttributes::Read(node);
    attributes.CheckKernel();
    return attributes;
  }

  // Resolves the attributes for an input [N, C, d…]. Throws Error(EP_STATUS_INVALID_ARGUMENT).
  Window Resolve(const Dims& x) const;
  // The index that MaxPool stores for element `offset` of a plane of x, in the order of storage_order.
  int64_t StoredIndex(int64_t offset, const Dims& x) const;

 private:
  void CheckKernel() const;
};

}  // namespace epiphyte::kit
