// IR of a partition: the form that a plugin's compiler works on, between the host's graph and the plugin's program.
//
//   kit::ir::Graph graph = kit::ir::Import(host, partition.graph.handle(), partition.name);   // import.hpp
//   kit::ir::Editor editor(graph);                                                            // editor.hpp
//   kit::fuse::FuseGelu(editor);                                                              // fuse/
//   editor.Finish();
//   for (const kit::ir::Node& node : graph.nodes) Emit(node);
//
// A graph is plain data. Values are indices into `values`. Nodes are in an order in which they can run. Each value is
// made once: by a node, as a constant, or as an input.
//
// Attributes are copied from the host, but bytes of constants are not. These belong to the host until Compile returns,
// unless the plugin retains or copies them (Constant::Storage).
//
// Threads may read a graph at the same time, but only one thread may change it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_graph.h"
#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/element_type.hpp"

namespace epiphyte::kit::ir {

// The elements of a constant or an attribute, row-major. `data` belongs to another object. A tensor of strings has
// `strings` instead.
struct Tensor {
  EpElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  const void* data = nullptr;
  std::shared_ptr<const std::vector<std::string>> strings;

  int64_t Count() const { return dims.Count(); }
  uint64_t Bytes() const { return ElementBytes(type, static_cast<uint64_t>(Count())); }
  size_t rank() const { return dims.size(); }
  // Elements in place. Bytes of the host need not be aligned: copy elements with memcpy unless you know that they are
  // aligned.
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

struct Attribute {
  std::string name;
  EpAttributeType type = 0;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Tensor> tensors;                     // a sparse tensor takes two: values, then indices
  std::vector<std::shared_ptr<void>> tensor_data;  // keeps tensors[i].data alive

  static Attribute Int(std::string name, int64_t value);
  static Attribute Ints(std::string name, std::vector<int64_t> values);
  static Attribute Float(std::string name, float value);
  static Attribute Floats(std::string name, std::vector<float> values);
  static Attribute String(std::string name, std::string value);
};

// The properties of a value that are known before the run.
struct Value {
  std::string name;
  EpElementType type = EP_TYPE_UNDEFINED;  // element type of the tensors in a sequence or optional
  EpTypeKind kind = EP_KIND_UNKNOWN;
  int32_t rank = -1;          // -1: unknown
  std::vector<int64_t> dims;  // as many as rank; -1: not known before the run

  bool IsStatic() const;  // rank and all dimensions are known
};

struct Node {
  std::string op_type;
  std::string domain;  // "" is ai.onnx
  int64_t since_version = 1;
  std::string name;
  std::vector<int32_t> inputs;           // indices of values; -1: left out
  std::vector<int32_t> outputs;          // indices of values; -1: left out
  std::vector<int32_t> implicit_inputs;  // indices of values that the node's bodies read
  std::vector<Attribute> attributes;
  const EpNode* handle = nullptr;  // node of the host, for imported nodes; valid until Compile returns

  bool Is(std::string_view type) const { return op_type == type && domain.empty(); }
  bool HasInput(size_t i) const { return i < inputs.size() && inputs[i] >= 0; }
  bool HasOutput(size_t i) const { return i < outputs.size() && outputs[i] >= 0; }

  const Attribute* Find(std::string_view attribute) const;
  bool Has(std::string_view attribute) const { return Find(attribute) != nullptr; }
  // The attribute's value, or `fallback` when it is missing. Throws INVALID_GRAPH when it has another type.
  int64_t Int(std::string_view attribute, int64_t fallback) const;
  float Float(std::string_view attribute, float fallback) const;
  std::string String(std::string_view attribute, std::string_view fallback = "") const;
  // Empty when the attribute is missing.
  std::vector<int64_t> Ints(std::string_view attribute) const;
  std::vector<float> Floats(std::string_view attribute) const;
  std::vector<std::string> Strings(std::string_view attribute) const;
  // The value of a tensor attribute; null when it is missing.
  const Tensor* TensorOf(std::string_view attribute) const;
};

struct Constant {
  enum class Storage : uint8_t {
    // The bytes belong to the host until Compile returns; with an `owner`, they belong to a rewrite. Retain or copy
    // the bytes to keep them.
    kBorrowed,
    kOwned,    // the bytes live as long as the graph: in `owner`, or in the file that the graph was read from
    kDropped,  // the bytes are gone, because their reader has packed them
  };
  int32_t value = -1;
  Tensor tensor;
  Storage storage = Storage::kBorrowed;
  std::shared_ptr<void> owner;         // keeps tensor.data alive; null when another object does
  const EpValueDef* handle = nullptr;  // value of the host, while the bytes are borrowed
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Constant> constants;
  std::vector<int32_t> constant_of_value;  // index into constants; -1: not a constant
  std::vector<Node> nodes;                 // in an order in which they can run
  std::vector<int32_t> inputs;             // indices of values
  std::vector<int32_t> outputs;

  const Constant* FindConstant(int32_t value) const {
    if (value < 0 || constant_of_value[static_cast<size_t>(value)] < 0) return nullptr;
    return &constants[static_cast<size_t>(constant_of_value[static_cast<size_t>(value)])];
  }
  int32_t AddValue(Value value);
  // Adds a value with this name and the tensor's type and dimensions, and makes it a constant.
  int32_t AddConstant(std::string name, Tensor tensor, Constant::Storage storage, std::shared_ptr<void> owner = {});
};

}  // namespace epiphyte::kit::ir
