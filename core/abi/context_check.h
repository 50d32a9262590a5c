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

// A node as CheckContext sees it.
struct ContextHeader : ContextAttributes {
  std::string compatibility_info;  // of the model's metadata
  ContextBlob blob;                // may be empty: metadata alone
};

// Where a context is to run; without a session, nowhere in particular.
struct ContextPlace {
  std::vector<uint32_t> devices;
  std::map<std::string, std::string> options;
};

struct ContextCheck {
  ContextVerdict verdict = ContextVerdict::kNotApplicable;
  std::string reason;  // one line; empty for kOptimal if the plugin gave none
};

// A plugin without CheckContext, and one that fails to answer, give kNotApplicable with the reason.
ContextCheck CheckContext(const LoadedPlugin& plugin, const ContextHeader& header, const ContextPlace& place = {});

// "optimal", "prefer recompilation", "unsupported", "not applicable"
const char* ContextVerdictName(ContextVerdict verdict);

}  // namespace epiphyte::core
