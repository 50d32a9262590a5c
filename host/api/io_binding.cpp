#include "epiphyte/io_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/device/transfer.h"
#include "core/runtime/run_bindings.h"
#include "host/api/access.h"
#include "host/api/tensor_checks.h"

namespace epiphyte {
namespace {

size_t IndexOf(const std::vector<ValueInfo>& values, std::string_view name, std::string_view what) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return i;
  }
  std::vector<std::string> names;
  for (const ValueInfo& value : values) names.push_back(value.name);
  throw Error(StatusCode::kInvalidArgument,
              fmt::format("the model has no {} '{}'; it has: {}", what, name, fmt::join(names, ", ")));
}

}  // namespace

struct IoBinding::Impl {
  explicit Impl(Session bound) : session(std::move(bound)), infos(session.inputs()) {
    const std::vector<ValueInfo>& overridable = session.overridable_initializers();
    infos.insert(infos.end(), overridable.begin(), overridable.end());
    inputs.resize(infos.size());
  }

  core::Session& core() { return Access::Of(session).session; }
  // Throws when the session can't use the value's memory. `what` begins the message: "input 'x' is in".
  void RequireUsed(const core::Value* value, std::string_view what) {
    const core::DeviceAllocation* piece = value == nullptr ? nullptr : core::PieceOf(*value);
    if (piece != nullptr) core::RequireUsed(core().memories(), *piece->pool(), what);
  }

  std::vector<core::ValuePtr> Run(const core::RunSettings& settings) {
    const size_t required = session.inputs().size();
    const std::span<const core::ValuePtr> given(inputs);
    if (std::ranges::none_of(given.subspan(required), [](const core::ValuePtr& value) { return bool(value); }))
      return core().Run(given.first(required), settings);
    std::vector<std::pair<std::string, core::ValuePtr>> named;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) named.emplace_back(infos[i].name, inputs[i]);
    }
    return core().Run(named, {}, settings);
  }

  void Bind(size_t index, core::OutputBinding to) {
    bindings.outputs[index] = std::move(to);
    binds_outputs = std::ranges::any_of(
        bindings.outputs, [](const core::OutputBinding& output) { return output.value || output.memory; });
  }

  Session session;
  std::vector<ValueInfo> infos;        // inputs, then overridable initializers
  std::vector<core::ValuePtr> inputs;  // same order as `infos`
  core::RunBindings bindings;
  core::BindingNumbers numbers;
  std::vector<core::ValuePtr> results;  // results of the last run
  bool binds_outputs = false;
};

IoBinding::IoBinding(const Session& session) : impl_(std::make_unique<Impl>(session)) {
  impl_->bindings.outputs.resize(session.outputs().size());
  impl_->bindings.numbers = &impl_->numbers;
}
IoBinding::~IoBinding() = default;
IoBinding::IoBinding(IoBinding&& other) noexcept = default;
IoBinding& IoBinding::operator=(IoBinding&& other) noexcept = default;

void IoBinding::BindInput(std::string_view name, Value value) {
  WithPublicErrors([&] {
    const size_t index = IndexOf(impl_->infos, name, "input");
    impl_->RequireUsed(Access::Of(value), fmt::format("input '{}' is in", name));
    impl_->inputs[index] = Access::Share(value);
  });
}

void IoBinding::BindOutput(std::string_view name, Value destination) {
  WithPublicErrors([&] {
    const size_t index = IndexOf(impl_->session.outputs(), name, "output");
    if (destination) AsWritableTensor(Access::Of(destination));
    impl_->RequireUsed(Access::Of(destination), fmt::format("output '{}' is bound to", name));
    impl_->Bind(index, {Access::Share(destination), nullptr});
  });
}

void IoBinding::BindOutput(std::string_view name, const Memory& memory) {
  WithPublicErrors([&] {
    const size_t index = IndexOf(impl_->session.outputs(), name, "output");
    const auto* home = Access::Of(memory);
    if (home != nullptr) {
      core::RequireUsed(impl_->core().memories(), *home->memory, fmt::format("output '{}' is bound to", name));
    }
    impl_->Bind(index, {nullptr, home == nullptr ? nullptr : home->memory});
  });
}

void IoBinding::Run(const RunOptions& options) {
  WithPublicErrors([&] {
    if (!options.outputs.empty()) {
      throw Error(StatusCode::kInvalidArgument, "a binding runs for all outputs; leave RunOptions::outputs empty");
    }
    // Release the last run's values first, so that this run can reuse their memory.
    impl_->results.clear();
    core::RunSettings settings = Access::SettingsOf(options);
    if (impl_->binds_outputs || !impl_->core().memories().empty()) settings.bindings = &impl_->bindings;
    impl_->results = impl_->Run(settings);
  });
}

Value IoBinding::Output(std::string_view name) const {
  size_t index = IndexOf(impl_->session.outputs(), name, "output");
  if (impl_->results.empty()) {
    throw Error(StatusCode::kInvalidArgument, fmt::format("output '{}' has no value yet; call Run first", name));
  }
  return Access::Wrap(impl_->results[index]);
}

}  // namespace epiphyte
