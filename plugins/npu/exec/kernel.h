// NpuKernel: the host's kernel for a graph of a loaded program. Inputs and outputs are bound in place. Each concurrent
// Execute has its own execution, which the host pools.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "epiphyte/kit/plugin/kernel.hpp"
#include "plugins/npu/client/program.h"

namespace epiphyte::npu {

// A graph of a program, and the blob that the program reads in place.
struct LoadedGraph {
  std::shared_ptr<const Program> program;
  uint32_t graph = 0;
  std::shared_ptr<const std::vector<std::byte>> blob;  // null: the host owns the blob, or it was copied
};

// A graph that the first run loads. [any thread]
class LazyGraph {
 public:
  using Load = std::function<LoadedGraph()>;
  explicit LazyGraph(Load load) : load_(std::move(load)) {}
  const LoadedGraph& Get();

 private:
  std::mutex mutex_;
  Load load_;
  std::optional<LoadedGraph> loaded_;
};

// State of a run; the first run that has it creates the execution.
struct RunState {
  std::unique_ptr<Execution> execution;
};

class NpuKernel final : public kit::StatefulKernel<RunState> {
 public:
  // `name` is the partition's name, for the profile.
  NpuKernel(std::string name, std::vector<Port> inputs, std::vector<Port> outputs, std::shared_ptr<LazyGraph> graph,
            bool is_exclusive);

  bool IsExclusive() const override { return is_exclusive_; }
  void Execute(const kit::Run& run, RunState& state) override;

 private:
  const std::string name_;
  const std::vector<Port> inputs_, outputs_;
  const std::shared_ptr<LazyGraph> graph_;
  const bool is_exclusive_;
};

}  // namespace epiphyte::npu
