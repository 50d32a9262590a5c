// A checked copy of an NsdkGraph: whatever the caller's arrays hold, what is in here is consistent. Counts, indices,
// types, ranks, dimensions, scales, zero points, constants' sizes, the order of operators, who writes what.
//
//   Graph graph = CopyGraph(nsdk_graph);            // throws InvalidGraph
//   for (const Op& op : graph.ops) { const Tensor& x = graph.tensors[op.inputs[0]]; ... op.Int(NSDK_GROUPS, 1) ... }
//
// Data of constants stays where the caller has it, for as long as the call lasts.
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

// The caller broke a rule of nsdk.h.
class InvalidGraph : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The NPU doesn't have that.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Tensor {
  std::string name;
  uint32_t type = NSDK_TYPE_NONE;
  std::vector<int64_t> dims;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // as many as scales
  uint32_t axis = 0;                 // of scales, where there are several
  bool constant = false;
  std::span<const std::byte> data;  // of a constant; empty where query_op has none

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
  // One integer; otherwise where the key isn't given. Throws Unsupported where it has none.
  int64_t Int(uint32_t key, int64_t otherwise) const;
  // count integers, all of them otherwise where the key isn't given. Throws Unsupported for another number of them.
  std::vector<int64_t> Ints(uint32_t key, size_t count, int64_t otherwise) const;
  uint32_t Input(size_t i) const { return i < inputs.size() ? inputs[i] : NSDK_NONE; }
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<uint32_t> inputs, outputs;
};

// What operators may have at most.
inline constexpr uint32_t kMaxRank = 6;
inline constexpr int64_t kMaxDimension = int64_t{1} << 24;
inline constexpr int64_t kMaxElements = int64_t{1} << 30;

uint64_t ElementSize(uint32_t type);  // of NsdkType; 0: no type
const char* TypeName(uint32_t type);
const char* KindName(uint32_t kind);              // of NsdkOpKind; "an unknown operator"
std::string ShapeText(std::span<const int64_t>);  // "[1, 3, 224, 224]"

// with_data: constants must have their data (compile); else they may lack it (query_op).
Graph CopyGraph(const NsdkGraph& graph, bool with_data = true, const std::function<void()>& tick = {});

// A graph of that operator alone with the tensors that it uses: for query_op, whatever the size of the rest.
Graph CopyOp(const NsdkGraph& graph, uint32_t op);

}  // namespace epiphyte::npusim
