// Contexts of the cpu provider. A context holds the plans of all partitions and their packed weights, as graphs in a
// container of the kit. A mapped context is used in place: its weights are not copied.
//
// A context is untrusted input. The container compares digests and checks every offset, count and size; VerifyPlan
// (verify.h) checks the plans before kernels are built from them. Equal plans give equal bytes.
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

// Version of the container, of every packed format and of the meaning of fused operators. Raise it with each change to
// any of them.
inline constexpr kit::ContainerFormat kContextFormat = {
    "\x01\xFF"
    "EPUCTX",
    3, "the cpu context"};

// Properties of the machine and the session that determine the format of packed weights.
struct ContextKey {
  std::string onednn;  // version and hash
  std::string isa;     // target of oneDNN's code generator, behind the architecture: "x86_64/avx2"
  uint32_t threads = 1;
  std::string precision;  // value of the provider's option `precision`
  std::string plugin;     // version of this provider

  static ContextKey Here(uint32_t threads, std::string precision);
  std::string ToText() const;
  // Tells whether a context made under the key with text `made` runs under this key.
  kit::ContextVerdict Compare(std::string_view made) const;
};

std::string Architecture();  // architecture of this machine: "x86_64"

// Writes a context front to back through `write`.
void WriteContext(const ContextKey& key, std::span<const Plan* const> plans,
                  const std::function<void(const void* data, uint64_t size)>& write);

// A view of the bytes. The host's digest has been compared before, unless the user waived that check.
std::shared_ptr<const kit::ContextContainer> OpenContext(const void* data, uint64_t size);

// Verdict on a context known by its description, its bytes, or both. The context's precision is compared with the
// session's option where the host passes one. The number of threads is not compared.
kit::ContextVerdict CheckContextHeader(const EpContextHeader& header, std::string_view source,
                                       const KernelRegistry& registry);

}  // namespace epiphyte::cpu
