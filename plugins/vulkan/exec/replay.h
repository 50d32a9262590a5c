// Replay: a program recorded into commands, with memory of its own. One Execute at a time uses it.
//
//     ReplaySet replays;                  // of one kernel's state
//     PreparedReplay prepared(*compiled, threads);                       // of the kernel
//     replays.Execute(*compiled, run, device_runs, threads, prepared);   // records what is not recorded yet
//
// Execute submits to the run's stream and returns. The commands read inputs and write outputs in buffers directly.
// Values in host memory are copied to and from the replay's own memory. On a host without devices Execute waits for
// completion.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "epiphyte/kit/abi/device_runs.hpp"
#include "epiphyte/kit/abi/profile.hpp"
#include "epiphyte/kit/abi/run.hpp"
#include "epiphyte/kit/abi/threads.hpp"
#include "plugins/vulkan/device/compiled_program.h"
#include "plugins/vulkan/exec/compiled_graph.h"

namespace epiphyte::vulkan {

class Replay {
 public:
  // `profile`: runs tell what each dispatch took.
  Replay(std::shared_ptr<const LoadedProgram> loaded, const CompiledGraph& graph, const kit::Threads& threads,
         bool profile);

  const LoadedProgram& loaded() const { return *loaded_; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // `device_runs`: false, then `stream` is the replay's alone.
  void Run(const kit::Run& run, const kit::DeviceRuns& device_runs, Stream& stream);

 private:
  Command::Binding BindingOf(int32_t tensor) const;
  void AddCommands(const ir::Graph& graph, bool profile);
  // The replay's own memory for a slot, made when it is needed.
  const BufferRange& OwnRange(size_t slot);
  // False: the value is in host memory, and the slot has the replay's own.
  bool Place(size_t slot, const EpTensorView& view);
  void PlaceInput(size_t slot, const EpTensorView& view);
  void PlaceOutput(size_t slot, const EpTensorView& view);
  void AddTimes(const kit::Profile& profile) noexcept;

  const std::shared_ptr<const LoadedProgram> loaded_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<MemoryLimit> limit_;
  std::shared_ptr<Buffer> arena_;
  uint64_t memory_bytes_ = 0;
  CommandList list_;                     // commands that the constructor recorded
  std::vector<int32_t> slot_of_input_;   // by input of the graph; -1: the device doesn't read it
  std::vector<int32_t> slot_of_output_;  // by output; -1: the host knows it
  std::vector<BufferRange> own_;         // by slot
  // For Run: kept, so that a steady run allocates nothing.
  std::vector<BufferRange> slots_;
  std::vector<StreamCopy> before_;
  std::vector<StreamCopy> after_;
  std::vector<std::string> names_;             // names of the dispatches if they are profiled
  std::unique_ptr<CompiledProgram> compiled_;  // null: nothing is done on the device
};

// A replay recorded while the session is created, if shapes are known. The first run that asks for it gets it. Its
// pipelines belong to the device, so contexts contain the driver's pipeline data. [any thread]
class PreparedReplay {
 public:
  // No replay is made when the device's memory is short: the run then reports the error.
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
  void Execute(CompiledGraph& graph, const kit::Run& run, const kit::DeviceRuns& device_runs,
               const kit::Threads& threads, PreparedReplay& prepared);

 private:
  static constexpr size_t kMost = 8;
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;  // beyond this only the one in use is kept

  std::unique_ptr<Stream> own_stream_;            // on a host without devices
  std::vector<std::unique_ptr<Replay>> replays_;  // most recently used first
  std::vector<ArrivedInput> inputs_;
  std::string signature_;
};

}  // namespace epiphyte::vulkan
