// SdkContext: an SDK's context for one device or for none, and what needs no device: questions, compiling, blobs.
//
//   const auto context = std::make_shared<const SdkContext>(sdk, NSDK_WITHOUT_DEVICE, options, log);
//   if (std::string why = context->WhyNot(graph, 0); !why.empty()) …
//   const Compiled compiled(context, graph, task);
//   context->WriteBlob({&compiled}, [&](const void* data, uint64_t size) { … });
//
// [any thread]
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/kit/abi/log.hpp"
#include "epiphyte/kit/abi/task.hpp"
#include "epiphyte/kit/abi/verdict.hpp"
#include "plugins/npu/client/sdk.h"

namespace epiphyte::npu {

using SdkOptions = std::vector<std::pair<std::string, std::string>>;  // of the SDK's own

struct Target {
  std::string architecture;
  uint32_t macs_per_cycle = 0;
  uint64_t scratchpad_bytes = 0;
  uint64_t types = 0, ops = 0;
  uint32_t max_rank = 0;
  uint32_t memory_alignment = 1;
  int64_t max_dimension = 0;
  double clock_hz = 0;

  bool Has(NsdkOpKind kind) const { return (ops >> kind & 1) != 0; }
};

class Compiled;

class SdkContext {
 public:
  // `device`: an id of ListDevices, or NSDK_WITHOUT_DEVICE. Throws what the SDK says of the options.
  SdkContext(std::shared_ptr<const Sdk> sdk, uint32_t device, const SdkOptions& options, const kit::Log& log);
  ~SdkContext();
  SdkContext(const SdkContext&) = delete;
  SdkContext& operator=(const SdkContext&) = delete;

  const Sdk& sdk() const { return *sdk_; }
  const Target& target() const { return target_; }
  uint32_t device() const { return device_; }  // as given
  NsdkContext* handle() const { return context_; }

  // Why operator `op` of the graph can't be compiled; "" when it can.
  std::string WhyNot(const NsdkGraph& graph, uint32_t op) const;
  // One blob of several, in their order, from its first byte to its last. What `write` throws comes out.
  using Write = std::function<void(const void* data, uint64_t size)>;
  void WriteBlob(std::span<const Compiled* const> compiled, const Write& write) const;
  // The verdict on a blob, whatever it is.
  kit::ContextVerdict Check(std::span<const std::byte> blob) const;

 private:
  struct LogTarget;

  void ReadTarget();

  const std::shared_ptr<const Sdk> sdk_;
  const uint32_t device_;
  const std::unique_ptr<LogTarget> log_;
  NsdkContext* context_ = nullptr;
  Target target_;
};

// A compiled graph. Keeps its context.
class Compiled {
 public:
  // Reports to the task and stops when that is cancelled, as Task::Report throws. Throws NOT_IMPLEMENTED where the SDK
  // refuses the graph.
  Compiled(std::shared_ptr<const SdkContext> context, const NsdkGraph& graph, const kit::Task& task);
  ~Compiled();
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  const SdkContext& context() const { return *context_; }
  NsdkCompiled* handle() const { return compiled_; }

 private:
  const std::shared_ptr<const SdkContext> context_;
  NsdkCompiled* compiled_ = nullptr;
};

}  // namespace epiphyte::npu
