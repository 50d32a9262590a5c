#include "plugins/cpu/exec/plan.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "epiphyte/kit/abi/process_end.hpp"
#include "epiphyte/kit/graph/import.hpp"

namespace epiphyte::cpu {

// KernelInit for the constructor of one node's kernel.
class PlanKernelInit final : public KernelInit {
 public:
  PlanKernelInit(Plan& plan, int32_t node) : plan_(plan), index_(node), node_(plan.def_.nodes[node]) {}

  const ir::Node& node() const override { return node_; }
  const ir::Value& InputInfo(size_t i) const override { return Info(node_.inputs, i); }
  const ir::Value& OutputInfo(size_t i) const override { return Info(node_.outputs, i); }
  bool HasInput(size_t i) const override { return i < node_.inputs.size() && node_.inputs[i] >= 0; }

  const Tensor* Constant(size_t i) const override {
    const int32_t constant = FindConstant(i);
    return constant < 0 ? nullptr : &plan_.OwnConstant(static_cast<size_t>(constant));
  }
  const Tensor* PeekConstant(size_t i) const override {
    const int32_t constant = FindConstant(i);
    return constant < 0 ? nullptr : &plan_.constants_[static_cast<size_t>(constant)];
  }

  const void* Packed(std::string_view key, std::string_view format, uint64_t bytes,
                     const std::function<void(void*)>& fill) const override {
    auto position = First();
    for (; position != plan_.packed_.end() && position->node == index_; ++position) {
      if (position->key != key) continue;
      if (position->format == format && position->bytes == bytes) return position->data;
      // Another kind of CPU made the context: replace its packed data.
      Fill(*position, format, bytes, fill);
      plan_.repacked_ = true;
      return position->data;
    }
    kit::PackedData packed;
    packed.node = index_;
    packed.key = key;
    Fill(packed, format, bytes, fill);
    return plan_.packed_.insert(position, std::move(packed))->data;
  }
  const void* StoredPacked(std::string_view key, std::string* format, uint64_t* bytes) const override {
    for (auto packed = First(); packed != plan_.packed_.end() && packed->node == index_; ++packed) {
      if (packed->key != key) continue;
      *format = packed->format;
      *bytes = packed->bytes;
      return packed->data;
    }
    return nullptr;
  }

  void Drop(size_t i) const override {
    if (const int32_t constant = FindConstant(i); constant >= 0) ++plan_.drops_[static_cast<size_t>(constant)];
  }
  void MayStayInPlace(size_t i) const override {
    if (const int32_t constant = FindConstant(i); constant >= 0) ++plan_.in_place_[static_cast<size_t>(constant)];
  }
  bool PackedIsCurrent() const override { return plan_.packed_is_current_; }
  bool AllowsBfloat16() const override { return plan_.bfloat16_; }
  bool AllowsSplitFloats() const override { return plan_.split_floats_; }
  bool OutputMayBeBfloat16(size_t i) const override {
    return i < node_.outputs.size() && node_.outputs[i] >= 0 && plan_.may_be_bfloat16(node_.outputs[i]);
  }
  uint32_t thread_count() const override { return plan_.threads_.Count(); }
  void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) const override {
    plan_.threads_.ParallelFor(count, grain, body);
  }

 private:
  const ir::Value& Info(const std::vector<int32_t>& values, size_t i) const {
    return i < values.size() && values[i] >= 0 ? plan_.def_.values[values[i]] : absent_;
  }
  // Index of the constant at input i, or -1.
  int32_t FindConstant(size_t i) const { return HasInput(i) ? plan_.def_.constant_of_value[node_.inputs[i]] : -1; }
  // The node's first entry; entries are sorted by node.
  std::vector<kit::PackedData>::iterator First() const {
    return std::lower_bound(plan_.packed_.begin(), plan_.packed_.end(), index_,
                            [](const kit::PackedData& packed, int32_t node) { return packed.node < node; });
  }
  void Fill(kit::PackedData& packed, std::string_view format, uint64_t bytes,
            const std::function<void(void*)>& fill) const {
    std::shared_ptr<void> memory = plan_.arena_.Allocate(bytes);
    fill(memory.get());
    plan_.packed_unreported_ += bytes;
    if (plan_.weights_ != nullptr) memory = plan_.weights_->Share(std::move(memory), bytes);
    packed.format = format;
    packed.bytes = bytes;
    packed.data = memory.get();
    packed.owner = std::move(memory);
  }

  Plan& plan_;
  int32_t index_;
  const ir::Node& node_;
  ir::Value absent_;
};

std::unique_ptr<Plan> Plan::Build(ir::Graph def, const PlanConfig& config, std::vector<kit::PackedData> packed) {
  std::unique_ptr<Plan> plan(new Plan);
  plan->def_ = std::move(def);
  plan->threads_ = config.threads;
  plan->bfloat16_ = config.bfloat16;
  plan->split_floats_ = config.split_floats;
  plan->packed_is_current_ = config.packed_is_current;
  plan->weights_ = config.weights;
  plan->retain_ = config.retain ? &config.retain : nullptr;
  plan->drop_ = config.drop ? &config.drop : nullptr;
  plan->registry_ = config.registry;
  plan->packed_ = std::move(packed);
  const std::vector<KernelRegistry::Choice> choices =
      VerifyPlan(plan->def_, plan->packed_, *config.registry, config.origin);
  plan->Analyse(choices);
  plan->BuildKernels(config, choices);
  plan->KeepConstants();
  plan->weights_ = nullptr;
  plan->arena_ = {};
  plan->retain_ = nullptr;
  plan->drop_ = nullptr;
  plan->droppable_ = {};
  plan->in_place_ = {};
  return plan;
}

void Plan::Analyse(const std::vector<KernelRegistry::Choice>& choices) {
  const size_t values = def_.values.size();
  const size_t nodes = def_.nodes.size();
  value_class_.assign(values, ValueClass::kComputed);
  last_use_.assign(values, -1);
  graph_output_.assign(values, -1);
  wants_row_major_.assign(values, false);
  may_be_bfloat16_.assign(values, true);
  drops_.assign(def_.constants.size(), 0);
  in_place_.assign(def_.constants.size(), 0);
  uses_.assign(def_.constants.size(), 0);
  for (int32_t input : def_.inputs) value_class_[input] = ValueClass::kInput;
  constants_.reserve(def_.constants.size());
  for (const ir::Constant& constant : def_.constants) {
    value_class_[constant.value] = ValueClass::kConstant;
    constants_.push_back(ViewOf(constant.tensor));
  }

  for (size_t n = 0; n < nodes; ++n) {
    const ir::Node& node = def_.nodes[n];
    input_begin_.push_back(static_cast<uint32_t>(node_inputs_.size()));
    output_begin_.push_back(static_cast<uint32_t>(node_outputs_.size()));
    const bool takes_bfloat16 = choices[n].certain && choices[n].entry->takes_bfloat16_layouts;
    for (int32_t value : node.inputs) {
      node_inputs_.push_back(value);
      if (value < 0) continue;
      if (!takes_bfloat16) may_be_bfloat16_[value] = false;
      last_use_[value] = static_cast<int32_t>(n);
      if (def_.constant_of_value[value] >= 0) ++uses_[def_.constant_of_value[value]];
    }
    for (int32_t value : node.outputs) {
      node_outputs_.push_back(value);
      if (value >= 0) last_use_[value] = static_cast<int32_t>(n);
    }
  }
  input_begin_.push_back(static_cast<uint32_t>(node_inputs_.size()));
  output_begin_.push_back(static_cast<uint32_t>(node_outputs_.size()));
  for (size_t i = 0; i < def_.outputs.size(); ++i) {
    const int32_t value = def_.outputs[i];
    last_use_[value] = kForever;
    wants_row_major_[value] = true;
    may_be_bfloat16_[value] = false;
    if (graph_output_[value] < 0) graph_output_[value] = static_cast<int32_t>(i);
    if (def_.constant_of_value[value] >= 0) ++uses_[def_.constant_of_value[value]];
  }
  // Propagate from readers to producers.
  for (size_t n = nodes; n-- > 0;) {
    const LayoutUse use = choices[n].entry->layouts;
    if (use == LayoutUse::kTakesAny || use == LayoutUse::kMakes) continue;
    const std::span<const int32_t> outputs = node_outputs(n);
    const bool wanted = use == LayoutUse::kRowMajor || std::any_of(outputs.begin(), outputs.end(), [&](int32_t value) {
                          return value >= 0 && wants_row_major_[value];
                        });
    if (!wanted) continue;
    for (int32_t value : node_inputs(n))
      if (value >= 0) wants_row_major_[value] = true;
  }

  dying_begin_.assign(nodes + 1, 0);
  const auto dies = [&](size_t value) {
    return value_class_[value] == ValueClass::kComputed && last_use_[value] >= 0 && last_use_[value] != kForever;
  };
  for (size_t value = 0; value < values; ++value)
    if (dies(value)) ++dying_begin_[last_use_[value] + 1];
  for (size_t n = 0; n < nodes; ++n) dying_begin_[n + 1] += dying_begin_[n];
  dying_.resize(dying_begin_[nodes]);
  std::vector<uint32_t> next(dying_begin_.begin(), dying_begin_.end() - 1);
  for (size_t value = 0; value < values; ++value)
    if (dies(value)) dying_[next[last_use_[value]]++] = static_cast<int32_t>(value);
}

namespace {

constexpr uint64_t kPackedBetweenReports = uint64_t{32} << 20;

// The order in which kernels are made. During packing, a weight is in memory twice. Nodes with large weights come
// first, while the packed weights of the others do not exist yet.
std::vector<size_t> BuildOrder(const ir::Graph& def) {
  constexpr uint64_t kLarge = uint64_t{8} << 20;
  std::vector<size_t> order(def.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<uint64_t> large(def.nodes.size(), 0);
  for (size_t n = 0; n < def.nodes.size(); ++n)
    for (const int32_t value : def.nodes[n].inputs)
      if (const ir::Constant* constant = value < 0 ? nullptr : def.FindConstant(value))
        if (const uint64_t bytes = constant->tensor.Bytes(); bytes >= kLarge) large[n] = std::max(large[n], bytes);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return large[a] > large[b]; });
  return order;
}

}  // namespace

void Plan::BuildKernels(const PlanConfig& config, const std::vector<KernelRegistry::Choice>& choices) {
  const size_t count = def_.nodes.size();
  kernels_.resize(count);
  std::stable_sort(packed_.begin(), packed_.end(),
                   [](const kit::PackedData& a, const kit::PackedData& b) { return a.node < b.node; });
  if (drop_ != nullptr) droppable_ = ir::Droppable(def_);
  // Drops the constants that a fusion has replaced.
  for (size_t i = 0; i < def_.constants.size(); ++i) ForgetConstant(i);
  size_t made = 0;
  for (const size_t n : BuildOrder(def_)) {
    kit::ProcessEnd::ThrowIfBegun();
    const ir::Node& node = def_.nodes[n];
    const auto fail = [&](EpStatusCode code, const char* what) {
      throw kit::Error(code, FormatText("node '{}' ({}): {}", node.name, node.op_type, what));
    };
    has_deferred_kernels_ = has_deferred_kernels_ || !choices[n].certain;
    try {
      if (choices[n].certain) kernels_[n] = choices[n].entry->factory(PlanKernelInit(*this, static_cast<int32_t>(n)));
    } catch (const kit::Error& error) {
      fail(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      fail(EP_STATUS_OUT_OF_MEMORY, "out of memory; free memory or use a smaller model");
    } catch (const std::exception& error) {
      fail(EP_STATUS_EP_FAIL, error.what());
    }
    for (int32_t value : node.inputs)
      if (value >= 0 && def_.constant_of_value[value] >= 0)
        ForgetConstant(static_cast<size_t>(def_.constant_of_value[value]));
    // Reports often enough for quick cancellation, and for the host to unmap the weights that have been read.
    ++made;
    const bool report = made % 64 == 0 || made == count || packed_unreported_ > kPackedBetweenReports;
    if (config.progress && report) {
      packed_unreported_ = 0;
      config.progress(made, count);
    }
  }
}

namespace {

// True when a constant is retained rather than copied. A retained constant keeps the model's file mapped, and a small
// one is not worth that. Kernels read weights in whole cache lines, so an unaligned constant is better copied, unless
// all its readers take any address.
bool IsWorthRetaining(const void* data, uint64_t bytes, bool at_any_address) {
  constexpr uint64_t kWorthIt = uint64_t{64} << 10;
  constexpr uintptr_t kCacheLine = 64;
  return bytes >= kWorthIt && (at_any_address || reinterpret_cast<uintptr_t>(data) % kCacheLine == 0);
}

}  // namespace

void Plan::SetData(size_t i, const void* data) {
  def_.constants[i].tensor.data = data;
  constants_[i].data = const_cast<void*>(data);
}

const Tensor& Plan::OwnConstant(size_t i) {
  ir::Constant& constant = def_.constants[i];
  if (constant.storage == ir::Constant::Storage::kDropped)
    throw kit::Error(EP_STATUS_INVALID_GRAPH,
                     FormatText("the context holds no data for constant '{}'; compile the model "
                                "again",
                                def_.values[constant.value].name));
  if (constant.storage == ir::Constant::Storage::kBorrowed && constant.tensor.data != nullptr) {
    const uint64_t bytes = constant.tensor.Bytes();
    const bool at_any_address = in_place_[i] + drops_[i] >= uses_[i];
    if (retain_ != nullptr && constant.handle != nullptr &&
        IsWorthRetaining(constant.tensor.data, bytes, at_any_address)) {
      (*retain_)(constant);
    } else {
      std::shared_ptr<void> memory = arena_.Allocate(bytes);
      std::memcpy(memory.get(), constant.tensor.data, bytes);
      if (weights_ != nullptr) memory = weights_->Share(std::move(memory), bytes);
      SetData(i, memory.get());
      constant.owner = std::move(memory);
    }
  }
  constant.storage = ir::Constant::Storage::kOwned;
  constant.handle = nullptr;
  return constants_[i];
}

// Drops a weight as soon as the last kernel has packed it, both weights of the host and weights that a fusion made.
// Otherwise all weights of a network would be in memory twice.
void Plan::ForgetConstant(size_t i) {
  ir::Constant& constant = def_.constants[i];
  if (constant.storage != ir::Constant::Storage::kBorrowed || drops_[i] < uses_[i]) return;
  if (drop_ != nullptr && droppable_[i]) {
    (*drop_)(constant);
  } else if (constant.owner == nullptr || uses_[i] == 0) {
    return;
  }
  SetData(i, nullptr);
  constant.owner.reset();
}

// The host unmaps its constants when Compile returns. A constant that a kernel still reads is retained or copied; the
// others are dropped.
void Plan::KeepConstants() {
  for (size_t i = 0; i < def_.constants.size(); ++i) {
    ir::Constant& constant = def_.constants[i];
    if (drops_[i] < uses_[i]) {
      OwnConstant(i);
    } else if (constant.storage == ir::Constant::Storage::kBorrowed || drops_[i] > 0) {
      constant.storage = ir::Constant::Storage::kDropped;
      constant.handle = nullptr;
      SetData(i, nullptr);
      constant.tensor.strings.reset();
      constants_[i].strings.reset();
      constant.owner.reset();
    }
  }
}

std::shared_ptr<const MemoryPlan> Plan::FindMemoryPlan(const ShapeSignature& signature) const {
  const std::lock_guard lock(memory_plans_mutex_);
  const auto found = std::find_if(memory_plans_.begin(), memory_plans_.end(),
                                  [&](const auto& plan) { return plan->signature == signature; });
  if (found == memory_plans_.end()) return nullptr;
  std::rotate(found, found + 1, memory_plans_.end());
  return memory_plans_.back();
}

void Plan::AddMemoryPlan(std::shared_ptr<const MemoryPlan> plan) const {
  constexpr size_t kMost = 16;
  const std::lock_guard lock(memory_plans_mutex_);
  for (auto& known : memory_plans_) {
    if (known->signature == plan->signature) {
      known = std::move(plan);
      return;
    }
  }
  if (memory_plans_.size() >= kMost) memory_plans_.erase(memory_plans_.begin());
  memory_plans_.push_back(std::move(plan));
}

}  // namespace epiphyte::cpu
