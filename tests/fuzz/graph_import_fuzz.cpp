// Graphs from a host: for any nodes, values and constants, Import gives a graph or an Error. A graph that passes Check
// can be edited, written and read again. The fuzzer's bytes choose the host's answers. Lists are as long as their
// counts, or null.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/graph/import.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "tests/framework/info_graph.h"
#include "tests/fuzz/fuzz_target.h"

using namespace epiphyte;
using namespace epiphyte::test;
namespace ir = epiphyte::kit::ir;

namespace {

// Choices made by the input's bytes. Every choice is 0 after the last byte.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t Byte() { return next_ < size_ ? data_[next_++] : 0; }
  uint64_t Below(uint64_t end) { return end == 0 ? 0 : Byte() % end; }
  // Returns true for few bytes, and never after the last byte.
  bool Rarely() { return Byte() > 250; }
  int64_t Number() {
    constexpr int64_t kNumbers[] = {0,         1,        2, 3, 4, -1, -2, 64, 65, int64_t{1} << 31, int64_t{1} << 44,
                                    INT64_MAX, INT64_MIN};
    return kNumbers[Below(std::size(kNumbers))];
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t next_ = 0;
};

class HostileGraph : public InfoGraph {
 public:
  explicit HostileGraph(Choices& choices) : choices_(choices) {
    const uint64_t values = 4 + choices_.Below(8);
    for (uint64_t i = 0; i < values; ++i) values_.push_back(&AnyValue());
    const std::vector<const EpValueDefInfo*> inputs = NewValues();
    const uint64_t nodes = choices_.Below(6);
    for (uint64_t i = 0; i < nodes; ++i) AnyNode();
    EpGraphInfo& graph = Graph(inputs, KnownValues());
    if (choices_.Rarely()) graph.struct_size = 0;
    Spoil(&graph.nodes, &graph.node_count);
    Spoil(&graph.inputs, &graph.input_count);
    Spoil(&graph.outputs, &graph.output_count);
  }

 private:
  // Rarely makes the list null, or gives a null list any count.
  template <typename T>
  void Spoil(const T** list, uint64_t* count) {
    if (!choices_.Rarely()) return;
    *list = nullptr;
    *count = static_cast<uint64_t>(choices_.Number());
  }

  const char* AnyName() {
    constexpr const char* kNames[] = {"a", "b", "c", "d", "x:0", "Relu", "\n", nullptr};
    return kNames[choices_.Below(std::size(kNames))];
  }

  std::vector<int64_t> AnyDims() {
    std::vector<int64_t> dims(choices_.Below(4));
    for (int64_t& dim : dims) dim = choices_.Rarely() ? choices_.Number() : static_cast<int64_t>(choices_.Below(4));
    return dims;
  }

  // Returns one of ONNX's types, and rarely an invalid one.
  EpElementType AnyElementType() {
    constexpr EpElementType kOthers[] = {EP_TYPE_UNDEFINED, EP_TYPE_INT2 + 1, -1, 99};
    if (choices_.Rarely()) return kOthers[choices_.Below(std::size(kOthers))];
    return static_cast<EpElementType>(1 + choices_.Below(EP_TYPE_INT2));
  }

  EpTypeInfo& AnyType(int depth) {
    EpTypeInfo& type = Type(AnyDims());
    type.kind = static_cast<EpTypeKind>(choices_.Below(8));
    type.element_type = AnyElementType();
    if (choices_.Rarely()) {
      type.rank = static_cast<int32_t>(choices_.Number());
      type.dims = nullptr;
    }
    if (depth < 3 && choices_.Below(3) == 0) type.element = choices_.Rarely() ? &type : &AnyType(depth + 1);
    return type;
  }

  // Makes a tensor with exactly the bytes that type and shape need, so that reading past them is detected.
  EpTensorView& AnyTensor() {
    const std::vector<int64_t> dims = AnyDims();
    const EpElementType type = AnyElementType();
    uint64_t count = 0;
    const bool can_be = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; }) &&
                        kit::CountElements(dims, &count) && count < 10000;
    if (!can_be) count = 0;
    EpTensorView& view = type == EP_TYPE_STRING ? Tensor(type, dims, std::vector<EpString>(count, EpString{"ab", 2}))
                                                : Tensor(type, dims, Bytes(type, kit::ElementBytes(type, count)));
    view.element_count = count;
    if (choices_.Rarely()) view.byte_size = static_cast<uint64_t>(choices_.Number());
    if (choices_.Rarely()) view.element_count = static_cast<uint64_t>(choices_.Number());
    if (choices_.Rarely()) view.data = nullptr;
    if (choices_.Rarely()) {
      view.dims = nullptr;
      view.rank = static_cast<uint32_t>(choices_.Number());
    }
    return view;
  }
  std::vector<uint8_t> Bytes(EpElementType type, uint64_t count) {
    std::vector<uint8_t> bytes(count);
    const bool is_bool = type == EP_TYPE_BOOL && !choices_.Rarely();
    for (uint8_t& byte : bytes) byte = is_bool ? choices_.Byte() % 2 : choices_.Byte();
    return bytes;
  }

  EpValueDefInfo& AnyValue() {
    EpValueDefInfo& value = Value(AnyName(), {});
    value.type = choices_.Rarely() ? nullptr : &AnyType(0);
    if (choices_.Below(3) == 0) {
      value.flags = EP_VALUE_CONSTANT;
      value.constant = choices_.Rarely() ? nullptr : &AnyTensor();
      known_.push_back(&value);
    } else {
      unmade_.push_back(&value);
    }
    if (choices_.Rarely()) value.struct_size = 0;
    return value;
  }

  // Returns some of `values`. Rarely adds an omitted value, or one that is not in `values`.
  std::vector<const EpValueDefInfo*> Some(const std::vector<const EpValueDefInfo*>& values) {
    std::vector<const EpValueDefInfo*> some;
    if (values.empty()) return some;
    for (uint64_t i = choices_.Below(4); i > 0; --i) {
      const auto& from = choices_.Rarely() ? values_ : values;
      some.push_back(choices_.Rarely() ? nullptr : from[choices_.Below(from.size())]);
    }
    return some;
  }
  std::vector<const EpValueDefInfo*> KnownValues() { return Some(known_); }
  // Returns values without a producer, and marks them as produced.
  std::vector<const EpValueDefInfo*> NewValues() {
    std::vector<const EpValueDefInfo*> made;
    for (uint64_t i = choices_.Below(3); i > 0 && !unmade_.empty(); --i) {
      made.push_back(unmade_.back());
      known_.push_back(unmade_.back());
      if (!choices_.Rarely()) unmade_.pop_back();
    }
    return made;
  }

  void AnyNode() {
    const std::vector<const EpValueDefInfo*> inputs = KnownValues();
    EpNodeInfo& node = Node("", inputs, NewValues());
    node.name = AnyName();
    node.op_type = choices_.Rarely() ? AnyName() : "Add";
    node.domain = AnyName();
    node.since_version = choices_.Number();
    Spoil(&node.inputs, &node.input_count);
    Spoil(&node.outputs, &node.output_count);
    Spoil(&node.implicit_inputs, &node.implicit_input_count);
    for (uint64_t i = choices_.Below(3); i > 0; --i) AnyAttribute(node, i == 1 ? "first" : "second");
    Spoil(&node.attributes, &node.attribute_count);
    if (choices_.Rarely()) node.struct_size = 0;
  }

  void AnyAttribute(EpNodeInfo& node, const char* name) {
    EpAttributeInfo& attribute =
        Attribute(node, choices_.Rarely() ? AnyName() : name, static_cast<EpAttributeType>(choices_.Below(17)));
    const bool is_single = attribute.type <= EP_ATTRIBUTE_GRAPH || attribute.type == EP_ATTRIBUTE_SPARSE_TENSOR;
    const uint64_t count = is_single && !choices_.Rarely() ? 1 : choices_.Below(3);
    attribute.count = count;
    attribute.ints = Keep({choices_.Number(), choices_.Number()});
    attribute.floats = reinterpret_cast<const float*>(Keep({choices_.Number()}));
    std::vector<EpString>& strings =
        *strings_.emplace_back(std::make_unique<std::vector<EpString>>(2, EpString{"a", 1}));
    if (choices_.Rarely()) strings[0] = {nullptr, static_cast<uint64_t>(choices_.Below(2))};
    attribute.strings = strings.data();
    std::vector<const EpTensorView*>& tensors =
        *tensors_.emplace_back(std::make_unique<std::vector<const EpTensorView*>>());
    for (uint64_t i = 0; i < 2 * count; ++i) tensors.push_back(choices_.Rarely() ? nullptr : &AnyTensor());
    attribute.tensors = tensors.data();
    if (choices_.Rarely()) {
      attribute.ints = nullptr;
      attribute.floats = nullptr;
      attribute.strings = nullptr;
      attribute.tensors = nullptr;
      attribute.count = static_cast<uint64_t>(choices_.Number());
    }
  }

  Choices& choices_;
  std::vector<const EpValueDefInfo*> values_;
  std::vector<const EpValueDefInfo*> known_;   // constants, and values made so far
  std::vector<const EpValueDefInfo*> unmade_;  // all other values
  std::vector<std::unique_ptr<std::vector<EpString>>> strings_;
  std::vector<std::unique_ptr<std::vector<const EpTensorView*>>> tensors_;
};

// Makes some replacements and insertions that are valid requests to an editor.
void Edit(ir::Graph& graph, Choices& choices) {
  ir::Editor editor(graph);
  for (int32_t n = 0; n < editor.node_count() && n < 20; ++n) {
    if (editor.removed(n)) continue;
    if (choices.Below(2) == 0) {
      ir::Node node = editor.node(n);
      std::erase_if(node.inputs, [&](int32_t) { return choices.Below(2) == 0; });
      editor.Replace(n, std::move(node));
    } else if (!editor.node(n).inputs.empty() && editor.node(n).inputs[0] >= 0) {
      const int32_t from = editor.node(n).inputs[0];
      ir::Node node;
      node.op_type = "Identity";
      node.inputs = {from};
      node.outputs = {editor.AddValue(editor.info(from))};
      const int32_t to = node.outputs[0];
      editor.InsertBefore(n, std::move(node));
      ir::Node reader = editor.node(n);
      reader.inputs[0] = to;
      editor.Replace(n, std::move(reader));
    }
  }
  editor.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices(data, size);
  const HostileGraph from(choices);
  ir::Graph graph;
  try {
    graph = ir::Import(InfoHost(), from.Handle(), "fuzzed");
  } catch (const kit::Error& error) {
    if (error.code() != EP_STATUS_INVALID_GRAPH && error.code() != EP_STATUS_FAIL) std::abort();
    return 0;
  }
  ir::ToText(graph, SIZE_MAX);
  try {
    ir::SortNodes(graph);
    ir::Check(graph);
  } catch (const kit::Error&) {
    return 0;
  }
  // The graph is valid, so no later step may refuse it.
  const std::string text = ir::ToText(graph, SIZE_MAX);
  if (ir::ToText(ir::FromText(text), SIZE_MAX) != text) {
    std::fprintf(stderr, "%s", text.c_str());
    std::abort();
  }
  Edit(graph, choices);
  ir::Check(graph);
  return 0;
}

std::vector<std::string> SeedInputs() {
  // The bytes of seeds are below 250, so that no choice is a rare one.
  std::vector<std::string> seeds;
  std::mt19937 random(20261122);
  for (int seed = 0; seed < 6; ++seed) {
    std::string bytes(600, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 250);
    seeds.push_back(std::move(bytes));
  }
  return seeds;
}
