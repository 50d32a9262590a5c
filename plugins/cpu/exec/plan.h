// Plan: a partition that is ready to run. It is immutable once built and shared by all frames.
//
//   std::unique_ptr<Plan> plan = Plan::Build(std::move(def), {&registry, threads});
//   Frame frame(*plan);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "epiphyte/kit/abi/threads.hpp"
#include "epiphyte/kit/memory/weight_arena.hpp"
#include "epiphyte/kit/memory/weight_pool.hpp"
#include "plugins/cpu/exec/memory_plan.h"
#include "plugins/cpu/exec/verify.h"

namespace epiphyte::cpu {

struct PlanConfig {
  const KernelRegistry* registry = nullptr;  // outlives the plan
  kit::Threads threads;
  bool bfloat16 = false;
  bool split_floats = false;
  PlanOrigin origin = PlanOrigin::kMadeNow;
  bool packed_is_current = false;      // see KernelInit::PackedIsCurrent
  kit::WeightPool* weights = nullptr;  // shares equal weights among plans; null: each plan has its own
  std::function<void(uint64_t done, uint64_t total)> progress;  // may throw to cancel
  // Keeps a borrowed constant's data mapped, as ir::Retain does. Empty: constants are copied.
  std::function<void(ir::Constant& constant)> retain;
  // Tells the host that a borrowed constant's data is no longer read, as ir::Drop does. May be empty.
  std::function<void(ir::Constant& constant)> drop;
};

class Plan {
 public:
  // Builds the plan from `def` after verifying it (verify.h). `packed`: packed data from a loaded context; empty for a
  // fresh compilation. Throws kit::Error with the node's name in front.
  static std::unique_ptr<Plan> Build(ir::Graph def, const PlanConfig& config, std::vector<kit::PackedData> packed = {});
  ~Plan();

  const ir::Graph& def() const { return def_; }
  // The graph's constant i as kernels see it.
  const Tensor& constant(size_t i) const { return constants_[i]; }
  const std::vector<kit::PackedData>& packed() const { return packed_; }
  const kit::Threads& threads() const { return threads_; }
  // True when packed data had to be converted because the context was made for another kind of CPU.
  bool repacked() const { return repacked_; }

  size_t node_count() const { return kernels_.size(); }
  // Null when an input's type is unknown before the run; call DeferredKernel then.
  const Kernel* kernel(size_t node) const { return kernels_[node].get(); }
  bool has_deferred_kernels() const { return has_deferred_kernels_; }
  // Returns the kernel of a node with types unknown before the run, for the inputs that arrived. The plan keeps a few
  // kernels of each node, the most recently used ones, and makes another one on demand. Throws kit::Error when no
  // kernel takes the inputs. [any thread]
  std::shared_ptr<const Kernel> DeferredKernel(size_t node, std::span<const ArgumentType> inputs) const;
  std::span<const int32_t> node_inputs(size_t node) const {
    return {node_inputs_.data() + input_begin_[node], input_begin_[node + 1] - input_begin_[node]};
  }
  std::span<const int32_t> node_outputs(size_t node) const {
    return {node_outputs_.data() + output_begin_[node], output_begin_[node + 1] - output_begin_[node]};
  }

  enum class ValueClass : uint8_t { kComputed, kInput, kConstant };
  ValueClass value_class(int32_t value) const { return value_class_[value]; }
  // Index of the last node that reads the value; of its producer when no node reads it; kForever for graph outputs.
  static constexpr int32_t kForever = INT32_MAX;
  int32_t last_use(int32_t value) const { return last_use_[value]; }
  // Values with their last use at a node.
  std::span<const int32_t> dying(size_t node) const {
    return {dying_.data() + dying_begin_[node], dying_begin_[node + 1] - dying_begin_[node]};
  }
  // First graph output that is this value, or -1.
  int32_t graph_output(int32_t value) const { return graph_output_[value]; }
  bool wants_row_major(int32_t value) const { return wants_row_major_[value]; }
  // True when all readers of the value take floats in a bfloat16 layout.
  bool may_be_bfloat16(int32_t value) const { return may_be_bfloat16_[value]; }

  // Memory plans that frames learned, shared by frames with the same input shapes. [any thread]
  std::shared_ptr<const MemoryPlan> FindMemoryPlan(const ShapeSignature& signature) const;
  void AddMemoryPlan(std::shared_ptr<const MemoryPlan> plan) const;

 private:
  friend class PlanKernelInit;
  friend class LateKernelInit;
  struct DeferredSet;
  Plan();
  void Analyse(const std::vector<KernelRegistry::Choice>& choices);
  void BuildKernels(const PlanConfig& config, const std::vector<KernelRegistry::Choice>& choices);
  void KeepConstants();
  const Tensor& OwnConstant(size_t i);
  void SetData(size_t i, const void* data);
  void ForgetConstant(size_t i);

  ir::Graph def_;
  kit::Threads threads_;
  bool bfloat16_ = false;
  bool split_floats_ = false;
  bool packed_is_current_ = false;
  uint64_t packed_unreported_ = 0;      // bytes packed since the last progress report
  kit::WeightPool* weights_ = nullptr;  // only while building, as are retain_ and drop_
  kit::WeightArena arena_;              // memory for packed weights
  const std::function<void(ir::Constant&)>* retain_ = nullptr;
  const std::function<void(ir::Constant&)>* drop_ = nullptr;
  std::vector<bool> droppable_;  // per constant; only while building
  bool repacked_ = false;
  std::vector<kit::PackedData> packed_;
  std::vector<Tensor> constants_;
  std::vector<uint32_t> drops_;     // drops by kernels, per constant
  std::vector<uint32_t> in_place_;  // kernels that take the constant unaligned, per constant; only while building
  std::vector<uint32_t> uses_;      // uses by nodes and graph outputs, per constant

  std::vector<uint32_t> input_begin_, output_begin_, dying_begin_;
  std::vector<int32_t> node_inputs_, node_outputs_, dying_;
  std::vector<ValueClass> value_class_;
  std::vector<int32_t> last_use_, graph_output_;
  std::vector<bool> wants_row_major_, may_be_bfloat16_;
  std::vector<std::unique_ptr<Kernel>> kernels_;

  bool has_deferred_kernels_ = false;
  const KernelRegistry* registry_ = nullptr;  // outlives the plan
  mutable std::mutex late_mutex_;
  mutable std::map<size_t, std::vector<std::shared_ptr<const DeferredSet>>> late_;  // by node; most recently used last

  mutable std::mutex memory_plans_mutex_;
  mutable std::vector<std::shared_ptr<const MemoryPlan>> memory_plans_;  // most recently used last
};

}  // namespace epiphyte::cpu
