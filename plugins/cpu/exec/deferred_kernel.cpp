// Kernels of nodes with types that are known only during a run, such as the nodes behind a custom operator.
#include <algorithm>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/exec/plan.h"

namespace epiphyte::cpu {

struct Plan::DeferredSet {
  std::vector<ArgumentType> inputs;
  std::vector<std::shared_ptr<void>> packed;
  std::unique_ptr<Kernel> kernel;
};

// A node once its inputs have arrived. Its constants are the plan's, because no kernel dropped them. It owns the data
// that it packs.
class LateKernelInit final : public KernelInit {
 public:
  LateKernelInit(const Plan& plan, const ir::Node& node, std::span<const ArgumentType> inputs,
                 std::vector<std::shared_ptr<void>>* packed)
      : plan_(plan), node_(node), packed_(packed), inputs_(node.inputs.size()) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      inputs_[i] = plan.def_.values[static_cast<size_t>(node.inputs[i])];
      inputs_[i].kind = inputs[i].kind;
      inputs_[i].type = inputs[i].type;
    }
  }

  const ir::Node& node() const override { return node_; }
  const ir::Value& InputInfo(size_t i) const override { return i < inputs_.size() ? inputs_[i] : absent_; }
  const ir::Value& OutputInfo(size_t i) const override {
    return i < node_.outputs.size() && node_.outputs[i] >= 0 ? plan_.def_.values[static_cast<size_t>(node_.outputs[i])]
                                                             : absent_;
  }
  bool HasInput(size_t i) const override { return i < node_.inputs.size() && node_.inputs[i] >= 0; }
  const Tensor* Constant(size_t i) const override {
    const int32_t constant = HasInput(i) ? plan_.def_.constant_of_value[static_cast<size_t>(node_.inputs[i])] : -1;
    return constant < 0 ? nullptr : &plan_.constants_[static_cast<size_t>(constant)];
  }
  const void* Packed(std::string_view, std::string_view, uint64_t bytes,
                     const std::function<void(void*)>& fill) const override {
    packed_->push_back(kit::AllocateShared(bytes));
    fill(packed_->back().get());
    return packed_->back().get();
  }
  bool AllowsBfloat16() const override { return plan_.bfloat16_; }
  bool AllowsSplitFloats() const override { return plan_.split_floats_; }
  void Drop(size_t) const override {}
  uint32_t thread_count() const override { return plan_.threads_.Count(); }
  void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) const override {
    plan_.threads_.ParallelFor(count, grain, body);
  }

 private:
  const Plan& plan_;
  const ir::Node& node_;
  std::vector<std::shared_ptr<void>>* packed_;
  std::vector<ir::Value> inputs_;
  ir::Value absent_;
};

Plan::Plan() = default;
Plan::~Plan() = default;

std::shared_ptr<const Kernel> Plan::DeferredKernel(size_t node, std::span<const ArgumentType> inputs) const {
  // The limit equals that for memory plans. It bounds the memory of kernels, with their packed weights, when types
  // vary.
  constexpr size_t kMost = 16;
  const auto same = [&](const std::shared_ptr<const DeferredSet>& made) {
    return std::equal(inputs.begin(), inputs.end(), made->inputs.begin(), made->inputs.end());
  };
  const std::lock_guard lock(late_mutex_);
  std::vector<std::shared_ptr<const DeferredSet>>& known = late_[node];
  if (const auto found = std::find_if(known.begin(), known.end(), same); found != known.end()) {
    std::rotate(found, found + 1, known.end());
    return {known.back(), known.back()->kernel.get()};
  }

  const ir::Node& def = def_.nodes[node];
  std::vector<ArgumentType> outputs;
  DescribeArguments(def.outputs, def_.values, &outputs);
  std::string why;
  const KernelRegistry::Choice choice =
      registry_->Find(def.domain, def.op_type, def.since_version, inputs, outputs, &why);
  if (choice.entry == nullptr) throw kit::Error(EP_STATUS_INVALID_ARGUMENT, why);
  auto made = std::make_shared<DeferredSet>();
  made->inputs.assign(inputs.begin(), inputs.end());
  made->kernel = choice.entry->factory(LateKernelInit(*this, def, inputs, &made->packed));
  if (known.size() >= kMost) known.erase(known.begin());
  known.push_back(made);
  return {made, made->kernel.get()};
}

}  // namespace epiphyte::cpu
