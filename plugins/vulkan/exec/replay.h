// Replay: a program recorded into commands, with memory of its own: what one Execute at a time uses.
//
//     ReplaySet replays;                  // of one kernel's state
//     PreparedReplay prepared(*compiled, threads);           // of the kernel
//     replays.Execute(*compiled, run, threads, prepared);    // records what is not recorded yet
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "epiphyte/kit/abi/profile.hpp"
#include "epiphyte/kit/abi/run.hpp"
#include "epiphyte/kit/abi/threads.hpp"
#include "plugins/vulkan/device/compiled_program.h"
#include "plugins/vulkan/exec/compiled_graph.h"

namespace epiphyte::vulkan {

class Replay {
 public:
  // `profile`: runs tell what each dispatch took. `graph`: whose nodes' operators stand in that.
  Replay(std::shared_ptr<const LoadedProgram> loaded, std::shared_ptr<Device> device, const kit::Threads& threads,
         bool profile = false, const ir::Graph* graph = nullptr);

  const LoadedProgram& loaded() const { return *loaded_; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // `inputs` are those that SignatureOf was asked about.
  void Run(const kit::Run& run, std::span<const ArrivedInput> inputs);

 private:
  BufferRange RangeOf(int32_t tensor) const;
  void RunProfiled(const kit::Profile& profile, const RunOptions& options);

  const std::shared_ptr<const LoadedProgram> loaded_;
  std::shared_ptr<Buffer> arena_;
  std::shared_ptr<Buffer> input_memory_;
  std::vector<BufferRange> input_ranges_;  // by input of the graph; empty for those that the device doesn't read
  uint64_t memory_bytes_ = 0;
  std::unique_ptr<CompiledProgram> compiled_;  // null: nothing is done on the device
  std::vector<const void*> sources_;           // for Run: kept, so that a steady run allocates nothing
  std::vector<void*> targets_;
  std::vector<std::string> names_;  // of the dispatches, when they are profiled
  std::vector<CommandTime> times_;
};

// The replay that is recorded while the session is created, where shapes are known: for the first run that asks for it.
// Its pipelines are the device's, so contexts hold what the driver made of them. [any thread]
class PreparedReplay {
 public:
  // None is made when the device's memory is short: who runs hears of that.
  PreparedReplay(CompiledGraph& graph, const kit::Threads& threads);
  // Once; null for other signatures, and afterwards.
  std::unique_ptr<Replay> Take(const std::string& signature);

 private:
  std::mutex mutex_;
  std::unique_ptr<Replay> replay_;
};

class ReplaySet {
 public:
  // `threads`: to compile pipelines with.
  void Execute(CompiledGraph& graph, const kit::Run& run, const kit::Threads& threads, PreparedReplay& prepared);

 private:
  static constexpr size_t kMost = 8;
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // beyond this only the one in use is kept

  std::vector<std::unique_ptr<Replay>> replays_;  // most recently used first
  std::vector<ArrivedInput> inputs_;
  std::string signature_;
};

}  // namespace epiphyte::vulkan
