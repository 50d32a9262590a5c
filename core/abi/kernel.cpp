// Kernel: Execute on the host's side. This is on the path of every run, so it allocates nothing of its own.
#include "core/abi/handles.h"
#include "core/abi/owned_handles.h"
#include "core/abi/plugin_calls.h"
#include "core/abi/provider.h"
#include "core/base/reason.h"
#include "core/base/text.h"

namespace epiphyte::core {

Kernel::Kernel(std::shared_ptr<Provider> provider, KernelHandle kernel, std::string name, size_t input_count,
               std::vector<OutputType> output_types)
    : provider_(std::move(provider)), handle_(std::move(kernel)), kernel_(handle_.get()), name_(std::move(name)) {
  const EpProviderApi& api = *provider_->plugin_.descriptor->provider;
  execute_ = api.Execute;
  has_states_ = api.CreateState != nullptr;
  thread_pool_ = provider_->thread_pool_;
  profile_ = provider_->profile();
  for (OutputType& type : output_types) declared_outputs_.emplace_back(std::move(type));
  Describe(input_count);
}

void Kernel::Describe(size_t input_count) {
  const EpProviderApi& api = *provider_->plugin_.descriptor->provider;
  if (api.DescribeKernel == nullptr) return;
  EpKernelInfo info{};
  info.struct_size = sizeof info;
  CallPlugin(provider_->plugin_, "DescribeKernel", [&] { return api.DescribeKernel(kernel_, &info); });
  if (EP_HAS_FIELD(&info, EpKernelInfo, flags) && (info.flags & EP_KERNEL_EXCLUSIVE) != 0) {
    exclusive_ = &provider_->exclusive_;
  }
  places_ =
      ReadKernelPlaces(info, {provider_->plugin_, name_, provider_->devices_, input_count, declared_outputs_.size()});
}

Kernel::~Kernel() {
  const EpProviderApi& api = *provider_->plugin_.descriptor->provider;
  while (EpKernelState* state = spare_state_.Acquire()) free_states_.push_back(state);
  for (EpKernelState* state : free_states_) {
    OwnedHandles::States().Remove(provider_->plugin_.descriptor, state);
    CallRelease(provider_->plugin_, "ReleaseState", [&] { api.ReleaseState(kernel_, state); });
  }
}

EpKernelState* Kernel::TakeState() {
  if (EpKernelState* state = spare_state_.Acquire()) return state;
  {
    std::lock_guard lock(states_mutex_);
    if (!free_states_.empty()) {
      EpKernelState* state = free_states_.back();
      free_states_.pop_back();
      return state;
    }
  }
  return NewState();
}

EpKernelState* Kernel::NewState() {
  {
    // Reserve now, so that giving the state back can't fail.
    std::lock_guard lock(states_mutex_);
    free_states_.reserve(++states_made_);
  }
  EpKernelState* state = nullptr;
  const EpProviderApi& api = *provider_->plugin_.descriptor->provider;
  CallPlugin(
      provider_->plugin_, "CreateState", [&] { return api.CreateState(kernel_, &state); }, WatchedCall::kMode);
  if (state == nullptr) {
    Fail(StatusCode::kEpFail, "provider '{}': CreateState for '{}' succeeded but gave no state", provider_->name(),
         name_);
  }
  bool is_new = false;
  try {
    is_new = OwnedHandles::States().Add(provider_->plugin_.descriptor, state);
  } catch (...) {
    CallRelease(provider_->plugin_, "ReleaseState", [&] { api.ReleaseState(kernel_, state); });
    throw;
  }
  if (!is_new) {
    Fail(StatusCode::kEpFail,
         "provider '{}': CreateState for '{}' gave the same state twice; each needs memory of its own",
         provider_->name(), name_);
  }
  return state;
}

void Kernel::GiveState(EpKernelState* state) {
  state = spare_state_.Release(state);
  if (state == nullptr) return;
  std::lock_guard lock(states_mutex_);
  free_states_.push_back(state);
}

void Kernel::EndState(EpKernelState* state, Submission* submission) {
  if (state == nullptr) return;
  if (submission != nullptr && places_.async) [[unlikely]] {
    submission->held_state = state;
  } else {
    GiveState(state);
  }
}

void Kernel::Execute(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState* state_of_run,
                     Submission* submission) {
  for (ValuePtr& output : outputs) output = nullptr;
  std::unique_lock<std::mutex> turn;
  if (exclusive_ != nullptr) [[unlikely]]
    turn = std::unique_lock<std::mutex>(*exclusive_);
  EpKernelState* state = has_states_ ? TakeState() : nullptr;
  // The upper bound, not the actual number of threads: asking for that starts them, and this kernel may need none.
  EpRun run(inputs, outputs, thread_pool_ == nullptr ? 1 : thread_pool_->most_threads(), state_of_run, submission);
  run.profile = profile_;
  if (state_of_run != nullptr && state_of_run->options() != nullptr) [[unlikely]] {
    const auto given = state_of_run->options()->find(provider_->name());
    if (given != state_of_run->options()->end()) run.options = &given->second;
  }
  EpStatus* status = nullptr;
  // The working directory is checked in the first call only: later calls may take less time than the check does.
  const WatchedCall::Watch watch =
      has_executed_.load(std::memory_order_relaxed) ? WatchedCall::kMode : WatchedCall::kFolder;
  try {
    const WatchedCall watched(provider_->name(), "Execute", watch);
    status = execute_(kernel_, state, &run);
  } catch (const std::exception& error) {
    EndState(state, submission);
    Fail(StatusCode::kEpFail,
         "provider '{}': Execute of '{}' let an exception escape ({}); report this to the plugin's vendor",
         provider_->name(), name_, PrintableLine(ReasonOf(error), 512));
  } catch (...) {
    EndState(state, submission);
    Fail(StatusCode::kEpFail,
         "provider '{}': Execute of '{}' let an exception escape; report this to the plugin's vendor",
         provider_->name(), name_);
  }
  if (watch == WatchedCall::kFolder) [[unlikely]]
    has_executed_.store(true, std::memory_order_relaxed);
  if (run.on_cancel) [[unlikely]]
    run.on_cancel.reset();
  EndState(state, submission);
  if (run.taken != 0) state_of_run->Give(run.taken);
  if (status != nullptr) ThrowIfFailed(status, fmt::format("provider '{}', partition '{}'", provider_->name(), name_));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) {
      Fail(StatusCode::kEpFail, "provider '{}', partition '{}': Execute succeeded but did not set output {} of {}",
           provider_->name(), name_, i, outputs.size());
    }
    if (!declared_outputs_[i].Fits(*outputs[i]) && !declared_outputs_[i].IsModelsMistake(*outputs[i])) {
      Fail(StatusCode::kEpFail,
           "provider '{}', partition '{}': output {} {}; run the model with provider 'cpu' alone: if that fails, too, "
           "remove the declaration from the model (value_info), else report this to the plugin's vendor",
           provider_->name(), name_, i, declared_outputs_[i].Complaint(*outputs[i]));
    }
  }
}

}  // namespace epiphyte::core
