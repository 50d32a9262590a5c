#include "epiphyte/io_binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/api/access.h"

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

std::string ShapeText(const core::Value& value) {
  return fmt::format("{}[{}]", core::DataTypeName(value.type()), fmt::join(value.dims(), ","));
}

void CopyInto(const core::Value& result, core::Value& destination, const std::string& name) {
  bool fits =
      result.IsTensor() && result.type() == destination.type() && std::ranges::equal(result.dims(), destination.dims());
  if (!fits) {
    throw Error(StatusCode::kInvalidArgument,
                fmt::format("output '{}' is {}, but {} is bound to it; bind a tensor of the output's type and shape",
                            name, result.IsTensor() ? ShapeText(result) : "no tensor", ShapeText(destination)));
  }
  if (result.byte_size() != 0) std::memcpy(destination.mutable_data(), result.data(), result.byte_size());
}

}  // namespace

struct IoBinding::Impl {
  explicit Impl(Session bound) : session(std::move(bound)) {}

  Session session;
  std::vector<core::ValuePtr> inputs;
  std::vector<core::ValuePtr> destinations;  // null: the run's own value is kept
  std::vector<core::ValuePtr> results;       // of the last run
  bool has_destinations = false;
};

IoBinding::IoBinding(const Session& session) : impl_(std::make_unique<Impl>(session)) {
  impl_->inputs.resize(session.inputs().size());
  impl_->destinations.resize(session.outputs().size());
}
IoBinding::~IoBinding() = default;
IoBinding::IoBinding(IoBinding&& other) noexcept = default;
IoBinding& IoBinding::operator=(IoBinding&& other) noexcept = default;

void IoBinding::BindInput(std::string_view name, Value value) {
  impl_->inputs[IndexOf(impl_->session.inputs(), name, "input")] = Access::Share(value);
}

void IoBinding::BindOutput(std::string_view name, Value destination) {
  size_t index = IndexOf(impl_->session.outputs(), name, "output");
  if (destination) destination.data();  // throws unless it is a tensor of numbers
  impl_->destinations[index] = Access::Share(destination);
  impl_->has_destinations = std::ranges::any_of(impl_->destinations, [](const auto& value) { return bool(value); });
}

void IoBinding::Run(const RunOptions& options) {
  Translate([&] {
    if (!options.outputs.empty()) {
      throw Error(StatusCode::kInvalidArgument, "a binding runs for all outputs; leave RunOptions::outputs empty");
    }
    // The last run's values go first, so that their memory can serve this one.
    impl_->results.clear();
    impl_->results = Access::Of(impl_->session).session.Run(impl_->inputs, Access::SettingsOf(options));
    if (!impl_->has_destinations) return;
    for (size_t i = 0; i < impl_->results.size(); ++i) {
      if (!impl_->destinations[i]) continue;
      CopyInto(*impl_->results[i], *impl_->destinations[i], impl_->session.outputs()[i].name);
      impl_->results[i] = impl_->destinations[i];
    }
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
