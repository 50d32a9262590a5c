// Kernel is a program on one device. Execute checks the values from the host, computes shapes and submits the work. The
// device's thread does the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "epiphyte/kit/abi/device_runs.hpp"
#include "tests/device/plugin/machine.h"
#include "tests/device/plugin/options.h"
#include "tests/device/plugin/program.h"

namespace epiphyte::test::device {

// State of a kernel. One Execute at a time uses it, with the work that it submits.
struct State {
  std::atomic<int> users{0};   // Executes, and submitted work that isn't done
  std::vector<float> scratch;  // values inside the program, with option `state`
};

class Kernel : public std::enable_shared_from_this<Kernel> {
 public:
  // `executing`: number of current Executes of the provider.
  Kernel(Machine& machine, const Options& options, std::shared_ptr<std::atomic<int>> executing, uint32_t device,
         Program program);

  const EpHostInfo& host() const { return machine_.host(); }
  const Program& program() const { return program_; }
  // True while an Execute or submitted work uses the kernel.
  bool IsInUse() const { return users_ != 0; }
  void Describe(EpKernelInfo* info) const;
  // Runs the program once. `state` may be null.
  void Execute(const std::shared_ptr<State>& state, EpRun* run);

 private:
  struct Call;   // data of one Execute
  struct InUse;  // references that submitted work holds

  bool IsOnDevice() const { return options_.is_async || options_.memories != EP_MEMORIES_HOST; }
  void GetStream(Call& call) const;
  void TakeInputs(Call& call) const;
  void MakeOutputs(Call& call) const;
  Place MakeOutput(Call& call, uint32_t index, const Dims& dims) const;
  Place Adopt(Call& call, uint32_t index, const Dims& dims) const;
  Place Locate(Call& call, const EpTensorView& view, uint32_t memories, bool is_written, const std::string& what) const;
  void LookForOverlap(const Call& call, uint32_t output, const Place& place) const;
  void LookAtBinding(const Call& call);
  std::unique_ptr<Work> MakeWork(Call& call, const std::shared_ptr<State>& state, bool is_state_free);

  Machine& machine_;
  const kit::DeviceRuns device_runs_;
  const Options options_;
  const std::shared_ptr<std::atomic<int>> executing_;
  const uint32_t device_;
  const Program program_;
  std::vector<uint32_t> input_memories_;
  std::vector<uint32_t> output_memories_;
  std::vector<int32_t> aliases_;
  std::atomic<int> users_{0};

  std::mutex mutex_;
  std::map<uint64_t, std::vector<uint64_t>> bindings_;  // addresses and shapes by binding number
};

}  // namespace epiphyte::test::device
