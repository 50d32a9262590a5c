// Programs: blobs that an SDK has loaded, groups of them that share, and executions of their graphs.
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
  bool blob_stays = true;                         // where it is, unchanged, as long as the program
  int32_t priority = 0;
};

// Keeps its context and its groups. [any thread]
class Program {
 public:
  // The SDK looks at all of the blob once, as it loads it. Throws INVALID_GRAPH for one that it doesn't load.
  Program(std::shared_ptr<const SdkContext> context, std::span<const std::byte> blob, const ProgramOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const SdkContext& context() const { return *context_; }
  const BlobInfo& info() const { return info_; }
  // Its runs are one after the other.
  bool is_exclusive() const { return options_.scratch != nullptr; }
  NsdkProgram* handle() const { return program_; }

 private:
  void Unload() noexcept;

  const std::shared_ptr<const SdkContext> context_;
  const ProgramOptions options_;
  BlobInfo info_;
  NsdkProgram* program_ = nullptr;
};

// A place that is bound. `stable`: other than 0, the memory stays where it is and what it is as long as bindings come
// with the same number, so that the device may be given it in place. It has it until another place is bound or the
// execution ends, and reads and writes it in runs alone.
struct Place {
  void* address = nullptr;
  uint64_t size = 0;
  uint64_t stable = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// One graph of a program. By one thread at a time. Keeps the program.
class Execution {
 public:
  Execution(std::shared_ptr<const Program> program, uint32_t graph);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // A stable place that was bound before costs nothing.
  void Bind(NsdkDirection direction, uint32_t index, const Place& place);
  // Until the outputs are written. `cancelled` is asked now and then; throws CANCELED when it says so.
  void Run(const std::function<bool()>& cancelled);
  // Of the last run; nothing where the SDK doesn't count.
  std::optional<NsdkCounters> Counters() const;

 private:
  struct Bound {
    Place place;
    NsdkMemory* memory = nullptr;
  };

  const Sdk& sdk() const { return program_->context().sdk(); }
  // Memory of the device at the place; null where the SDK can't have it there.
  NsdkMemory* Import(const Place& place) const;
  void Free(NsdkMemory* memory) const noexcept;

  const std::shared_ptr<const Program> program_;
  NsdkExecution* execution_ = nullptr;
  std::vector<Bound> bound_[2];  // by direction
};

}  // namespace epiphyte::npu
