// Kernel: Execute on the host's side. This is on the path of every run, so it allocates nothing of its own.
#include "core/abi/handles.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/text.h"

namespace epiphyte::core {

Kernel::Kernel(std::shared_ptr<Provider> provider, EpKernel* kernel, std::string name,
               std::vector<TypePtr> output_types)
    : provider_(std::move(provider)), kernel_(kernel), name_(std::move(name)), output_types_(std::move(output_types)) {
  const EpProviderApi& api = *provider_->plugin_.descriptor->provider;
  execute_ = api.Execute;
  has_states_ = api.CreateState != nullptr;
  thread_count_ = provider_->thread_pool_ == nullptr ? 1 : provider_->thread_pool_->thread_count();
  for (const TypePtr& type : output_types_) {
    expected_types_.push_back(type && type->IsTensor() ? static_cast<EpElementType>(type->element_type())
                                                       : EP_TYPE_UNDEFINED);
  }
}

Kernel::~Kernel() {
  const EpProviderApi& api = *provider_->plugin_.descriptor->provider;
  try {
    for (EpKernelState* state : free_states_) api.ReleaseState(kernel_, state);
    api.ReleaseKernel(kernel_);
  } catch (...) {
    Log(LogLevel::kError, "abi", "provider '{}': a release function let an exception escape; it was dropped",
        provider_->name());
  }
}

EpKernelState* Kernel::TakeState() {
  {
    std::lock_guard lock(states_mutex_);
    if (!free_states_.empty()) {
      EpKernelState* state = free_states_.back();
      free_states_.pop_back();
      return state;
    }
  }
  EpKernelState* state = nullptr;
  ThrowIfFailed(provider_->plugin_.descriptor->provider->CreateState(kernel_, &state),
                fmt::format("provider '{}': CreateState", provider_->name()));
  return state;
}

void Kernel::GiveState(EpKernelState* state) {
  std::lock_guard lock(states_mutex_);
  free_states_.push_back(state);
}

void Kernel::Execute(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState* state_of_run) {
  for (ValuePtr& output : outputs) output = nullptr;
  EpRun run{inputs, outputs, thread_count_, state_of_run};
  EpStatus* status = nullptr;
  EpKernelState* state = nullptr;
  try {
    if (has_states_) state = TakeState();
    status = execute_(kernel_, state, &run);
  } catch (const Error&) {
    throw;  // of TakeState
  } catch (const std::exception& error) {
    if (state != nullptr) GiveState(state);
    Fail(StatusCode::kEpFail,
         "provider '{}': Execute of '{}' let an exception escape ({}); report this to the plugin's vendor",
         provider_->name(), name_, PrintableLine(ReasonOf(error), 512));
  } catch (...) {
    if (state != nullptr) GiveState(state);
    Fail(StatusCode::kEpFail,
         "provider '{}': Execute of '{}' let an exception escape; report this to the plugin's vendor",
         provider_->name(), name_);
  }
  if (has_states_) GiveState(state);
  if (run.taken != 0) state_of_run->Give(run.taken);
  if (status != nullptr) ThrowIfFailed(status, fmt::format("provider '{}', partition '{}'", provider_->name(), name_));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) {
      Fail(StatusCode::kEpFail, "provider '{}', partition '{}': Execute succeeded but did not set output {} of {}",
           provider_->name(), name_, i, outputs.size());
    }
    if (expected_types_[i] != EP_TYPE_UNDEFINED && outputs[i]->abi()->element_type != expected_types_[i] &&
        outputs[i]->IsTensor()) {
      Fail(StatusCode::kEpFail, "provider '{}', partition '{}': output {} is of {}, but the model says {}",
           provider_->name(), name_, i, DataTypeName(outputs[i]->type()),
           DataTypeName(static_cast<DataType>(expected_types_[i])));
    }
  }
}

}  // namespace epiphyte::core
