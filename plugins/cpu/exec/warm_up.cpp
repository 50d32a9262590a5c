#include "plugins/cpu/exec/warm_up.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include "epiphyte/ep_run_limits.h"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "plugins/cpu/onednn/threading.h"
#include "plugins/cpu/onednn/warm_up_scope.h"

namespace epiphyte::cpu {
namespace {

// Limit on all values of a plan together. The first run of a larger model takes so long that a warm-up makes no
// difference.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Shape of an input; an unknown first dimension becomes 1.
Dims ShapeOf(const ir::Value& input) {
  Dims dims(std::span<const int64_t>(input.dims));
  if (!dims.empty() && dims[0] < 0) dims[0] = 1;
  return dims;
}

// True when all types are known and all shapes follow from the inputs' shapes, so that zeros lead to the same requests
// as any other data. Shapes that follow from a guessed first dimension stay unknown in the plan; the first run adapts
// the memory plan there.
bool IsKnown(const Plan& plan) {
  if (plan.has_deferred_kernels() || plan.def().inputs.empty()) return false;
  const ir::Graph& def = plan.def();
  bool guessed = false;
  for (int32_t input : def.inputs) guessed = guessed || !def.values[static_cast<size_t>(input)].IsStatic();
  uint64_t bytes = 0;
  for (size_t i = 0; i < def.values.size(); ++i) {
    const ir::Value& value = def.values[i];
    const Plan::ValueClass value_class = plan.value_class(static_cast<int32_t>(i));
    if (value_class == Plan::ValueClass::kConstant) continue;
    if (value.kind != EP_KIND_TENSOR || value.type == EP_TYPE_UNDEFINED || value.type == EP_TYPE_STRING) return false;
    const bool is_input = value_class == Plan::ValueClass::kInput;
    if (guessed && !is_input && !value.IsStatic()) continue;
    const Dims dims = is_input ? ShapeOf(value) : Dims(std::span<const int64_t>(value.dims));
    if (value.rank < 0 || std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) return false;
    uint64_t count = 0;
    if (!CountElements(dims, &count) || count > kMostBytes) return false;
    bytes += ElementBytes(value.type, count);
    if (bytes > kMostBytes) return false;
  }
  return true;
}

// The host of a warm-up run: the interface behind an EpRun.
class Stage {
 public:
  Stage(const Plan& plan, const EpHostInfo& host, const std::function<bool()>& is_cancelled)
      : host_(host), is_cancelled_(is_cancelled) {
    const ir::Graph& def = plan.def();
    tensors_.resize(def.inputs.size());
    views_.resize(def.inputs.size());
    for (int32_t input : def.inputs) shapes_.push_back(ShapeOf(def.values[static_cast<size_t>(input)]));
    for (size_t i = 0; i < def.inputs.size(); ++i) {
      const ir::Value& value = def.values[static_cast<size_t>(def.inputs[i])];
      EpTensorView& tensor = tensors_[i];
      tensor.struct_size = sizeof tensor;
      tensor.element_type = value.type;
      tensor.rank = static_cast<uint32_t>(shapes_[i].size());
      tensor.dims = shapes_[i].data();
      CountElements(shapes_[i], &tensor.element_count);
      tensor.byte_size = ElementBytes(value.type, tensor.element_count);
      void* const zeros = Memory(tensor.byte_size);
      std::memset(zeros, 0, tensor.byte_size);
      tensor.data = zeros;
      views_[i].struct_size = sizeof(EpValueView);
      views_[i].kind = EP_KIND_TENSOR;
      views_[i].tensor = &tensor;
      inputs_.push_back(&views_[i]);
    }
    api_.struct_size = sizeof api_;
    api_.GetInfo = &Refuse;
    api_.AllocateOutput = &AllocateOutput;
    api_.SetStringOutput = &Refuse;
    api_.CreateTensor = &Refuse;
    api_.CreateStringTensor = &Refuse;
    api_.CreateSequence = &Refuse;
    api_.CreateMap = &Refuse;
    api_.CreateEmptyOptional = &Refuse;
    api_.ShareValue = &Refuse;
    api_.SetOutput = &Refuse;
    api_.ReleaseValue = [](EpValue*) {};
    api_.IsCancelled = [](const EpRun* run) -> uint32_t {
      const auto* stage = reinterpret_cast<const Stage*>(run);
      return stage->is_cancelled_ && stage->is_cancelled_() ? 1 : 0;
    };
    api_.SetCancelListener = &Refuse;
    // The host's limits apply to real runs only.
    stage_.struct_size = sizeof stage_;
    stage_.abi_min = host.abi_min;
    stage_.abi_max = host.abi_max;
    stage_.host_name = host.host_name;
    stage_.host_version = host.host_version;
    stage_.status = host.status;
    stage_.services = host.services;
    stage_.run = &api_;
    stage_.GetExtension = [](const EpHostInfo*, const char* name) -> const void* {
      static constexpr EpRunLimitsApi kLimits = {sizeof kLimits, 0, &TakeMemory, [](EpRun*, uint64_t) {}};
      return std::strcmp(name, EP_RUN_LIMITS_EXTENSION) == 0 ? &kLimits : nullptr;
    };
    info_.struct_size = sizeof info_;
    info_.input_count = static_cast<uint32_t>(inputs_.size());
    info_.output_count = static_cast<uint32_t>(def.outputs.size());
    info_.thread_count = plan.threads().wanted;
    info_.inputs = inputs_.data();
    info_.tag = "";
    info_.run_id = 1;
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  kit::Run NewRun() { return {stage_, reinterpret_cast<EpRun*>(this), info_}; }

 private:
  static EpStatus* Fail(const EpRun* run) {
    const auto* stage = reinterpret_cast<const Stage*>(run);
    return stage->host_.status->Create(EP_STATUS_NOT_IMPLEMENTED, "not while a plan is warmed up");
  }
  template <typename Run, typename... Rest>
  static EpStatus* EP_CALL Refuse(Run* run, Rest...) {
    return Fail(run);
  }
  static EpStatus* EP_CALL AllocateOutput(EpRun* run, uint32_t, EpElementType type, const int64_t* dims, uint32_t rank,
                                          void** data) {
    auto* stage = reinterpret_cast<Stage*>(run);
    uint64_t count = 0;
    try {
      // An output may exceed its declared size.
      if (!CountElements({dims, rank}, &count) || count > kMostBytes) return Fail(run);
      const uint64_t bytes = ElementBytes(type, count);
      if (!stage->Take(bytes)) return Fail(run);
      *data = stage->Memory(bytes);
    } catch (const std::exception&) {
      return Fail(run);
    }
    return nullptr;
  }

  static EpStatus* EP_CALL TakeMemory(EpRun* run, uint64_t bytes) {
    return reinterpret_cast<Stage*>(run)->Take(bytes) ? nullptr : Fail(run);
  }

  bool Take(uint64_t bytes) {
    if (bytes > kMostBytes - taken_) return false;
    taken_ += bytes;
    return true;
  }

  void* Memory(uint64_t bytes) {
    memory_.push_back(kit::AllocateShared(bytes));
    return memory_.back().get();
  }

  const EpHostInfo& host_;
  EpHostInfo stage_ = {};
  EpRunApi api_ = {};
  EpRunInfo info_ = {};
  const std::function<bool()>& is_cancelled_;
  uint64_t taken_ = 0;  // bytes of kMostBytes taken by outputs and kernels
  std::vector<Dims> shapes_;
  std::vector<EpTensorView> tensors_;
  std::vector<EpValueView> views_;
  std::vector<const EpValueView*> inputs_;
  std::vector<std::shared_ptr<void>> memory_;
};

}  // namespace

std::unique_ptr<Frame> WarmUp(const Plan& plan, const EpHostInfo& host, const std::function<bool()>& is_cancelled) {
  if (!IsKnown(plan)) return nullptr;
  try {
    const OneDnnThreads threads(plan.threads());
    const WarmUpScope warm_up;
    Stage stage(plan, host, is_cancelled);
    const kit::Run run = stage.NewRun();
    auto frame = std::make_unique<Frame>(plan, run);
    frame->Execute(run);
    frame->EndWarmUp(host);
    return frame;
  } catch (const std::exception&) {
    // The first run reports the failure if the model causes it.
    return nullptr;
  }
}

}  // namespace epiphyte::cpu
