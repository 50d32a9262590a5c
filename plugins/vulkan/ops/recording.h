// Recording: one node on its way into a program, for inputs of known shapes.
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
// Shapes come from applications and files: compute them with the kit's shape rules, which check, and throw kit::Error
// (INVALID_ARGUMENT) for what makes no sense; the node's name is added to messages. Every tensor of a program is at
// most Capabilities::max_buffer_range long, and its elements can be counted in 32 bits: Output and Scratch see to that,
// with an error that says the size and the limit.
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

// A value while a program is made: on the device, on the host, or both. Of ops/program_builder.
struct RecordedValue {
  int32_t tensor = -1;                     // on the device; -1: not (yet)
  std::shared_ptr<const HostTensor> host;  // its elements, where the host knows them
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
  // Type and shape, wherever the value is. Throws when input i is left out.
  const Dims& InputDims(size_t i) const;
  EpElementType InputType(size_t i) const;
  // The tensor on the device; what only the host knows is put there as a literal. The reference holds until the next
  // call of a function that adds tensors: copy dims.
  const DeviceTensor& Input(size_t i);
  int32_t InputTensor(size_t i);
  // Elements that the host knows, or null.
  const HostTensor* Host(size_t i) const;
  // The same of an input among Operator::host_inputs. Throws when it is left out or not known.
  const HostTensor& RequireHost(size_t i) const;
  // Data that Packing::Put made for this node, as a tensor of that type and shape. Throws INVALID_GRAPH when there are
  // none, or when their size is not exactly that of the shape, because contexts are not trusted.
  int32_t Packed(std::string_view key, EpElementType type, const Dims& dims);
  bool HasPacked(std::string_view key) const;

  // --- Outputs
  // Output i, computed by dispatches that this recording adds.
  int32_t Output(size_t i, EpElementType type, const Dims& dims);
  // Output i is input j's memory under other dimensions with as many elements.
  void OutputAs(size_t i, size_t j, const Dims& dims);
  // Output i is known to the host.
  void OutputOnHost(size_t i, HostTensor value);
  // Memory for this node only.
  int32_t Scratch(EpElementType type, const Dims& dims);
  // Values that the host computed for this node: tables of offsets, say.
  int32_t Literal(EpElementType type, const Dims& dims, const void* data);

  // --- Dispatches
  // "NAME.f32", "NAME.f16", "NAME.i32", "NAME.i64", "NAME.u8", …: the variant for elements of a type.
  static std::string ShaderFor(std::string_view name, EpElementType type);
  // "NAME.b1", ".b2", ".b4", ".b8": for shaders that only move elements.
  static std::string MoverFor(std::string_view name, EpElementType type);
  bool HasShader(std::string_view shader) const;
  // Bindings: of input i, of a tensor.
  Binding Read(size_t input) { return {InputTensor(input), Access::kRead}; }
  static Binding ReadTensor(int32_t tensor) { return {tensor, Access::kRead}; }
  static Binding Write(int32_t tensor) { return {tensor, Access::kWrite}; }
  static Binding ReadWrite(int32_t tensor) { return {tensor, Access::kReadWrite}; }
  // Whether the device binds so many buffers at once: for a faster kernel that wants more than Operator::bindings.
  bool Binds(size_t buffers);
  // Workgroups for a shader that uses Index(); each invocation computes `each` indices.
  std::array<uint32_t, 3> GroupsFor(int64_t count, int64_t each = 1) const;
  // Checks what it can: the shader exists, groups and bindings are within limits, tensors exist. Nothing is added when
  // a tensor that is written has no elements. Groups of 0 are none.
  void Add(Dispatch dispatch);
  // Shown in `epiphyte place --json` beside the node: the kernel, and why a faster one was refused.
  void Note(std::string text);

  const DeviceTensor& tensor(int32_t tensor) const;

 private:
  ProgramBuilder& builder_;
  const ir::Graph& graph_;
  const int32_t node_index_;
  size_t allowed_bindings_ = 0;  // by Binds
};

inline uint32_t Word(int64_t value) { return static_cast<uint32_t>(value); }
inline uint32_t Word(float value) { return std::bit_cast<uint32_t>(value); }

// Packed data made of a node's constants when a partition is compiled. It stands in contexts, so it depends on nothing
// of the device but what the context's key names.
class Packing {
 public:
  struct Sink {
    virtual ~Sink() = default;
    virtual void Put(std::string key, std::vector<std::byte> data) = 0;
    // Declares that only this node's packed data need the constant's bytes.
    virtual void Release(int32_t value) = 0;
  };
  Packing(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities, Sink& sink)
      : graph_(graph), node_(node), capabilities_(capabilities), sink_(sink) {}

  const ir::Node& node() const { return node_; }
  const Capabilities& capabilities() const { return capabilities_; }
  // The elements of a constant input, at any address; null when it is none.
  const ir::Tensor* Constant(size_t i) const;
  // Facts about input i that are known before the run; null when it is left out.
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
