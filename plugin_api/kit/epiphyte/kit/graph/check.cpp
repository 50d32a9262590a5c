#include "epiphyte/kit/graph/check.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::kit::ir {
namespace {

[[noreturn]] void Refuse(const std::string& message) { throw Error(EP_STATUS_INVALID_GRAPH, message); }

bool IsNegative(int64_t dim) { return dim < 0; }

// The content of each type of attribute. Attributes with graphs and types are not imported.
struct AttributeKind {
  EpAttributeType type;
  const char* name;
  enum { kFloats, kInts, kStrings, kTensors } content;
  size_t count;  // number of elements; 0: any
};
constexpr AttributeKind kAttributeKinds[] = {
    {EP_ATTRIBUTE_FLOAT, "a float", AttributeKind::kFloats, 1},
    {EP_ATTRIBUTE_INT, "an integer", AttributeKind::kInts, 1},
    {EP_ATTRIBUTE_STRING, "a string", AttributeKind::kStrings, 1},
    {EP_ATTRIBUTE_TENSOR, "a tensor", AttributeKind::kTensors, 1},
    {EP_ATTRIBUTE_FLOATS, "floats", AttributeKind::kFloats, 0},
    {EP_ATTRIBUTE_INTS, "integers", AttributeKind::kInts, 0},
    {EP_ATTRIBUTE_STRINGS, "strings", AttributeKind::kStrings, 0},
    {EP_ATTRIBUTE_TENSORS, "tensors", AttributeKind::kTensors, 0},
    {EP_ATTRIBUTE_SPARSE_TENSOR, "a sparse tensor", AttributeKind::kTensors, 2},
    {EP_ATTRIBUTE_SPARSE_TENSORS, "sparse tensors", AttributeKind::kTensors, 0},
};

void CheckAttribute(const Attribute& attribute) {
  const auto* kind = std::find_if(std::begin(kAttributeKinds), std::end(kAttributeKinds),
                                  [&](const AttributeKind& known) { return known.type == attribute.type; });
  if (kind == std::end(kAttributeKinds)) return;
  const std::pair<decltype(kind->content), size_t> contents[] = {{AttributeKind::kFloats, attribute.floats.size()},
                                                                 {AttributeKind::kInts, attribute.ints.size()},
                                                                 {AttributeKind::kStrings, attribute.strings.size()},
                                                                 {AttributeKind::kTensors, attribute.tensors.size()}};
  for (const auto& [content, count] : contents) {
    const bool fits = content == kind->content ? kind->count == 0 || count == kind->count : count == 0;
    if (!fits) Refuse("attribute '" + attribute.name + "' doesn't hold " + kind->name + ", as its type says");
  }
  if (attribute.type == EP_ATTRIBUTE_SPARSE_TENSORS && attribute.tensors.size() % 2 != 0)
    Refuse("attribute '" + attribute.name + "' has a sparse tensor's values without their indices");
  for (const Tensor& tensor : attribute.tensors) CheckTensor(tensor, "attribute '" + attribute.name + "'");
}

void CheckNamesDiffer(const std::vector<Attribute>& attributes) {
  if (attributes.size() < 2) return;
  std::vector<std::string_view> names;
  names.reserve(attributes.size());
  for (const Attribute& attribute : attributes) names.push_back(attribute.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) Refuse("attribute '" + std::string(*twice) + "' is there twice");
}

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), made_(graph.values.size(), false) {}

  void Run() {
    if (graph_.constant_of_value.size() != graph_.values.size()) Refuse("its constants are not those of its values");
    for (const Value& value : graph_.values) CheckValue(value);
    for (const int32_t input : graph_.inputs) Make(input);
    for (size_t i = 0; i < graph_.constants.size(); ++i) CheckConstant(i);
    CheckThatOnlyConstantsAreNumbered();
    for (const Node& node : graph_.nodes) CheckNode(node);
    for (const int32_t output : graph_.outputs)
      if (!IsMade(output)) Refuse("it gives out value " + std::to_string(output) + ", which nothing makes");
  }

 private:
  static void CheckValue(const Value& value) {
    const size_t rank = value.rank < 0 ? 0 : static_cast<size_t>(value.rank);
    uint64_t count = 0;
    if ((value.type != EP_TYPE_UNDEFINED && !IsElementType(value.type)) || value.kind > EP_KIND_MAP ||
        value.rank < -1 || value.rank > EP_MAX_RANK || value.dims.size() != rank)
      Refuse("the type of value '" + value.name + "' makes no sense");
    if (std::any_of(value.dims.begin(), value.dims.end(), [](int64_t dim) { return dim < -1; }) ||
        !CountElements(value.dims, &count))
      Refuse("the dimensions of value '" + value.name + "' make no sense");
  }

  bool Exists(int32_t value) const { return value >= 0 && static_cast<size_t>(value) < made_.size(); }
  bool IsMade(int32_t value) const { return Exists(value) && made_[static_cast<size_t>(value)]; }
  void Make(int32_t value) {
    if (!Exists(value)) Refuse("value " + std::to_string(value) + " does not exist");
    if (IsMade(value)) Refuse("value '" + graph_.values[static_cast<size_t>(value)].name + "' is made twice");
    made_[static_cast<size_t>(value)] = true;
  }

  void CheckConstant(size_t index) {
    const Constant& constant = graph_.constants[index];
    Make(constant.value);
    const Value& value = graph_.values[static_cast<size_t>(constant.value)];
    const Tensor& tensor = constant.tensor;
    if (graph_.constant_of_value[static_cast<size_t>(constant.value)] != static_cast<int32_t>(index) ||
        value.kind != EP_KIND_TENSOR || value.type != tensor.type ||
        value.rank != static_cast<int32_t>(tensor.rank()) ||
        !std::equal(value.dims.begin(), value.dims.end(), tensor.dims.begin()))
      Refuse("constant '" + value.name + "' is not of its value's type");
    const std::string whose = "constant '" + value.name + "'";
    if (constant.storage != Constant::Storage::kDropped) {
      CheckTensor(tensor, whose);
    } else if (!IsElementType(tensor.type) || !value.IsStatic()) {
      Refuse(whose + ": its type makes no sense");
    }
  }

  // Checks that no value claims to be a constant besides the values of `constants`, which CheckConstant has seen.
  void CheckThatOnlyConstantsAreNumbered() const {
    const auto numbered = std::count_if(graph_.constant_of_value.begin(), graph_.constant_of_value.end(),
                                        [](int32_t constant) { return constant != -1; });
    if (static_cast<size_t>(numbered) != graph_.constants.size()) Refuse("its constants are not those of its values");
  }

  void CheckNode(const Node& node) {
    try {
      for (const int32_t input : node.inputs)
        if (input != -1) CheckRead(input);
      for (const int32_t input : node.implicit_inputs) CheckRead(input);
      for (const int32_t output : node.outputs)
        if (output != -1) Make(output);
      for (const Attribute& attribute : node.attributes) CheckAttribute(attribute);
      CheckNamesDiffer(node.attributes);
    } catch (const Error& error) {
      throw Error(error.code(), "node '" + node.name + "' (" + node.op_type + "): " + error.what());
    }
  }
  void CheckRead(int32_t value) const {
    if (!IsMade(value)) Refuse("it reads value " + std::to_string(value) + ", which nothing made before");
  }

  const Graph& graph_;
  std::vector<bool> made_;  // values made so far
};

}  // namespace

void CheckTensor(const Tensor& tensor, const std::string& whose) {
  uint64_t count = 0;
  if (!IsElementType(tensor.type) || tensor.rank() > EP_MAX_RANK ||
      std::any_of(tensor.dims.begin(), tensor.dims.end(), IsNegative) || !CountElements(tensor.dims, &count))
    Refuse(whose + ": its type makes no sense");
  const bool there = tensor.type == EP_TYPE_STRING ? tensor.strings != nullptr && tensor.strings->size() == count
                                                   : count == 0 || tensor.data != nullptr;
  if (!there) Refuse(whose + ": " + std::to_string(count) + " elements expected, but its data is not there");
  if (tensor.type != EP_TYPE_BOOL) return;
  const auto* const bytes = tensor.as<uint8_t>();
  for (uint64_t i = 0; i < count; ++i)
    if (bytes[i] > 1) Refuse(whose + ": a bool is " + std::to_string(bytes[i]) + "; 0 or 1 expected");
}

void Check(const Graph& graph) { Checker(graph).Run(); }

std::vector<int32_t> TopologicalOrder(const Graph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<int32_t> maker(graph.values.size(), -1);
  const auto check_exists = [&](int32_t value) {
    if (value < -1 || (value >= 0 && static_cast<size_t>(value) >= maker.size()))
      Refuse("value " + std::to_string(value) + " does not exist");
    return value >= 0;
  };
  for (size_t n = 0; n < count; ++n)
    for (const int32_t value : graph.nodes[n].outputs)
      if (check_exists(value)) maker[static_cast<size_t>(value)] = static_cast<int32_t>(n);
  std::vector<std::vector<int32_t>> readers(count);
  std::vector<size_t> waits_for(count, 0);
  for (size_t n = 0; n < count; ++n) {
    for (const std::vector<int32_t>* values : {&graph.nodes[n].inputs, &graph.nodes[n].implicit_inputs}) {
      for (const int32_t value : *values) {
        if (!check_exists(value) || maker[static_cast<size_t>(value)] < 0) continue;
        readers[static_cast<size_t>(maker[static_cast<size_t>(value)])].push_back(static_cast<int32_t>(n));
        ++waits_for[n];
      }
    }
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t n = 0; n < count; ++n)
    if (waits_for[n] == 0) ready.push(static_cast<int32_t>(n));
  std::vector<int32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const int32_t n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const int32_t reader : readers[static_cast<size_t>(n)])
      if (--waits_for[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  if (order.size() == count) return order;
  const auto stuck = std::find_if(waits_for.begin(), waits_for.end(), [](size_t left) { return left != 0; });
  const Node& node = graph.nodes[static_cast<size_t>(stuck - waits_for.begin())];
  Refuse("node '" + node.name + "' (" + node.op_type + ") reads, through others, what it makes; a graph without " +
         "circles expected");
}

void SortNodes(Graph& graph) {
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  for (const int32_t n : TopologicalOrder(graph)) sorted.push_back(std::move(graph.nodes[static_cast<size_t>(n)]));
  graph.nodes = std::move(sorted);
}

}  // namespace epiphyte::kit::ir
