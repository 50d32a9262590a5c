// AttemptFindings: what the attempts to make a session found out about its providers. An attempt that can't go on
// returns a Restart. The builder adds it to the findings and makes the next attempt with them.
//
//   if (std::optional<Restart> restart = attempt.Compile()) findings.Add(std::move(*restart));
#pragma once

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/log.h"
#include "core/runtime/unclaimed_calls.h"

namespace epiphyte::core {

// Error of a provider that the session doesn't list; the session goes on without the provider.
struct OptionalProviderError {
  std::string provider;
  std::string reason;
};

// Why the session has to be begun again. Each restart leaves out one more provider or inlines one more function, so
// their number is bounded.
using Restart = std::variant<OptionalProviderError, std::vector<UnclaimedCall>>;

class AttemptFindings {
 public:
  void Add(Restart restart) {
    if (auto* calls = std::get_if<std::vector<UnclaimedCall>>(&restart)) {
      unclaimed_calls_.Add(std::move(*calls));
      return;
    }
    const auto& error = std::get<OptionalProviderError>(restart);
    Log(LogLevel::kWarning, "session", "provider '{}' is left out, its nodes go to the next: {}", error.provider,
        error.reason);
    failed_providers_.insert(error.provider);
    provider_errors_.insert(error.reason);
  }
  // Notes an error of an optional provider that the attempt goes on with.
  void AddProviderError(std::string reason) { provider_errors_.insert(std::move(reason)); }

  // Whether the provider is left out because it failed.
  bool HasFailed(const std::string& provider) const { return failed_providers_.contains(provider); }
  // Errors of optional providers, for the placement report.
  const std::set<std::string>& provider_errors() const { return provider_errors_; }
  const UnclaimedCalls& unclaimed_calls() const { return unclaimed_calls_; }

 private:
  std::set<std::string> failed_providers_;
  std::set<std::string> provider_errors_;
  UnclaimedCalls unclaimed_calls_;
};

}  // namespace epiphyte::core
