// A checked copy of an NsdkGraph; it is consistent whatever the caller's arrays hold. Checked are counts, indices,
// types, ranks, dimensions, scales, zero points, sizes of constants, the order of operators, and that each tensor has
// one writer.
//
//   Graph graph = CopyGraph(nsdk_graph);            // throws InvalidGraph
//   for (const Op& op : graph.ops) { const Tensor& x = graph.tensors[op.inputs[0]]; ... op.Int(NSDK_GROUPS, 1) ... }
//
// Data of constants isn't copied; the caller keeps it for the duration of the call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/npu/sdk/include/nsdk.h"

namespace epiphyte::npusim {

// Thrown if the caller broke a rule of nsdk.h.
class InvalidGraph : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown if the NPU lacks a feature.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Tensor {
  std::string name;
  uint32_t type = NSDK_TYPE_NONE;
  std::vector<int64_t> dims;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // one per scale
  uint32_t axis = 0;                 // axis of several scales
  bool constant = false;
  std::span<const std::byte> data;  // constants only; empty if query_op has no data

  int64_t Elements() const;
  float Scale(size_t i = 0) const { return scales.size() == 1 ? scales[0] : scales[i]; }
  int32_t ZeroPoint(size_t i = 0) const {
    return zero_points.empty() ? 0 : zero_points.size() == 1 ? zero_points[0] : zero_points[i];
  }
};

struct Param {
  std::vector<int64_t> ints;
  std::vector<float> floats;
};

struct Op {
  uint32_t kind = 0;
  std::string name;               // never empty
  std::vector<uint32_t> inputs;   // indices of tensors, or NSDK_NONE
  std::vector<uint32_t> outputs;  // indices of tensors
  std::map<uint32_t, Param> params;

  bool Has(uint32_t key) const { return params.contains(key); }
  // The one integer of the key; `otherwise` if the key isn't given. Throws Unsupported if the parameter has no integer.
  int64_t Int(uint32_t key, int64_t otherwise) const;
  // `count` integers, all of them `otherwise` if the key isn't given. Throws Unsupported if the parameter has another
  // number of them.
  std::vector<int64_t> Ints(uint32_t key, size_t count, int64_t otherwise) const;
  uint32_t Input(size_t i) const { return i < inputs.size() ? inputs[i] : NSDK_NONE; }
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<uint32_t> inputs, outputs;
};

// Maximum rank, dimension and number of elements of an operator's tensors.
inline constexpr uint32_t kMaxRank = 6;
inline constexpr int64_t kMaxDimension = int64_t{1} << 24;
inline constexpr int64_t kMaxElements = int64_t{1} << 30;

uint64_t ElementSize(uint32_t type);  // type is an NsdkType; 0: no type
const char* TypeName(uint32_t type);
const char* KindName(uint32_t kind);              // kind is an NsdkOpKind; "an unknown operator"
std::string ShapeText(std::span<const int64_t>);  // "[1, 3, 224, 224]"

// With `with_data`, constants must have their data (compile); otherwise they may lack it (query_op).
Graph CopyGraph(const NsdkGraph& graph, bool with_data = true, const std::function<void()>& tick = {});

// A graph of this operator alone with the tensors that it uses: for query_op, so that the size of the other operators
// doesn't matter.
Graph CopyOp(const NsdkGraph& graph, uint32_t op);

}  // namespace epiphyte::npusim
