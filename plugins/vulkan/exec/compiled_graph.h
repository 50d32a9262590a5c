// CompiledGraph: a compiled partition, shared by all runs. It has the graph with packed constants, an operator for each
// node, constants in the device's memory, and a program for each recent combination of inputs.
//
//     const auto compiled = CompiledGraph::Build(std::move(graph), {&operators, device, capabilities});
//     const std::shared_ptr<const LoadedProgram> program = compiled->ProgramFor(signature, inputs);
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
  Capabilities capabilities;                 // capabilities of the device without those that are turned off
  std::shared_ptr<MemoryLimit> limit;        // limit for weights and intermediate values; null if there is none
  std::shared_ptr<ConstantStore> constants;  // shares constants with other graphs; null: nothing is shared
  std::function<void(uint64_t done, uint64_t total)> progress;  // nodes packed and their total; may throw to cancel
  // Keeps a borrowed constant's data where it is, like ir::Retain. Empty: constants are copied.
  std::function<void(ir::Constant& constant)> retain;
  // Tells the host that a borrowed constant's data is not read any more, like ir::Drop; may be empty.
  std::function<void(ir::Constant& constant)> drop;
};

// The properties of a run's input that determine the program.
struct ArrivedInput {
  EpElementType type = EP_TYPE_UNDEFINED;
  std::span<const int64_t> dims;
  const void* data = nullptr;  // elements in host memory; read only if CompiledGraph::reads_inputs says so
};

// A program with its constants and literals in device memory, which all runs share.
struct LoadedProgram {
  std::string signature;
  Program program;
  MemoryPlan memory;
  std::shared_ptr<Buffer> literals;                // null: there are none
  std::vector<BufferRange> constants;              // by tensor; empty for a tensor that is no constant
  std::vector<uint32_t> inputs;                    // indices of the inputs that the device reads, ascending
};

class CompiledGraph {
 public:
  // Verifies the graph (verify.h) and packs constants. A graph from a context brings `packed` instead. If all shapes
  // are known, the program is made at once; otherwise weights are loaded to the device all the same. Throws kit::Error.
  static std::shared_ptr<CompiledGraph> Build(ir::Graph graph, const CompileConfig& config,
                                              GraphOrigin origin = GraphOrigin::kMadeNow,
                                              std::vector<kit::PackedData> packed = {});
  // The program that Build makes at once for the same `graph`, or nothing if some shapes are not known. Nothing is
  // loaded to the device.
  static std::optional<Program> ProgramOf(ir::Graph graph, const CompileConfig& config);

  const ir::Graph& graph() const { return graph_; }
  const std::vector<kit::PackedData>& packed() const { return packed_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const std::shared_ptr<MemoryLimit>& limit() const { return limit_; }
  // By input: the host reads its elements before each run.
  const std::vector<bool>& reads_inputs() const { return reads_inputs_; }
  // By output: the host knows its elements without running anything.
  const std::vector<bool>& known_outputs() const { return known_outputs_; }
  // By output: the input that it may overwrite, or -1. Only the node that makes the output reads that input, and it
  // doesn't need the input any more once it writes.
  const std::vector<int32_t>& in_place() const { return in_place_; }

  // Sets a text that is the same for inputs that run the same program: types, shapes, and the elements that the host
  // reads. Throws if an input doesn't fit the graph.
  void SignatureOf(std::span<const ArrivedInput> inputs, std::string* signature) const;
  // The program for these inputs. It is made unless it is among those that were used last.
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
  // The inputs of a graph in which all shapes are known; nothing for others.
  std::optional<std::vector<ArrivedInput>> StaticInputs() const;
  void Pack(const CompileConfig& config);
  Program MakeProgram(std::span<const ArrivedInput> inputs) const;
  void KeepConstants(const CompileConfig& config);
  std::shared_ptr<LoadedProgram> Make(const std::string& signature, std::span<const ArrivedInput> inputs);
  // Loads the large constants that nodes read, before there is a program.
  void LoadWeights();
  // Loads the constants of a program that are not on the device yet.
  void LoadConstants(LoadedProgram& loaded);
  // Loads data by index: constants of the graph come first, packed data after them.
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
  std::vector<std::shared_ptr<const LoadedProgram>> programs_;  // least recently used first
  uint64_t programs_made_ = 0;
  std::vector<BufferRange> on_device_;  // by index as in Load; empty until loaded
};

}  // namespace epiphyte::vulkan
