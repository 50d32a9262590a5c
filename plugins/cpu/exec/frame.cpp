#include "plugins/cpu/exec/frame.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/memory/intervals.hpp"
#include "plugins/cpu/exec/values.h"
#include "plugins/cpu/onednn/layout.h"

namespace epiphyte::cpu {

Frame::Frame(const Plan& plan, const kit::Run& run) : plan_(plan), limits_(run.host()) {
  const EpRunInfo& info = run.info();
  const ir::Graph& def = plan.def();
  slots_.resize(def.values.size());
  states_.resize(plan.node_count());
  if (plan.has_deferred_kernels()) late_.resize(plan.node_count());
  for (size_t i = 0; i < def.constants.size(); ++i) {
    Datum& datum = slots_[def.constants[i].value].datum;
    datum.kind = Datum::Kind::kTensor;
    datum.tensor = plan.constant(i);
  }
  // Kernels were chosen by the declared types.
  for (size_t i = 0; i < def.inputs.size(); ++i) {
    const ir::Value& declared = def.values[def.inputs[i]];
    const EpValueView* view = info.inputs[i];
    if (view != nullptr && view->kind == EP_KIND_TENSOR)
      CheckType(def.inputs[i], view->tensor->element_type);
    else if (view != nullptr && declared.kind == EP_KIND_TENSOR)
      FailOp("input '{}' is no tensor; one of {} expected", declared.name, TypeName(declared.type));
    if (view != nullptr && (declared.kind == EP_KIND_SEQUENCE || declared.kind == EP_KIND_MAP) &&
        view->kind != declared.kind)
      FailOp("input '{}' is no {}; one is expected", declared.name, declared.kind == EP_KIND_MAP ? "map" : "sequence");
  }
  AppendSignature(info, signature_);
  if (auto known = plan.FindMemoryPlan(signature_)) {
    Adopt(std::move(known));
  } else {
    profiling_ = true;
  }
}

Frame::~Frame() {
  EndRun();
  if (scratch_ != nullptr) kit::FreeHeap(scratch_);
}

uint64_t Frame::memory_bytes() const { return (memory_plan_ ? memory_plan_->arena_bytes : 0) + scratch_size_; }

void Frame::FailType(int32_t value, ElementType type) const {
  const ir::Value& declared = plan_.def().values[static_cast<size_t>(value)];
  FailOp("value '{}' is of type {}; {} expected", declared.name, TypeName(type), TypeName(declared.type));
}

namespace {

ArgumentType ToArgument(const Datum& datum) {
  switch (datum.kind) {
    case Datum::Kind::kTensor: return {true, EP_KIND_TENSOR, datum.tensor.type, -1};
    case Datum::Kind::kSequence: return {true, EP_KIND_SEQUENCE, EP_TYPE_UNDEFINED, -1};
    case Datum::Kind::kMap: return {true, EP_KIND_MAP, EP_TYPE_UNDEFINED, -1};
    case Datum::Kind::kEmptyOptional: return {true, EP_KIND_OPTIONAL, EP_TYPE_UNDEFINED, -1};
    case Datum::Kind::kAbsent: break;
  }
  return {};
}

}  // namespace

const Kernel& Frame::ChooseKernel(int32_t node) {
  arrived_.clear();
  for (size_t i = 0; i < input_count_; ++i)
    arrived_.push_back(inputs_[i] < 0 ? ArgumentType() : ToArgument(slots_[static_cast<size_t>(inputs_[i])].datum));
  DeferredChoice& choice = late_[static_cast<size_t>(node)];
  if (choice.kernel == nullptr || choice.inputs != arrived_) {
    choice.kernel = plan_.DeferredKernel(static_cast<size_t>(node), arrived_);
    choice.inputs = arrived_;
    states_[static_cast<size_t>(node)].reset();  // the state belonged to another kernel
  }
  return *choice.kernel;
}

void Frame::AppendSignature(const EpRunInfo& info, ShapeSignature& signature) {
  for (uint32_t i = 0; i < info.input_count; ++i) {
    const EpValueView* view = info.inputs[i];
    signature.push_back(view == nullptr ? -1 : view->kind);
    if (view == nullptr || view->kind != EP_KIND_TENSOR) continue;
    signature.push_back(view->tensor->element_type);
    signature.push_back(view->tensor->rank);
    signature.insert(signature.end(), view->tensor->dims, view->tensor->dims + view->tensor->rank);
  }
}

bool Frame::Matches(const EpRunInfo& info) const {
  const int64_t* expected = signature_.data();
  const int64_t* const end = expected + signature_.size();
  for (uint32_t i = 0; i < info.input_count; ++i) {
    const EpValueView* view = info.inputs[i];
    if (expected == end || *expected++ != (view == nullptr ? -1 : static_cast<int64_t>(view->kind))) return false;
    if (view == nullptr || view->kind != EP_KIND_TENSOR) continue;
    const EpTensorView& tensor = *view->tensor;
    if (*expected++ != tensor.element_type || *expected++ != tensor.rank) return false;
    for (uint32_t d = 0; d < tensor.rank; ++d)
      if (*expected++ != tensor.dims[d]) return false;
  }
  return expected == end;
}

void Frame::BindInputs(const EpRunInfo& info) {
  const std::vector<int32_t>& inputs = plan_.def().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const EpValueView* view = info.inputs[i];
    Slot& slot = slots_[inputs[i]];
    if (view == nullptr) {
      slot.datum.kind = Datum::Kind::kAbsent;
    } else if (view->kind == EP_KIND_TENSOR && slot.ready) {
      slot.datum.tensor.data = const_cast<void*>(view->tensor->data);
    } else {
      slot.datum = ImportValue(*view);
      slot.ready = view->kind == EP_KIND_TENSOR && view->tensor->element_type != EP_TYPE_STRING;
      if (!slot.ready) {
        slot.managed = true;
        managed_.push_back(inputs[i]);
      }
    }
  }
}

void Frame::Execute(const kit::Run& run) {
  const EpRunInfo& info = run.info();
  run_ = &run;
  node_ = -1;
  try {
    // Counting memory costs a call in each run, so small frames are not counted.
    if (memory_bytes() >= kWorthCounting) Count(memory_bytes());
    BindInputs(info);
    const auto count = static_cast<int32_t>(plan_.node_count());
    for (int32_t n = 0; n < count; ++n) {
      node_ = n;
      const std::span<const int32_t> inputs = plan_.node_inputs(n);
      const std::span<const int32_t> outputs = plan_.node_outputs(n);
      inputs_ = inputs.data();
      input_count_ = inputs.size();
      outputs_ = outputs.data();
      output_count_ = outputs.size();
      any_layout_inputs_ = 0;
      run.ThrowIfCancelled();
      const Kernel* const kernel = plan_.kernel(static_cast<size_t>(n));
      (kernel != nullptr ? *kernel : ChooseKernel(n)).Run(*this);
      if (scratch_used_ != 0) {
        scratch_most_ = std::max(scratch_most_, scratch_used_);
        scratch_used_ = 0;
        for (void* memory : scratch_overflow_) kit::FreeHeap(memory);
        scratch_overflow_.clear();
      }
      if (profiling_) EndWatchedNode();
    }
    EmitOutputs(info);
    if (profiling_) BuildMemoryPlan();
    const bool fits = fallbacks_.empty();
    EndRun();
    GrowScratch();
    if (is_warmup_) [[unlikely]] {
      is_warmup_ = false;
      if (!fits) DiscardMemoryPlan();
    }
  } catch (const kit::Error& error) {
    EndRun();
    if (node_ < 0) throw;
    const ir::Node& node = plan_.def().nodes[node_];
    throw kit::Error(error.code(), FormatText("node '{}' ({}): {}", node.name, node.op_type, error.what()));
  } catch (const std::bad_alloc&) {
    EndRun();
    throw;
  } catch (const std::exception& error) {
    EndRun();
    if (node_ < 0) throw;
    const ir::Node& node = plan_.def().nodes[node_];
    throw kit::Error(EP_STATUS_EP_FAIL, FormatText("node '{}' ({}): {}", node.name, node.op_type, error.what()));
  }
}

void Frame::EmitOutputs(const EpRunInfo& info) {
  const ir::Graph& def = plan_.def();
  for (size_t i = 0; i < def.outputs.size(); ++i) {
    const int32_t value = def.outputs[i];
    Slot& slot = slots_[value];
    const auto index = static_cast<uint32_t>(i);
    if (slot.emitted && plan_.graph_output(value) == static_cast<int32_t>(i)) continue;
    if (plan_.value_class(value) == Plan::ValueClass::kInput) {
      const size_t input =
          static_cast<size_t>(std::find(def.inputs.begin(), def.inputs.end(), value) - def.inputs.begin());
      if (info.inputs[input] == nullptr) FailOp("output '{}' is an input that is absent", def.values[value].name);
      run_->SetOutput(index, run_->Share(*info.inputs[input]));
    } else if (slot.datum.kind == Datum::Kind::kTensor && slot.datum.tensor.type == EP_TYPE_STRING) {
      ExportStrings(*run_, index, slot.datum.tensor);
    } else if (slot.datum.kind == Datum::Kind::kTensor) {
      const Tensor& tensor = slot.datum.tensor;
      void* const data = run_->Output<void>(index, tensor.type, tensor.dims);
      if (tensor.layout) {
        CopyRowMajor(slot, data);
      } else if (tensor.Bytes() != 0) {
        std::memcpy(data, tensor.data, tensor.Bytes());
      }
    } else {
      if (slot.datum.kind == Datum::Kind::kAbsent)
        FailOp("output '{}' was not made by its node", def.values[value].name);
      run_->SetOutput(index, ExportValue(*run_, slot.datum));
    }
  }
}

void Frame::EndRun() noexcept {
  for (int32_t value : managed_) {
    Slot& slot = slots_[value];
    slot.managed = false;
    slot.ready = false;
    slot.datum = Datum();
  }
  managed_.clear();
  for (void* memory : fallbacks_) kit::FreeHeap(memory);
  fallbacks_.clear();
  for (void* memory : scratch_overflow_) kit::FreeHeap(memory);
  scratch_overflow_.clear();
  scratch_used_ = 0;
  if (!storages_.empty()) {  // an earlier profiled run ended early
    for (Storage& storage : storages_)
      if (storage.users != 0) kit::FreeHeap(storage.memory);
    storages_.clear();
    for (Slot& slot : slots_) {
      slot.storage = -1;
      slot.plan = {};
      if (slot.plain) slot.plain->storage = -1;
    }
  }
  for (auto& [bytes, memory] : free_) kit::FreeHeap(memory);
  free_.clear();
  for (Slot& slot : discarded_) slot.datum = Datum();
}

int32_t Frame::NewStorage(uint64_t bytes) {
  Storage storage;
  storage.bytes = bytes;
  storage.users = 1;
  storage.first = node_;
  // Reuse the memory of a dead storage unless it is much too large.
  const auto fit = std::lower_bound(free_.begin(), free_.end(), bytes,
                                    [](const auto& entry, uint64_t need) { return entry.first < need; });
  if (fit != free_.end() && fit->first <= bytes * 2 + 4096) {
    storage.memory = fit->second;
    storage.bytes = fit->first;
    free_.erase(fit);
  } else {
    storage.memory = AllocateCounted(bytes);
  }
  storages_.push_back(storage);
  return static_cast<int32_t>(storages_.size()) - 1;
}

void Frame::ReleaseStorage(int32_t& index) {
  if (index < 0) return;
  Storage& storage = storages_[index];
  if (--storage.users == 0) {
    storage.last = node_;
    const auto position = std::lower_bound(free_.begin(), free_.end(), storage.bytes,
                                           [](const auto& entry, uint64_t size) { return entry.first < size; });
    free_.emplace(position, storage.bytes, storage.memory);
  }
}

void Frame::EndWatchedNode() {
  for (int32_t value : plan_.dying(node_)) {
    Slot& slot = slots_[value];
    ReleaseStorage(slot.storage);
    if (slot.plain) ReleaseStorage(slot.plain->storage);
  }
}

void Frame::BuildMemoryPlan() {
  for (Storage& storage : storages_) {
    if (storage.users == 0) continue;
    storage.last = static_cast<int32_t>(plan_.node_count());
    storage.users = 0;
    kit::FreeHeap(storage.memory);
  }
  auto learned = std::make_shared<MemoryPlan>();
  learned->signature = signature_;
  learned->values.resize(slots_.size());
  // Bytes needed of each storage: a reused one may be larger.
  std::vector<kit::MemoryInterval> intervals(storages_.size());
  for (size_t i = 0; i < storages_.size(); ++i) {
    intervals[i].first = storages_[i].first;
    intervals[i].last = storages_[i].last;
  }
  for (Slot& slot : slots_) {
    if (slot.storage >= 0 && slot.plan.origin == ValueOrigin::kFresh) intervals[slot.storage].bytes = slot.plan.bytes;
    if (slot.plain && slot.plain->storage >= 0) intervals[slot.plain->storage].bytes = slot.plan.plain_bytes;
  }
  learned->arena_bytes = kit::PlaceIntervals(intervals);
  for (size_t value = 0; value < slots_.size(); ++value) {
    Slot& slot = slots_[value];
    MemoryPlan::Value& entry = learned->values[value];
    if (slot.plan.origin != ValueOrigin::kNone) {
      entry = slot.plan;
      if (entry.origin == ValueOrigin::kFresh) entry.offset = intervals[slot.storage].offset;
    }
    entry.plain_bytes = 0;
    if (slot.plain && slot.plain->storage >= 0) {
      entry.plain_offset = intervals[slot.plain->storage].offset;
      entry.plain_bytes = slot.plan.plain_bytes;
      slot.plain->storage = -1;
    }
    slot.storage = -1;
  }
  learned->scratch_bytes = scratch_most_;
  storages_.clear();
  profiling_ = false;
  plan_.AddMemoryPlan(learned);
  Adopt(std::move(learned));
}

void Frame::Adopt(std::shared_ptr<const MemoryPlan> plan) {
  arena_ = kit::AllocateShared(plan->arena_bytes);
  char* const base = static_cast<char*>(arena_.get());
  for (size_t value = 0; value < slots_.size(); ++value) {
    Slot& slot = slots_[value];
    slot.plan = plan->values[value];
    slot.planned = slot.plan.origin == ValueOrigin::kFresh ? base + slot.plan.offset : nullptr;
    if (plan_.value_class(static_cast<int32_t>(value)) == Plan::ValueClass::kComputed) slot.ready = false;
    if (slot.plan.plain_bytes != 0) {
      if (!slot.plain) slot.plain = std::make_unique<PlainCopy>();
      slot.plain->planned = base + slot.plan.plain_offset;
    }
  }
  scratch_most_ = std::max(scratch_most_, plan->scratch_bytes);
  memory_plan_ = std::move(plan);
  GrowScratch();
}

// Returns to profiling. Other frames keep the old memory plan until a better one is known.
void Frame::DiscardMemoryPlan() {
  for (size_t value = 0; value < slots_.size(); ++value) {
    Slot& slot = slots_[value];
    slot.plan = {};
    slot.planned = nullptr;
    if (plan_.value_class(static_cast<int32_t>(value)) == Plan::ValueClass::kComputed) slot.ready = false;
    if (slot.plain) slot.plain->planned = nullptr;
  }
  memory_plan_.reset();
  arena_.reset();
  profiling_ = true;
}

void Frame::EndWarmUp(const EpHostInfo& host) {
  limits_ = kit::RunLimits(host);
  is_warmup_ = true;
  // The system allocates a page on the first write to it, and that takes longer than the write. Large memory gets large
  // pages, so a run does not notice the cost there.
  constexpr uint64_t kMostBytes = uint64_t{256} << 20, kPage = 4096;
  const auto touch = [&](void* memory, uint64_t bytes) {
    auto* const first = static_cast<volatile char*>(memory);
    plan_.threads().ParallelFor(static_cast<int64_t>(std::min(bytes, kMostBytes) / kPage), 64,
                                [&](int64_t begin, int64_t end) {
                                  for (int64_t page = begin; page < end; ++page) first[page * kPage] = 0;
                                });
  };
  if (memory_plan_) touch(arena_.get(), memory_plan_->arena_bytes);
  touch(scratch_, scratch_size_);
}

void Frame::GrowScratch() {
  if (scratch_most_ <= scratch_size_) return;
  if (scratch_ != nullptr) kit::FreeHeap(scratch_);
  scratch_ = nullptr;
  scratch_size_ = 0;
  scratch_ = static_cast<char*>(kit::AllocateHeap(scratch_most_));
  scratch_size_ = scratch_most_;
}

}  // namespace epiphyte::cpu
