// The cpu provider's contexts: the plans of all partitions with their packed weights, as graphs in a container of the
// kit's. Weights are used in place when it is mapped.
//
// Nothing in it is trusted: the container compares digests and checks every offset, count and size; what the plans in
// it say is verified before kernels are built of them (verify.h). The same plans give the same bytes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "epiphyte/ep_context.h"
#include "epiphyte/kit/container/container.hpp"
#include "epiphyte/kit/container/graph.hpp"
#include "epiphyte/kit/container/key.hpp"
#include "plugins/cpu/exec/plan.h"

namespace epiphyte::cpu {

// The version is also that of every packed format and of the meaning of fused operators: whoever changes one of them
// raises it.
inline constexpr kit::ContainerFormat kContextFormat = {
    "\x01\xFF"
    "EPUCTX",
    3, "the cpu context"};

// What packed weights depend on.
struct ContextKey {
  std::string onednn;  // version and hash
  std::string isa;     // that oneDNN generates code for, after the machine's: "x86_64/avx2"
  uint32_t threads = 1;
  std::string precision;  // the provider's option
  std::string plugin;     // version of this provider

  static ContextKey Here(uint32_t threads, std::string precision);
  std::string ToText() const;
  // Whether a context made under the key of text `made` runs under this one.
  kit::ContextVerdict Compare(std::string_view made) const;
};

std::string Architecture();  // of the machine: "x86_64"

// Writes a context front to back through `write`.
void WriteContext(const ContextKey& key, std::span<const Plan* const> plans,
                  const std::function<void(const void* data, uint64_t size)>& write);

// A view of the bytes; they were compared with the host's digest, unless the user waived that.
std::shared_ptr<const kit::ContextContainer> OpenContext(const void* data, uint64_t size);

// The verdict on a context that is known by its description, by its bytes, or by both. Its precision is compared with
// the option of the session that asks, where the host gives one. The number of threads is not compared.
kit::ContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source,
                                       const KernelRegistry& registry);

}  // namespace epiphyte::cpu
