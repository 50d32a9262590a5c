// Programs: blobs that an SDK has loaded, groups of programs that share memory, and executions of their graphs.
//
//   const auto program = std::make_shared<const Program>(context, blob, loading);
//   Execution execution(program, program->info().Find("main_0"));
//   execution.Bind(NSDK_INPUT, 0, {data, size, 0});
//   execution.Run([&] { return run.IsCancelled(); });
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plugins/npu/client/blob_info.h"
#include "plugins/npu/client/context.h"

namespace epiphyte::npu {

// Programs that share scratch memory or weights; for SDKs with NSDK_CAN_GROUP.
class Group {
 public:
  Group(std::shared_ptr<const SdkContext> context, NsdkGroupKind kind);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  NsdkGroup* handle() const { return group_; }

 private:
  const std::shared_ptr<const SdkContext> context_;
  NsdkGroup* group_ = nullptr;
};

struct ProgramOptions {
  std::shared_ptr<const Group> scratch, weights;  // null: none
  bool blob_stays = true;                         // the blob stays in place, unchanged, as long as the program
  int32_t priority = 0;
};

// Keeps its context and its groups alive. [any thread]
class Program {
 public:
  // The SDK reads all of the blob once, as it loads it. Throws INVALID_GRAPH if the SDK doesn't load the blob.
  Program(std::shared_ptr<const SdkContext> context, std::span<const std::byte> blob, const ProgramOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const SdkContext& context() const { return *context_; }
  const BlobInfo& info() const { return info_; }
  // True if the program's runs can't overlap.
  bool is_exclusive() const { return options_.scratch != nullptr; }
  NsdkProgram* handle() const { return program_; }

 private:
  void Unload() noexcept;

  const std::shared_ptr<const SdkContext> context_;
  const ProgramOptions options_;
  BlobInfo info_;
  NsdkProgram* program_ = nullptr;
};

// A bound buffer. If `stable` isn't 0, the memory keeps its address and stays the same allocation as long as bindings
// have the same number, so the device may use it in place. The device holds the buffer until another one is bound or
// the execution ends. It reads and writes it only during runs.
struct Place {
  void* address = nullptr;
  uint64_t size = 0;
  uint64_t stable = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// One graph of a program, for one thread at a time. It keeps the program alive.
class Execution {
 public:
  Execution(std::shared_ptr<const Program> program, uint32_t graph);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Binding a stable buffer again costs nothing.
  void Bind(NsdkDirection direction, uint32_t index, const Place& place);
  // Returns when the outputs are written. `cancelled` is called from time to time; Run throws CANCELED when it returns
  // true.
  void Run(const std::function<bool()>& cancelled);
  // Counters of the last run; nothing if the SDK doesn't count.
  std::optional<NsdkCounters> Counters() const;

 private:
  struct Bound {
    Place place;
    NsdkMemory* memory = nullptr;
  };

  const Sdk& sdk() const { return program_->context().sdk(); }
  // Device memory at the buffer; null if the SDK can't use it in place.
  NsdkMemory* Import(const Place& place) const;
  void Free(NsdkMemory* memory) const noexcept;

  const std::shared_ptr<const Program> program_;
  NsdkExecution* execution_ = nullptr;
  std::vector<Bound> bound_[2];  // by direction
};

}  // namespace epiphyte::npu
