// SdkContext: an SDK's context for one device or for none, with everything that needs no device: operator queries,
// compilation, blobs.
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

using SdkOptions = std::vector<std::pair<std::string, std::string>>;  // options of the SDK itself

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
  // `device` is an id of ListDevices, or NSDK_WITHOUT_DEVICE. Throws the SDK's error if it rejects the options.
  SdkContext(std::shared_ptr<const Sdk> sdk, uint32_t device, const SdkOptions& options, const kit::Log& log);
  ~SdkContext();
  SdkContext(const SdkContext&) = delete;
  SdkContext& operator=(const SdkContext&) = delete;

  const Sdk& sdk() const { return *sdk_; }
  const Target& target() const { return target_; }
  uint32_t device() const { return device_; }  // the constructor's argument
  NsdkContext* handle() const { return context_; }

  // Reason why operator `op` of the graph can't be compiled; "" if it can.
  std::string WhyNot(const NsdkGraph& graph, uint32_t op) const;
  // Writes one blob of several graphs, in their order, from its first byte to its last. Exceptions of `write` reach the
  // caller.
  using Write = std::function<void(const void* data, uint64_t size)>;
  void WriteBlob(std::span<const Compiled* const> compiled, const Write& write) const;
  // The verdict on any bytes, a blob or not.
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

// A compiled graph. It keeps its context alive.
class Compiled {
 public:
  // Reports progress to the task. Stops when the task is cancelled, with the exception that Task::Report throws. Throws
  // NOT_IMPLEMENTED if the SDK rejects the graph.
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
