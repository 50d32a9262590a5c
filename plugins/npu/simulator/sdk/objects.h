// Definitions of the opaque types of nsdk.h.
//
// Contexts outlive all objects that were made with them. A program keeps its blob's weights and its groups' memory
// alive. Each execution has a separate chip, so executions run concurrently. Each runs on the thread that calls run or
// on a thread of run_async.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nsdk.h"
#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/device/cycles.h"
#include "plugins/npu/simulator/device/device.h"
#include "plugins/npu/simulator/sdk/settings.h"
#include "plugins/npu/simulator/sdk/status.h"
#include "plugins/npu/simulator/sdk/turns.h"

struct NsdkContext {
  epiphyte::npusim::Settings settings;
  std::string architecture;
  bool has_device = false;
  void (*log)(void* user, uint32_t level, const char* text) = nullptr;
  void* user = nullptr;

  void Log(uint32_t level, const std::string& text) const {
    if (log != nullptr) log(user, level, text.c_str());
  }
};

struct NsdkCompiled {
  epiphyte::npusim::Config config;
  epiphyte::npusim::CompiledGraph graph;
};

namespace epiphyte::npusim {

// Zeroed memory. Pages take no memory before they are touched, however many bytes a blob asks for.
class ZeroedBytes {
 public:
  explicit ZeroedBytes(uint64_t size = 0)
      : size_(size), bytes_(size == 0 ? nullptr : static_cast<std::byte*>(std::calloc(1, size))) {
    if (size != 0 && bytes_ == nullptr) throw std::bad_alloc();
  }
  std::byte* data() const { return bytes_.get(); }
  uint64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  uint64_t size_;
  std::unique_ptr<std::byte, Free> bytes_;
};

// Scratch memory that a group's programs share. It lives as long as one of them or the group.
struct SharedScratch {
  Turns turns;         // for programs that run or join
  ZeroedBytes memory;  // as large as the largest program needs
};

struct SharedWeights {
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  std::mutex mutex;
  std::multimap<uint64_t, std::weak_ptr<const std::vector<std::byte>>> by_hash;

  // Returns the weights of a program in the group if they are equal, otherwise a copy.
  Bytes Find(std::span<const std::byte> weights);
};

}  // namespace epiphyte::npusim

struct NsdkGroup {
  uint32_t kind = 0;
  std::shared_ptr<epiphyte::npusim::SharedScratch> scratch;  // NSDK_SHARE_SCRATCH only
  std::shared_ptr<epiphyte::npusim::SharedWeights> weights;  // NSDK_SHARE_WEIGHTS only
};

struct NsdkMemory {
  std::byte* address = nullptr;
  uint64_t size = 0;
  bool writable = true;
  void* allocated = nullptr;  // memory to free; null: none
  void* mapped = nullptr;     // mapping of mapped_size bytes to unmap; null: none
  uint64_t mapped_size = 0;

  NsdkMemory() = default;
  NsdkMemory(const NsdkMemory&) = delete;
  NsdkMemory& operator=(const NsdkMemory&) = delete;
  ~NsdkMemory();
};

struct NsdkProgram {
  NsdkContext* context = nullptr;
  epiphyte::npusim::Blob blob;
  epiphyte::npusim::SharedWeights::Bytes weights;  // null: the weights are in the caller's blob, which stays
  std::shared_ptr<epiphyte::npusim::SharedScratch> scratch;
  int32_t priority = 0;  // priority of its runs when they wait for shared scratch memory

  // Counters of a graph on this context's device. Cycles depend on nothing else, so they are computed once.
  const epiphyte::npusim::CycleCounters& CountersOf(uint32_t graph);

 private:
  std::mutex mutex_;
  std::map<uint32_t, epiphyte::npusim::CycleCounters> counters_;
};

struct NsdkExecution {
 public:
  NsdkExecution(NsdkProgram& program, uint32_t graph);
  ~NsdkExecution();

  void Bind(uint32_t direction, uint32_t index, const NsdkBinding& binding);
  void Run(const NsdkTask* task);
  void Start(void (*done)(void* user, NsdkStatus status), void* user);
  // Failure of the started run; its status is NSDK_OK if the run succeeded.
  epiphyte::npusim::Failure Wait();
  epiphyte::npusim::CycleCounters Counters();

 private:
  enum class State { kIdle, kRunning };
  struct Bound {
    bool bound = false;
    std::byte* address = nullptr;
  };

  void Begin();  // throws NSDK_BUSY, or an error for an unbound input or output
  void Finish(bool finished);
  void Execute(const NsdkTask* task);

  NsdkProgram& program_;
  const uint32_t index_;
  const epiphyte::npusim::BlobGraph& graph_;
  std::optional<epiphyte::npusim::Device> device_;
  epiphyte::npusim::ZeroedBytes own_scratch_;
  std::vector<Bound> inputs_, outputs_;

  std::mutex mutex_;  // guards the fields below
  std::condition_variable over_;
  State state_ = State::kIdle;
  bool ever_finished_ = false;
  bool ever_started_ = false;
  epiphyte::npusim::Failure started_;  // how the last started run ended
  std::thread thread_;
};
