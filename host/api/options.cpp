#include "epiphyte/options.hpp"

#include <fmt/format.h>

#include "core/base/watched_call.h"
#include "host/api/access.h"

namespace epiphyte {

SessionOptions::SessionOptions() : impl_(std::make_unique<Impl>()) {}
SessionOptions::~SessionOptions() = default;
SessionOptions::SessionOptions(const SessionOptions& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
SessionOptions& SessionOptions::operator=(const SessionOptions& other) {
  *impl_ = *other.impl_;
  return *this;
}

SessionOptions& SessionOptions::Set(std::string_view key, std::string_view value) {
  WithPublicErrors([&] { impl_->options.Set(key, value); });
  return *this;
}

std::string SessionOptions::Get(std::string_view key) const {
  return WithPublicErrors([&] { return impl_->options.Get(key); });
}

SessionOptions& SessionOptions::AddProvider(std::string name, std::map<std::string, std::string> options) {
  for (const core::ProviderChoice& choice : impl_->options.providers) {
    if (choice.name == name) {
      throw Error(StatusCode::kInvalidArgument, fmt::format("provider '{}' is listed twice; list it once", name));
    }
  }
  impl_->options.providers.push_back({std::move(name), std::move(options)});
  return *this;
}

std::vector<std::string> SessionOptions::providers() const {
  std::vector<std::string> names;
  for (const core::ProviderChoice& choice : impl_->options.providers) names.push_back(choice.name);
  return names;
}

SessionOptions& SessionOptions::SetThreadCount(uint32_t count) {
  impl_->options.thread_count = count;
  return *this;
}

SessionOptions& SessionOptions::SetProfile(const std::filesystem::path& path) {
  impl_->options.profile_path = path.string();
  return *this;
}

SessionOptions& SessionOptions::SetProviderOption(const std::string& provider, const std::string& key,
                                                  const std::string& value) {
  impl_->options.provider_options[provider][key] = value;
  return *this;
}

SessionOptions& SessionOptions::SetProgress(
    std::function<bool(uint64_t done, uint64_t total, const std::string& text)> progress) {
  if (!progress) return SetProgress(std::function<bool(const SessionProgress&)>());
  return SetProgress([progress = std::move(progress)](const SessionProgress& report) {
    return progress(report.done, report.total, report.text);
  });
}

SessionOptions& SessionOptions::SetProgress(std::function<bool(const SessionProgress& progress)> progress) {
  impl_->options.progress = nullptr;
  if (!progress) return *this;
  impl_->options.progress = [progress = std::move(progress)](const core::SessionProgress& report) {
    const core::WatchedCall::Callback callback;  // a plugin may be compiling
    return progress({static_cast<SessionPhase>(report.phase), report.done, report.total, report.text});
  };
  return *this;
}

std::string_view SessionPhaseName(SessionPhase phase) {
  return core::SessionPhaseName(static_cast<core::SessionPhase>(phase));
}

SessionOptions& SessionOptions::SetContextStore(std::shared_ptr<ContextStore> store) {
  impl_->options.context_store = Access::Share(std::move(store));
  return *this;
}

std::vector<OptionDescription> SessionOptions::Known() {
  std::vector<OptionDescription> known;
  for (const core::OptionInfo& option : core::KnownSessionOptions()) {
    known.push_back({std::string(option.key), std::string(option.default_value), std::string(option.description)});
  }
  return known;
}

}  // namespace epiphyte
