// ProgramBuilder: makes a program from a compiled graph and inputs of known shapes.
//
//     ProgramBuilder builder(graph, operators, capabilities, packed, has_shader);
//     const Program program = builder.Build(inputs);   // one for each input of the graph
//
// A node is computed on the host if the host knows its inputs and the operator has `on_host`; else it is recorded. The
// same graph and inputs give the same program. Build throws kit::Error with the node's name in front of the message.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/container/graph.hpp"
#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

// The known properties of one input of the graph.
struct ProgramInput {
  EpElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  std::shared_ptr<const HostTensor> host;  // its elements, if the host read them
};

class ProgramBuilder {
 public:
  // All arguments must outlive the builder. `operators` has the operator of each node, in order. `has_shader` says
  // whether the kernel set has a shader of that name.
  ProgramBuilder(const ir::Graph& graph, std::span<const Operator* const> operators, const Capabilities& capabilities,
                 std::span<const kit::PackedData> packed, const std::function<bool(std::string_view)>& has_shader);

  Program Build(std::span<const ProgramInput> inputs);

 private:
  friend class Recording;

  void SetInputs(std::span<const ProgramInput> inputs);
  void SetConstants();
  void RunNode(int32_t node);
  bool RunOnHost(const ir::Node& node, const Operator& op);
  void SetOutputs();
  Program::Output MakeOutput(int32_t value);

  RecordedValue& value(int32_t value) { return values_[static_cast<size_t>(value)]; }
  // The value, which must have been made already; throws if not.
  RecordedValue& Made(int32_t value);
  const HostTensor* HostOf(int32_t value);
  // The device tensor of a value. A value that only the host has becomes a literal.
  int32_t TensorOf(int32_t value);
  int32_t AddTensor(EpElementType type, const Dims& dims, Place place, uint64_t index);
  int32_t AddLiteral(EpElementType type, const Dims& dims, const void* data);
  void CheckMade(int32_t value, EpElementType type, const Dims& dims) const;

  const ir::Graph& graph_;
  const std::span<const Operator* const> operators_;
  const Capabilities& capabilities_;
  const std::span<const kit::PackedData> packed_;
  const std::function<bool(std::string_view)>& has_shader_;
  std::map<std::pair<int32_t, std::string_view>, uint32_t> packed_of_node_;

  Program program_;
  std::vector<RecordedValue> values_;
  std::vector<bool> made_;
  std::vector<int32_t> input_of_value_;
};

}  // namespace epiphyte::vulkan
