// Frame: the state of one run of a plan: a slot for each value, memory, and per-node state. A frame serves one run at a
// time, and only inputs of one signature (element types and shapes).
//
// The first run of a signature is profiled: it takes memory from the heap, and its requests become a MemoryPlan. From
// then on every value has a fixed place in the frame's arena. A later run may differ from the profiled one
// (data-dependent shapes, another decision in a kernel). Each request is therefore checked against the plan; a request
// that does not fit gets heap memory until the run ends.
#pragma once

#include <memory>
#include <vector>

#include "epiphyte/kit/abi/run.hpp"
#include "plugins/cpu/exec/memory_plan.h"
#include "plugins/cpu/exec/plan.h"
#include "plugins/cpu/onednn/reorder_call.h"

namespace epiphyte::cpu {

class Frame final : public OpContext {
 public:
  // Makes a frame for inputs with the signature of `run`.
  Frame(const Plan& plan, const kit::Run& run);
  ~Frame() override;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // True when a run's inputs have this frame's signature.
  bool Matches(const EpRunInfo& info) const;
  uint64_t memory_bytes() const;
  // Ends the warm-up run. From the next run on, the frame obeys the limits of `host`, and its memory is allocated and
  // touched. If the next run does not fit the memory plan, the run after it is profiled again.
  void EndWarmUp(const EpHostInfo& host);
  // True after the warm-up until the first run.
  bool is_warmup() const { return is_warmup_; }

  void Execute(const kit::Run& run);

  size_t InputCount() const override { return input_count_; }
  size_t OutputCount() const override { return output_count_; }
  bool HasInput(size_t i) const override {
    return i < input_count_ && inputs_[i] >= 0 && slots_[inputs_[i]].datum.kind != Datum::Kind::kAbsent;
  }
  bool HasOutput(size_t i) const override { return i < output_count_ && outputs_[i] >= 0; }
  const Tensor& Input(size_t i) override;
  const Tensor& AnyLayoutInput(size_t i) override;
  const Datum& InputDatum(size_t i) override;
  Tensor& Output(size_t i, ElementType type, std::span<const int64_t> dims) override;
  Tensor& OutputWithLayout(size_t i, ElementType type, std::span<const int64_t> dims,
                           std::shared_ptr<const Layout> layout, uint64_t bytes) override;
  Tensor* OutputInPlace(size_t i, size_t j, ElementType type, std::span<const int64_t> dims) override;
  void OutputAlias(size_t i, size_t j, std::span<const int64_t> dims) override;
  void SetOutput(size_t i, Datum datum) override;
  void* Scratch(uint64_t bytes) override;
  void CountMemory(uint64_t bytes) override { Count(bytes); }
  uint32_t thread_count() const override { return plan_.threads().Count(); }
  using OpContext::ParallelFor;
  // Throws between two chunks of the loop when the run is cancelled.
  void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) override;
  bool WantsRowMajor(size_t i) const override {
    return i < output_count_ && outputs_[i] >= 0 && plan_.wants_row_major(outputs_[i]);
  }

 protected:
  std::shared_ptr<void>& StateSlot() override { return states_[node_]; }

 private:
  struct PlainCopy {
    Datum datum;         // a tensor
    bool valid = false;  // the copy belongs to this run
    void* planned = nullptr;
    int32_t storage = -1;
    ReorderCall reorder;
  };
  struct Slot {
    Datum datum;
    bool ready = false;    // the tensor has its planned memory; an equal request needs no work
    bool managed = false;  // the datum owns something that is released after the run
    bool emitted = false;  // the value was written directly into the host's output
    MemoryPlan::Value plan;
    void* planned = nullptr;
    int32_t storage = -1;  // only in a profiled run
    std::unique_ptr<PlainCopy> plain;
  };
  // Profiled runs only: heap memory shared by values with tensors in it.
  struct Storage {
    void* memory = nullptr;
    uint64_t bytes = 0;
    uint32_t users = 0;
    int32_t first = 0;
    int32_t last = 0;
  };

  // Fails the run for a value that does not have its declared type: the kernels that follow would misread it.
  void CheckType(int32_t value, ElementType type) const {
    if (const ElementType declared = plan_.def().values[static_cast<size_t>(value)].type;
        declared != EP_TYPE_UNDEFINED && type != declared) [[unlikely]]
      FailType(value, type);
  }
  [[noreturn]] void FailType(int32_t value, ElementType type) const;
  // Returns the kernel for a node with types unknown before the run, by the types of the inputs that arrived.
  const Kernel& ChooseKernel(int32_t node);
  static void AppendSignature(const EpRunInfo& info, ShapeSignature& signature);
  void BindInputs(const EpRunInfo& info);
  void EmitOutputs(const EpRunInfo& info);
  void EndRun() noexcept;
  void GrowScratch();
  void EndWatchedNode();
  void Adopt(std::shared_ptr<const MemoryPlan> plan);
  void BuildMemoryPlan();
  void DiscardMemoryPlan();

  [[noreturn]] void FailInput(size_t i) const;
  Slot& OutputSlot(size_t i);
  Tensor& MakeOutput(Slot& slot, int32_t value, ElementType type, std::span<const int64_t> dims,
                     std::shared_ptr<const Layout> layout, uint64_t bytes);
  Tensor& DiscardedOutput(size_t i, ElementType type, std::span<const int64_t> dims, uint64_t bytes);
  void* Provide(Slot& slot, uint64_t bytes);
  const Tensor& RowMajor(int32_t value);
  void CopyRowMajor(Slot& slot, void* to);
  void ShareMemory(Slot& slot, int32_t value, Slot& source, int32_t source_value, bool of_plain_copy,
                   ValueOrigin origin, ElementType type, std::span<const int64_t> dims);
  int32_t NewStorage(uint64_t bytes);
  void ReleaseStorage(int32_t& storage);
  void* Fallback(uint64_t bytes);
  static constexpr uint64_t kWorthCounting = uint64_t{1} << 20;
  // Allocates heap memory that is freed when the run ends. Throws when the run's memory limit does not allow it.
  void* AllocateCounted(uint64_t bytes);
  void Count(uint64_t bytes);
  std::shared_ptr<std::vector<std::string>> MakeStrings(int64_t count);
  void OwnElements(Datum& datum);

  // Latest result of ChooseKernel for a node.
  struct DeferredChoice {
    std::vector<ArgumentType> inputs;
    std::shared_ptr<const Kernel> kernel;
  };

  const Plan& plan_;
  kit::RunLimits limits_;
  std::vector<DeferredChoice> late_;  // by node; empty when all types are known
  std::vector<ArgumentType> arrived_;
  ShapeSignature signature_;
  std::shared_ptr<const MemoryPlan> memory_plan_;
  std::vector<Slot> slots_;
  std::vector<Slot> discarded_;  // outputs of the running node without a reader
  std::vector<std::shared_ptr<void>> states_;

  // State of the running node.
  const kit::Run* run_ = nullptr;
  int32_t node_ = -1;
  const int32_t* inputs_ = nullptr;
  const int32_t* outputs_ = nullptr;
  size_t input_count_ = 0;
  size_t output_count_ = 0;
  uint64_t any_layout_inputs_ = 0;  // bit j: the kernel reads input j in its own layout

  std::shared_ptr<void> arena_;
  std::vector<void*> fallbacks_;  // freed when the run ends
  std::vector<int32_t> managed_;  // values to release when the run ends
  char* scratch_ = nullptr;
  uint64_t scratch_size_ = 0;
  uint64_t scratch_used_ = 0;  // bytes taken by the running node, including those beyond scratch_size_
  uint64_t scratch_most_ = 0;
  std::vector<void*> scratch_overflow_;

  bool profiling_ = false;
  bool is_warmup_ = false;
  std::vector<Storage> storages_;
  std::vector<std::pair<uint64_t, void*>> free_;  // memory of dead storages, for reuse in the profiled run
};

}  // namespace epiphyte::cpu
