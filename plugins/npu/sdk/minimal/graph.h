// Graphs as this SDK keeps them: taken from a caller's nsdk.h structs or from a blob, checked, then never changed.
//
//   Graph graph = TakeGraph(nsdk_graph);      // throws Error: the caller broke a rule, or the SDK lacks that operator
//   graph.name, graph.tensors[graph.ops[0].inputs[0]].dims
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nsdk.h"

namespace epiphyte::minimal {

struct Error {
  NsdkStatus status;
  std::string text;
};

[[noreturn]] inline void Fail(NsdkStatus status, const std::string& text) { throw Error{status, text}; }

// A copy of the caller's struct, with zeros beyond the size that the caller knows.
template <typename T>
T Take(const T& theirs) {
  T mine = {};
  std::memcpy(&mine, &theirs, std::min<size_t>(theirs.struct_size, sizeof mine));
  return mine;
}

// Element `index` of the caller's array. The struct size of the first element is the stride.
template <typename T>
T TakeElement(const T* first, size_t index) {
  return Take(*reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + index * first->struct_size));
}

struct Tensor {
  std::string name;
  uint32_t type = NSDK_TYPE_NONE;
  std::vector<int64_t> dims;
  std::vector<float> scales;  // empty: not quantised
  std::vector<int32_t> zero_points;
  uint32_t axis = 0;
  bool constant = false;
  const uint8_t* data = nullptr;  // data of a constant; null in a query

  int64_t Elements() const;
  uint64_t Bytes() const;
  double Scale(size_t channel = 0) const { return scales.empty() ? 1 : scales[scales.size() == 1 ? 0 : channel]; }
  int32_t ZeroPoint(size_t channel = 0) const {
    return scales.empty() ? 0 : zero_points[scales.size() == 1 ? 0 : channel];
  }
};

struct Op {
  uint32_t kind = 0;
  std::string name;
  std::vector<uint32_t> inputs;  // indices of tensors, or NSDK_NONE
  std::vector<uint32_t> outputs;
  std::map<uint32_t, std::vector<int64_t>> params;
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<uint32_t> inputs, outputs;
};

// The smallest and the largest number of a type.
struct Range {
  explicit Range(uint32_t type)
      : low(type == NSDK_UINT8  ? 0
            : type == NSDK_INT8 ? -128
                                : INT32_MIN),
        high(type == NSDK_UINT8  ? 255
             : type == NSDK_INT8 ? 127
                                 : INT32_MAX) {}
  int64_t low, high;
};

Tensor TakeTensor(const NsdkGraph& graph, uint32_t index);
Op TakeOp(const NsdkGraph& graph, uint32_t index);

// Copies and checks a whole graph. Its constants point to the caller's data.
Graph TakeGraph(const NsdkGraph& graph);

// Checks that hold for any tensor and graph, whatever its origin; bytes of a blob can be anything.
void CheckTensor(const Tensor& tensor);
void CheckGraph(const Graph& graph);

// --- operators.cpp

// One operator with pointers to its tensors.
struct Step {
  const Op* op;
  std::vector<const Tensor*> in;  // null: left out
  const Tensor* out;
};

Step MakeStep(const Graph& graph, const Op& op);

// Throws NSDK_UNSUPPORTED with the reason. A step that passes can be run with any numbers.
void CheckStep(const Step& step);

// Runs one operator. `tick` is called often with the part of the operator that is done. An exception of `tick` ends the
// operator.
void RunStep(const Step& step, const std::vector<const uint8_t*>& in, uint8_t* out,
             const std::function<void(double)>& tick);

inline constexpr uint64_t kOperators = 1ull << NSDK_CONV | 1ull << NSDK_MATMUL | 1ull << NSDK_ADD |
                                       1ull << NSDK_MAX_POOL | 1ull << NSDK_AVERAGE_POOL | 1ull << NSDK_LOOKUP |
                                       1ull << NSDK_RESHAPE | 1ull << NSDK_RESCALE;

}  // namespace epiphyte::minimal
