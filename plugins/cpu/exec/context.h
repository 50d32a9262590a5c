// The cpu provider's context: the plans of all partitions with their packed weights, used in place when mapped.
//
//     64 bytes   magic, format version, sizes, digests
//     table      a FlatBuffer (plan.fbs)
//     data       constants and packed weights, each at a multiple of 64; equal ones once, whichever plan they are of
//
// Nothing in it is trusted: digests are compared, the FlatBuffer is verified, and every offset, count and size is
// checked before use; what the plans in it say is verified before kernels are built of them (verify.h). The same plans
// give the same bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/exec/plan.h"

namespace epiphyte::cpu {

// What packed weights depend on.
struct ContextKey {
  std::string onednn;  // version and hash
  std::string isa;     // that oneDNN generates code for
  uint32_t threads = 1;
  std::string precision;  // "f32" or "bf16"
  std::string plugin;     // version of this provider

  bool operator==(const ContextKey&) const = default;
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

// Which digests Parse compares. Those of header and table always; of the data either all, or what is read in no time:
// the host has compared the digest of the whole before, unless the user waived that.
enum class ContextDigests { kSmallSections, kAll };

// A parsed context, which views the bytes it was made from. Throws OpError(EP_STATUS_INVALID_GRAPH).
struct LoadedContext {
  ContextKey key;
  std::vector<LoadedPlan> plans;

  static LoadedContext Parse(const void* data, uint64_t size, ContextDigests digests = ContextDigests::kSmallSections);
};

// The verdict on a context that is known by its description, by its bytes, or by both. `reason` is one line.
EpContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source,
                                    const KernelRegistry& registry, std::string* reason);

}  // namespace epiphyte::cpu
