#include "epiphyte/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/api/access.h"

namespace epiphyte {
namespace {

std::vector<ValueInfo> Describe(const std::vector<core::ValueSpec>& specs) {
  std::vector<ValueInfo> infos;
  for (const core::ValueSpec& spec : specs) infos.push_back({spec.name, Access::Wrap(spec.type)});
  return infos;
}

std::vector<Value> WrapAll(std::vector<core::ValuePtr> values) {
  std::vector<Value> wrapped;
  wrapped.reserve(values.size());
  for (core::ValuePtr& value : values) wrapped.push_back(Access::Wrap(std::move(value)));
  return wrapped;
}

// `source` creates the model source inside the error handling, because that may fail too.
template <typename Impl, typename Source>
std::shared_ptr<Impl> Open(const Environment& environment, const SessionOptions& options, Source&& source) {
  return WithPublicErrors([&] {
    auto impl = std::make_shared<Impl>(Access::Of(environment), source(), Access::Of(options));
    impl->inputs = Describe(impl->session.inputs());
    impl->overridable_initializers = Describe(impl->session.overridable_initializers());
    impl->outputs = Describe(impl->session.outputs());
    if (const core::ContextOutput* output = impl->session.context_output()) {
      impl->files = ContextFiles{output->model, output->files, output->context_nodes, output->plain_nodes};
    }
    return impl;
  });
}

}  // namespace

Session::Session(const Environment& environment, const std::filesystem::path& model, const SessionOptions& options)
    : impl_(Open<Impl>(environment, options, [&] { return core::ModelSource{model}; })) {}

Session::Session(const Environment& environment, std::span<const std::byte> bytes, const SessionOptions& options)
    : impl_(Open<Impl>(environment, options, [&] {
        return core::ModelSource{{}, /*in_memory=*/true, bytes.data(), bytes.size()};
      })) {}

const std::vector<ValueInfo>& Session::inputs() const { return impl_->inputs; }

const std::vector<ValueInfo>& Session::overridable_initializers() const { return impl_->overridable_initializers; }

const std::vector<ValueInfo>& Session::outputs() const { return impl_->outputs; }

Placement Session::placement() const {
  return Access::Wrap(std::shared_ptr<const core::Placement>(impl_, &impl_->session.placement()));
}

std::vector<Memory> Session::memories() const {
  return WithPublicErrors([&] {
    std::vector<Memory> memories;
    for (const core::SessionMemory& memory : impl_->session.memories()) {
      memories.push_back(Access::Wrap(impl_->environment, memory));
    }
    return memories;
  });
}

Memory Session::MemoryOf(std::string_view provider, std::string_view name) const {
  return WithPublicErrors([&] {
    const std::vector<core::SessionMemory>& memories = impl_->session.memories();
    const auto found = std::ranges::find_if(memories, [&](const core::SessionMemory& each) {
      return each.memory->plugin().name == provider && (name.empty() || each.memory->name() == name);
    });
    if (found != memories.end()) return Access::Wrap(impl_->environment, *found);
    const std::string what = name.empty() ? "memory" : fmt::format("memory '{}'", name);
    throw Error(
        StatusCode::kNotFound,
        memories.empty()
            ? fmt::format("the session has no {} of {}: none of its providers has memory of its own; leave "
                          "values in host memory",
                          what, provider)
            : fmt::format("the session has no {} of {}; it has: {}", what, provider, core::MemoryText(memories)));
  });
}

bool Session::has_context() const { return impl_->session.has_context(); }

const std::optional<ContextFiles>& Session::context_files() const { return impl_->files; }

std::vector<Value> Session::Run(std::span<const NamedValue> inputs, const RunOptions& options) const {
  return WithPublicErrors([&] {
    std::vector<std::pair<std::string, core::ValuePtr>> shared;
    shared.reserve(inputs.size());
    for (const NamedValue& input : inputs) shared.emplace_back(input.first, Access::Share(input.second));
    return WrapAll(impl_->session.Run(shared, options.outputs, Access::SettingsOf(options)));
  });
}

std::vector<Value> Session::Run(std::span<const Value> inputs, const RunOptions& options) const {
  return WithPublicErrors([&] {
    std::vector<core::ValuePtr> shared;
    shared.reserve(inputs.size());
    for (const Value& input : inputs) shared.push_back(Access::Share(input));
    if (options.outputs.empty()) return WrapAll(impl_->session.Run(shared, Access::SettingsOf(options)));
    if (inputs.size() > impl_->inputs.size()) {
      throw Error(StatusCode::kInvalidArgument,
                  fmt::format("{} inputs were given, the model has {}", inputs.size(), impl_->inputs.size()));
    }
    std::vector<std::pair<std::string, core::ValuePtr>> named;
    for (size_t i = 0; i < shared.size(); ++i) named.emplace_back(impl_->inputs[i].name, std::move(shared[i]));
    return WrapAll(impl_->session.Run(named, options.outputs, Access::SettingsOf(options)));
  });
}

std::string Session::ProfileJson() const {
  return WithPublicErrors([&] { return impl_->session.ProfileJson(); });
}

void Session::SaveProfile() const {
  WithPublicErrors([&] { impl_->session.SaveProfile(); });
}

void Session::DiscardProfile() const {
  WithPublicErrors([&] { impl_->session.DiscardProfile(); });
}

}  // namespace epiphyte
