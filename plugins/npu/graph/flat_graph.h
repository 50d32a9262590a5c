// FlatGraph: a graph of nsdk.h together with all the memory that its pointers refer to.
//
//   FlatGraph graph("main_0");
//   const uint32_t x = graph.AddTensor("x", NSDK_INT8, dims, {{0.5f}, {0}});
//   const uint32_t y = …;
//   graph.AddOp(NSDK_RESCALE, "rescale", {x}, {y}).Ints(NSDK_LOW, {0});
//   graph.SetPorts({x}, {y});
//   context.WhyNot(graph.Get(), 0);
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugins/npu/sdk/include/nsdk.h"

namespace epiphyte::npu {

// Quantisation: real = (stored - zero point) * scale. No scale means not quantised; several scales belong to the
// indices of `axis`.
struct Scaling {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // one per scale
  uint32_t axis = 0;
  friend bool operator==(const Scaling&, const Scaling&) = default;
};

class FlatGraph {
 public:
  class Op {
   public:
    Op& Ints(NsdkParamKey key, std::vector<int64_t> ints);
    Op& Floats(NsdkParamKey key, std::vector<float> floats);

   private:
    friend class FlatGraph;
    struct Param {
      uint32_t key;
      std::vector<int64_t> ints;
      std::vector<float> floats;
    };
    NsdkOpKind kind = NSDK_RESCALE;
    std::string name;
    std::vector<uint32_t> inputs, outputs;
    std::vector<Param> params;
    std::vector<NsdkParam> flat;
  };

  explicit FlatGraph(std::string name) : name_(std::move(name)) {}
  FlatGraph(const FlatGraph&) = delete;
  FlatGraph& operator=(const FlatGraph&) = delete;

  uint32_t AddTensor(std::string name, uint32_t type, std::span<const int64_t> dims, Scaling scaling);
  // `data` may be null if the bytes aren't needed, as in a query. `owner` keeps the bytes alive; with a null owner the
  // caller keeps them as long as the graph.
  uint32_t AddConstant(std::string name, uint32_t type, std::span<const int64_t> dims, Scaling scaling,
                       const void* data, uint64_t bytes, std::shared_ptr<const void> owner = {});
  // The reference is valid as long as the graph.
  Op& AddOp(NsdkOpKind kind, std::string name, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  void SetPorts(std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  // Sets the ports of a graph for operator queries. Tensors that no operator writes become inputs; tensors that none
  // reads become outputs.
  void SetPortsOfOps();

  uint32_t op_count() const { return static_cast<uint32_t>(ops_.size()); }
  NsdkOpKind KindOf(uint32_t op) const { return ops_[op].kind; }

  // The reference is valid until the graph is changed.
  const NsdkGraph& Get();

 private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> dims;
    Scaling scaling;
    std::shared_ptr<const void> owner;
    NsdkTensor flat = {};
  };

  std::string name_;
  std::deque<Tensor> tensors_;
  std::deque<Op> ops_;
  std::vector<uint32_t> inputs_, outputs_;
  std::vector<NsdkTensor> flat_tensors_;
  std::vector<NsdkOp> flat_ops_;
  NsdkGraph flat_ = {};
};

}  // namespace epiphyte::npu
