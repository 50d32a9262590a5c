// The cpu provider's context: the plans of all partitions with their packed weights, used in place when mapped.
//
//     64 bytes   magic, format version, sizes
//     table      a FlatBuffer (plan.fbs)
//     data       constants and packed weights, each at a multiple of 64
//
// Nothing in it is trusted: the FlatBuffer is verified, and every index, offset and size is checked before use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/plan/plan.h"

namespace epiphyte::cpu {

// What packed weights depend on.
struct ContextKey {
  std::string onednn;  // version and hash
  std::string isa;     // that oneDNN generates code for
  uint32_t threads = 1;
  std::string precision;  // "f32" or "bf16"

  static ContextKey Here(uint32_t threads, bool bfloat16);
  std::string ToText() const;
  static bool FromText(std::string_view text, ContextKey* key);
};

std::string Architecture();  // of the machine: "x86_64"

// Whether a context made under `made` runs under `here`; `reason` says what differs and what to do.
EpContextVerdict Compare(const ContextKey& made, const ContextKey& here, std::string* reason);

// Writes a context front to back through `write`.
void WriteContext(const ContextKey& key, std::span<const Plan* const> plans,
                  const std::function<void(const void* data, uint64_t size)>& write);

// One partition as a context holds it.
struct LoadedPlan {
  PlanDef def;
  std::vector<PackedData> packed;
};

// A parsed context. Throws OpError(EP_STATUS_INVALID_GRAPH).
struct LoadedContext {
  ContextKey key;
  std::vector<LoadedPlan> plans;

  static LoadedContext Parse(const void* data, uint64_t size);
};

// The key of a context, from its first bytes; false when it is none of ours.
bool PeekContextKey(const void* data, uint64_t size, ContextKey* key);

}  // namespace epiphyte::cpu
