// The IR of a partition: what a plugin's compiler works on between the host's graph and its own program.
//
//   kit::ir::Graph graph = kit::ir::Import(host, partition.graph.handle(), partition.name);   // import.hpp
//   kit::ir::Editor editor(graph);                                                            // editor.hpp
//   kit::fuse::FuseGelu(editor);                                                              // fuse/
//   editor.Finish();
//   for (const kit::ir::Node& node : graph.nodes) Emit(node);
//
// A graph is plain data: values are numbers into `values`, nodes stand in an order in which they can run, each value is
// made once, by a node, as a constant or as an input. Attributes are copied from the host, the bytes of constants are
// not: they stay the host's until Compile returns, unless they are retained or copied (Constant::Storage).
//
// Nothing here is safe to change from two threads; reading is.
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

// The elements of a constant or of an attribute, row-major. Does not own `data`; `strings` are there instead for
// strings.
struct Tensor {
  EpElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  const void* data = nullptr;
  std::shared_ptr<const std::vector<std::string>> strings;

  int64_t Count() const { return dims.Count(); }
  uint64_t Bytes() const { return ElementBytes(type, static_cast<uint64_t>(Count())); }
  size_t rank() const { return dims.size(); }
  // `data` may be at any address when it is the host's: copy elements out with memcpy unless you know better.
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
  std::vector<Tensor> tensors;                     // a sparse one is two: values, indices
  std::vector<std::shared_ptr<void>> tensor_data;  // owns what tensors[i].data points to

  static Attribute Int(std::string name, int64_t value);
  static Attribute Ints(std::string name, std::vector<int64_t> values);
  static Attribute Float(std::string name, float value);
  static Attribute Floats(std::string name, std::vector<float> values);
  static Attribute String(std::string name, std::string value);
};

// What is known of a value before the run.
struct Value {
  std::string name;
  EpElementType type = EP_TYPE_UNDEFINED;  // of a sequence or optional: its tensors'
  EpTypeKind kind = EP_KIND_UNKNOWN;
  int32_t rank = -1;          // -1: unknown
  std::vector<int64_t> dims;  // rank of them; -1: not known before the run

  bool IsStatic() const;  // rank and all dimensions are known
};

struct Node {
  std::string op_type;
  std::string domain;  // "" is ai.onnx
  int64_t since_version = 1;
  std::string name;
  std::vector<int32_t> inputs;           // values; -1: left out
  std::vector<int32_t> outputs;          // values; -1: left out
  std::vector<int32_t> implicit_inputs;  // values that the node's bodies read
  std::vector<Attribute> attributes;
  const EpNode* handle = nullptr;  // the host's, for imported nodes, until Compile returns

  bool Is(std::string_view type) const { return op_type == type && domain.empty(); }
  bool HasInput(size_t i) const { return i < inputs.size() && inputs[i] >= 0; }
  bool HasOutput(size_t i) const { return i < outputs.size() && outputs[i] >= 0; }

  const Attribute* Find(std::string_view attribute) const;
  bool Has(std::string_view attribute) const { return Find(attribute) != nullptr; }
  // The attribute's value, or `fallback` when it isn't there. Throws INVALID_GRAPH when it is of another type.
  int64_t Int(std::string_view attribute, int64_t fallback) const;
  float Float(std::string_view attribute, float fallback) const;
  std::string String(std::string_view attribute, std::string_view fallback = "") const;
  // Empty when the attribute isn't there.
  std::vector<int64_t> Ints(std::string_view attribute) const;
  std::vector<float> Floats(std::string_view attribute) const;
  std::vector<std::string> Strings(std::string_view attribute) const;
  // The tensor that an attribute is; null when it isn't there.
  const Tensor* TensorOf(std::string_view attribute) const;
};

struct Constant {
  enum class Storage : uint8_t {
    kBorrowed,  // the bytes are the host's until Compile returns, or, with an `owner`, a rewrite's: retain or copy them
                // to keep them
    kOwned,     // the bytes live as long as the graph: in `owner`, or in the file that the graph was read from
    kDropped,   // there are no bytes any more: who read them has packed them
  };
  int32_t value = -1;
  Tensor tensor;
  Storage storage = Storage::kBorrowed;
  std::shared_ptr<void> owner;         // of tensor.data; null where somebody else is
  const EpValueDef* handle = nullptr;  // the host's, while its bytes are borrowed
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Constant> constants;
  std::vector<int32_t> constant_of_value;  // index into constants; -1: none
  std::vector<Node> nodes;                 // in an order in which they can run
  std::vector<int32_t> inputs;             // values
  std::vector<int32_t> outputs;

  const Constant* FindConstant(int32_t value) const {
    if (value < 0 || constant_of_value[static_cast<size_t>(value)] < 0) return nullptr;
    return &constants[static_cast<size_t>(constant_of_value[static_cast<size_t>(value)])];
  }
  int32_t AddValue(Value value);
  // Adds the value of that name, type and dimensions, and the constant that it is.
  int32_t AddConstant(std::string name, Tensor tensor, Constant::Storage storage, std::shared_ptr<void> owner = {});
};

}  // namespace epiphyte::kit::ir
