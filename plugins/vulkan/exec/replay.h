// Replay: a program recorded into commands, with memory of its own. One Execute at a time uses it.
//
//     ReplaySet replays;                  // state of one kernel for one run at a time
//     PreparedReplay prepared(*compiled, threads);                       // one for the kernel
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
  // `profile`: runs report how long each dispatch took.
  Replay(std::shared_ptr<const LoadedProgram> loaded, const CompiledGraph& graph, const kit::Threads& threads,
         bool profile);

  const LoadedProgram& loaded() const { return *loaded_; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // If `device_runs` is false, no other user has `stream`, and Run waits for the device.
  void Run(const kit::Run& run, const kit::DeviceRuns& device_runs, Stream& stream);

 private:
  Command::Binding BindingOf(int32_t tensor) const;
  void AddCommands(const ir::Graph& graph, bool profile);
  // The replay's own memory for a slot, allocated at its first use.
  const BufferRange& OwnRange(size_t slot);
  // Puts the value's buffer into a slot. Returns false if the value is in host memory; the slot then gets the replay's
  // own memory.
  bool Place(size_t slot, const EpTensorView& view);
  void PlaceInput(size_t slot, const EpTensorView& view);
  void PlaceOutput(size_t slot, const EpTensorView& view);
  void AddTimes(const kit::Profile& profile) noexcept;

  const std::shared_ptr<const LoadedProgram> loaded_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<MemoryLimit> limit_;
  std::shared_ptr<Buffer> arena_;
  uint64_t memory_bytes_ = 0;
  CommandList list_;                     // commands that the constructor collects and compiles
  std::vector<int32_t> slot_of_input_;   // by input of the graph; -1: the device doesn't read it
  std::vector<int32_t> slot_of_output_;  // by output of the graph; -1: the host knows its elements
  std::vector<BufferRange> own_;         // the replay's own memory by slot; empty until it is needed
  // Run uses these members. They are kept so that a steady run allocates nothing.
  std::vector<BufferRange> slots_;
  std::vector<StreamCopy> before_;
  std::vector<StreamCopy> after_;
  std::vector<std::string> names_;             // names of the dispatches if they are profiled
  std::unique_ptr<CompiledProgram> compiled_;  // null: nothing is done on the device
};

// A replay that is recorded while the session is created, if all shapes are known. The first run that asks for it gets
// it. Its pipelines belong to the device, so contexts contain the driver's pipeline data. [any thread]
class PreparedReplay {
 public:
  // Makes no replay if the device has too little memory. The run then reports the error.
  PreparedReplay(CompiledGraph& graph, const kit::Threads& threads);
  // Returns the replay, once. Null for another signature, and after it was taken.
  std::unique_ptr<Replay> Take(const std::string& signature);

 private:
  std::mutex mutex_;
  std::unique_ptr<Replay> replay_;
};

class ReplaySet {
 public:
  // `threads` compile pipelines.
  void Execute(CompiledGraph& graph, const kit::Run& run, const kit::DeviceRuns& device_runs,
               const kit::Threads& threads, PreparedReplay& prepared);

 private:
  static constexpr size_t kMost = 8;
  // Bytes. Above this, the replays that were used longest ago are dropped.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

  std::unique_ptr<Stream> own_stream_;            // used on a host without devices
  std::vector<std::unique_ptr<Replay>> replays_;  // most recently used first
  std::vector<ArrivedInput> inputs_;
  std::string signature_;
};

}  // namespace epiphyte::vulkan
