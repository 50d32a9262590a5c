// Context check: asks a plugin whether a context can be used here, without a session, a provider or device work.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/registry/catalog.h"

namespace epiphyte::core {

enum class ContextVerdict : uint32_t { kNotApplicable = 0, kOptimal = 1, kPreferRecompilation = 2, kUnsupported = 3 };

// Description of a node that CheckContext gets.
struct ContextHeader : ContextAttributes {
  std::string compatibility_info;  // compatibility string in the model's metadata
  ContextBlob blob;                // may be empty: the plugin judges by metadata alone
};

// Devices and options that a context is to run with. Both are empty when there is no session.
struct ContextPlace {
  std::vector<uint32_t> devices;
  std::map<std::string, std::string> options;
};

struct ContextCheck {
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;  // one line; empty for kOptimal if the plugin gave no reason
};

// Returns kNotApplicable with the reason for a plugin without CheckContext and for one that fails to answer.
ContextCheck CheckContext(const LoadedPlugin& plugin, const ContextHeader& header, const ContextPlace& place = {});

// Name for messages: "optimal", "prefer recompilation", "unsupported", "not applicable".
const char* ContextVerdictName(ContextVerdict verdict);

}  // namespace epiphyte::core
