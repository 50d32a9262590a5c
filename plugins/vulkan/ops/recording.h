// Recording: the interface by which Operator::record adds one node to a program, for inputs of known shapes.
//
//     void RecordRelu(Recording& r) {
//       const DeviceTensor& x = r.Input(0);
//       const int32_t y = r.Output(0, x.type, x.dims);
//       r.Add({.shader = r.ShaderFor("relu", x.type),
//              .parameters = {Count32(x)},
//              .bindings = {r.Read(0), r.Write(y)},
//              .groups = r.GroupsFor(x.dims.Count())});
//     }
//
// Shapes come from applications and files. Compute them with the kit's shape rules, which check them and throw
// kit::Error (INVALID_ARGUMENT) for invalid ones; the node's name is added to messages. A tensor of a program has at
// most Capabilities::max_buffer_range bytes and INT32_MAX elements. Output and Scratch throw an error with the size and
// the limit for a larger one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vulkan/ops/operator.h"
#include "plugins/vulkan/ops/shader_numbers.h"
#include "plugins/vulkan/program/program.h"

namespace epiphyte::vulkan {

using shader::kLinearGroup;

// A value of the graph while ProgramBuilder makes a program: on the device, on the host, or both.
struct RecordedValue {
  int32_t tensor = -1;                     // device tensor; -1: none yet
  std::shared_ptr<const HostTensor> host;  // elements; null: the host doesn't know them
  EpElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
};

class ProgramBuilder;  // program_builder.h

class Recording {
 public:
  Recording(ProgramBuilder& builder, const ir::Graph& graph, int32_t node)
      : builder_(builder), graph_(graph), node_index_(node) {}

  const ir::Node& node() const { return graph_.nodes[static_cast<size_t>(node_index_)]; }
  const Capabilities& capabilities() const;

  // --- Inputs
  size_t input_count() const { return node().inputs.size(); }
  bool HasInput(size_t i) const { return node().HasInput(i); }
  bool HasOutput(size_t i) const { return node().HasOutput(i); }
  // Shape and type of input i, be it on the device or on the host. They throw if input i is left out.
  const Dims& InputDims(size_t i) const;
  EpElementType InputType(size_t i) const;
  // The device tensor of input i. A value that only the host knows becomes a literal. The reference is valid until the
  // next call of a function that adds tensors, so copy dims.
  const DeviceTensor& Input(size_t i);
  int32_t InputTensor(size_t i);
  // Elements of input i; null if the host doesn't know them or the input is left out.
  const HostTensor* Host(size_t i) const;
  // Elements of an input that Operator::host_inputs names. Throws if it is left out or the host doesn't know it.
  const HostTensor& RequireHost(size_t i) const;
  // Data that Packing::Put made for this node, as a tensor of that type and shape. Throws INVALID_GRAPH if there is
  // none, or if its size is not exactly that of the shape: contexts are not trusted.
  int32_t Packed(std::string_view key, EpElementType type, const Dims& dims);
  bool HasPacked(std::string_view key) const;

  // --- Outputs
  // Declares output i, which dispatches of this recording compute. Returns its tensor.
  int32_t Output(size_t i, EpElementType type, const Dims& dims);
  // Makes output i the memory of input j, under other dimensions with as many elements.
  void OutputAs(size_t i, size_t j, const Dims& dims);
  // Makes output i a value that the host knows.
  void OutputOnHost(size_t i, HostTensor value);
  // Adds a tensor for intermediate results of this node.
  int32_t Scratch(EpElementType type, const Dims& dims);
  // Adds a tensor of values that the host computed for this node, such as a table of offsets.
  int32_t Literal(EpElementType type, const Dims& dims, const void* data);

  // --- Dispatches
  // The variant for elements of a type: "NAME.f32", "NAME.f16", "NAME.i32", "NAME.i64", "NAME.u8", …
  static std::string ShaderFor(std::string_view name, EpElementType type);
  // The variant that moves elements of a type: "NAME.b1", "NAME.b2", "NAME.b4" or "NAME.b8".
  static std::string MoverFor(std::string_view name, EpElementType type);
  bool HasShader(std::string_view shader) const;
  // Bindings of an input or of any tensor.
  Binding Read(size_t input) { return {InputTensor(input), Access::kRead}; }
  static Binding ReadTensor(int32_t tensor) { return {tensor, Access::kRead}; }
  static Binding Write(int32_t tensor) { return {tensor, Access::kWrite}; }
  static Binding ReadWrite(int32_t tensor) { return {tensor, Access::kReadWrite}; }
  // Whether the device binds so many buffers at once. If so, dispatches of this node may bind as many. Call it before
  // you choose a faster kernel that needs more buffers than Operator::bindings.
  bool Binds(size_t buffers);
  // Workgroups for `count` indices of a shader that uses Index() (shaders/common.glsl). An invocation computes `each`
  // indices.
  std::array<uint32_t, 3> GroupsFor(int64_t count, int64_t each = 1) const;
  // Adds a dispatch. Throws if the shader or a tensor doesn't exist, or if workgroups, loop passes or bindings exceed a
  // limit. Adds nothing if a dimension has 0 workgroups or a tensor that is written has no elements.
  void Add(Dispatch dispatch);
  // Adds a note that `epiphyte place --json` shows beside the node: the kernel, and why a faster one was refused.
  void Note(std::string text);

  const DeviceTensor& tensor(int32_t tensor) const;

 private:
  ProgramBuilder& builder_;
  const ir::Graph& graph_;
  const int32_t node_index_;
  size_t allowed_bindings_ = 0;  // largest number that Binds allowed
};

inline uint32_t Word(int64_t value) { return static_cast<uint32_t>(value); }
inline uint32_t Word(float value) { return std::bit_cast<uint32_t>(value); }

// Packing: makes packed data of a node's constants when a partition is compiled. Contexts store the data, so it may
// depend only on those properties of the device that the context's key names.
class Packing {
 public:
  struct Sink {
    virtual ~Sink() = default;
    virtual void Put(std::string key, std::vector<std::byte> data) = 0;
    // Declares that this node no longer needs the constant's bytes: its packed data replaces them.
    virtual void Release(int32_t value) = 0;
  };
  Packing(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities, Sink& sink)
      : graph_(graph), node_(node), capabilities_(capabilities), sink_(sink) {}

  const ir::Node& node() const { return node_; }
  const Capabilities& capabilities() const { return capabilities_; }
  // The constant that input i is, with bytes at any alignment; null if it is none.
  const ir::Tensor* Constant(size_t i) const;
  // Facts about input i that are known before the run; null if it is left out.
  const ir::Value* Info(size_t i) const;
  void Put(std::string key, std::vector<std::byte> data) { sink_.Put(std::move(key), std::move(data)); }
  void Release(size_t input) { sink_.Release(node_.inputs[input]); }

 private:
  const ir::Graph& graph_;
  const ir::Node& node_;
  const Capabilities& capabilities_;
  Sink& sink_;
};

}  // namespace epiphyte::vulkan
