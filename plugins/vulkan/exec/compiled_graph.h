// CompiledGraph: a partition that was compiled: its graph with packed constants, an operator for each node, constants in
// the device's memory, and a program for each combination of inputs that was met lately. Shared by all runs.
//
//     const auto compiled = CompiledGraph::Build(std::move(graph), {&operators, device, capabilities});
//     const std::shared_ptr<const LoadedProgram> program = compiled->ProgramFor(inputs);
//
// [any thread]
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/kit/container/graph.hpp"
#include "plugins/vulkan/device/device.h"
#include "plugins/vulkan/exec/constant_store.h"
#include "plugins/vulkan/exec/verify.h"
#include "plugins/vulkan/ops/program_builder.h"
#include "plugins/vulkan/program/memory_plan.h"

namespace epiphyte::vulkan {

struct CompileConfig {
  const OperatorTable* operators = nullptr;  // outlives the graph
  std::shared_ptr<Device> device;
  Capabilities capabilities;  // the device's, without those that are turned off
  std::shared_ptr<MemoryLimit> limit;        // limit for weights and intermediate values; null if there is none
  std::shared_ptr<ConstantStore> constants;  // shares constants with other graphs; null: it has its own
  std::function<void(uint64_t done, uint64_t total)> progress;  // may throw to cancel
  // Keeps a borrowed constant's data where it is, as ir::Retain; empty: constants are copied.
  std::function<void(ir::Constant& constant)> retain;
  // Tells the host that a borrowed constant's data is not read any more, as ir::Drop; may be empty.
  std::function<void(ir::Constant& constant)> drop;
};

// An input of a run, as far as it determines the program.
struct ArrivedInput {
  EpElementType type = EP_TYPE_UNDEFINED;
  std::span<const int64_t> dims;
  const void* data = nullptr;  // in host memory
};

// A program with what it needs of the device that runs can share.
struct LoadedProgram {
  std::string signature;
  Program program;
  MemoryPlan memory;
  std::shared_ptr<Buffer> literals;                // null: there are none
  std::vector<BufferRange> constants;              // by tensor; empty for those that are none
  std::vector<uint32_t> inputs;                    // those that the device reads, in ascending order
};

class CompiledGraph {
 public:
  // Verifies the graph (verify.h) and packs constants; `packed` is what a context held instead. Where shapes are known
  // the program is made at once, and where they aren't weights go to the device all the same. Throws kit::Error.
  static std::shared_ptr<CompiledGraph> Build(ir::Graph graph, const CompileConfig& config,
                                              GraphOrigin origin = GraphOrigin::kMadeNow,
                                              std::vector<kit::PackedData> packed = {});
  // The program that Build makes where all shapes are known, if they are; nothing reaches the device's memory. `graph` is
  // as Build gets it.
  static std::optional<Program> ProgramOf(ir::Graph graph, const CompileConfig& config);

  const ir::Graph& graph() const { return graph_; }
  const std::vector<kit::PackedData>& packed() const { return packed_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }
  // By input: the host reads its elements before each run.
  const std::vector<bool>& reads_inputs() const { return reads_inputs_; }
  // By output: the host knows its elements without running anything.
  const std::vector<bool>& known_outputs() const { return known_outputs_; }
  // By output: the input over which it can be written, or -1. Nothing but the node that makes it reads that input, which
  // it needs no more once it writes.
  const std::vector<int32_t>& in_place() const { return in_place_; }

  // The same text for inputs that run the same program: types, shapes, and the elements that the host reads. Throws
  // when an input doesn't fit the graph.
  void SignatureOf(std::span<const ArrivedInput> inputs, std::string* signature) const;
  // The program for inputs, made if it is none of those that were asked for last.
  std::shared_ptr<const LoadedProgram> ProgramFor(const std::string& signature, std::span<const ArrivedInput> inputs);
  // The program of a graph in which all shapes are known; null for others.
  std::shared_ptr<const LoadedProgram> StaticProgram();
  // Programs made so far, for tests.
  uint64_t programs_made() const;

 private:
  CompiledGraph() = default;
  void FindPlaces(const HostValues& host_values);
  static std::shared_ptr<CompiledGraph> Start(ir::Graph graph, const CompileConfig& config, GraphOrigin origin,
                                              std::vector<kit::PackedData> packed);
  // Nothing when shapes are not all known.
  std::optional<std::vector<ArrivedInput>> StaticInputs() const;
  void Pack(const CompileConfig& config);
  Program MakeProgram(std::span<const ArrivedInput> inputs) const;
  void KeepConstants(const CompileConfig& config);
  std::shared_ptr<LoadedProgram> Make(const std::string& signature, std::span<const ArrivedInput> inputs);
  // Loads the constants that every program will need, before there is a program.
  void LoadWeights();
  // Loads the constants of a program that are not on the device yet.
  void LoadConstants(LoadedProgram& loaded);
  // Indices are the numbers of constants or packed data.
  void Load(std::span<const uint64_t> indices);
  std::span<const std::byte> BytesOfConstant(uint64_t index) const;

  ir::Graph graph_;
  std::vector<kit::PackedData> packed_;
  std::vector<const Operator*> operators_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<ConstantStore> store_;
  std::shared_ptr<MemoryLimit> limit_;
  Capabilities capabilities_;
  std::vector<bool> reads_inputs_;
  std::vector<bool> known_outputs_;
  std::vector<int32_t> in_place_;
  std::function<bool(std::string_view)> has_shader_;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const LoadedProgram>> programs_;  // asked for last at the end
  uint64_t programs_made_ = 0;
  std::vector<BufferRange> on_device_;  // by number of constant or packed data; empty: not yet
};

}  // namespace epiphyte::vulkan
