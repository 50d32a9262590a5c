#include "epiphyte/kit/graph/editor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::kit::ir {
namespace {

// Loads an element from an address of any alignment.
template <typename T>
T Load(const void* data, size_t index = 0) {
  T element;
  std::memcpy(&element, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return element;
}

}  // namespace

Editor::Editor(Graph& graph)
    : graph_(graph),
      producer_(graph.values.size(), -1),
      readers_(graph.values.size()),
      is_output_(graph.values.size(), false),
      removed_(graph.nodes.size(), false) {
  for (int32_t n = 0; n < node_count(); ++n) {
    for (const int32_t value : node(n).inputs) AddReader(value, n);
    for (const int32_t value : node(n).implicit_inputs) AddReader(value, n);
    for (const int32_t value : node(n).outputs)
      if (value >= 0) producer_[static_cast<size_t>(value)] = n;
  }
  for (const int32_t value : graph_.outputs) is_output_[static_cast<size_t>(value)] = true;
}

int32_t Editor::ProducerOf(int32_t value, std::string_view op_type) const {
  const int32_t producer = Producer(value);
  return Is(producer, op_type) ? producer : -1;
}

bool Editor::SameStaticShape(int32_t a, int32_t b) const {
  return info(a).IsStatic() && info(b).IsStatic() && info(a).dims == info(b).dims;
}

const Tensor* Editor::ConstantOf(int32_t value) const { return ElementsOf(graph_, value); }

std::optional<std::vector<float>> Editor::Floats(int32_t value) const {
  const Tensor* tensor = ConstantOf(value);
  if (tensor == nullptr || tensor->type != EP_TYPE_FLOAT) return {};
  std::vector<float> floats(static_cast<size_t>(tensor->Count()));
  if (!floats.empty()) std::memcpy(floats.data(), tensor->data, floats.size() * sizeof(float));
  return floats;
}

std::optional<std::vector<int64_t>> Editor::Ints(int32_t value) const {
  const Tensor* tensor = ConstantOf(value);
  if (tensor == nullptr || (tensor->type != EP_TYPE_INT64 && tensor->type != EP_TYPE_INT32)) return {};
  std::vector<int64_t> ints(static_cast<size_t>(tensor->Count()));
  for (size_t i = 0; i < ints.size(); ++i)
    ints[i] = tensor->type == EP_TYPE_INT64 ? Load<int64_t>(tensor->data, i) : Load<int32_t>(tensor->data, i);
  return ints;
}

bool Editor::Scalar(int32_t value, float* number) const {
  const Tensor* tensor = ConstantOf(value);
  double found = 0;
  if (tensor == nullptr || tensor->Count() != 1 || !NumberAt(*tensor, 0, &found)) return false;
  *number = static_cast<float>(found);
  return true;
}

bool Editor::IsScalarNear(int32_t value, double number) const {
  float found = 0;
  return Scalar(value, &found) &&
         std::fabs(static_cast<double>(found) - number) <= 1e-5 * std::max(1.0, std::fabs(number));
}

void Editor::AddReader(int32_t value, int32_t node) {
  if (value >= 0) readers_[static_cast<size_t>(value)].push_back(node);
}

void Editor::RemoveReader(int32_t value, int32_t node) {
  if (value < 0) return;
  auto& readers = readers_[static_cast<size_t>(value)];
  readers.erase(std::find(readers.begin(), readers.end(), node));
}

bool Editor::IsDead(int32_t node) const {
  const std::vector<int32_t>& outputs = graph_.nodes[static_cast<size_t>(node)].outputs;
  return std::none_of(outputs.begin(), outputs.end(),
                      [&](int32_t value) { return value >= 0 && (!Readers(value).empty() || IsOutput(value)); });
}

void Editor::RemoveDead(std::vector<int32_t> work) {
  while (!work.empty()) {
    const int32_t n = work.back();
    work.pop_back();
    if (n < 0 || removed(n) || !IsDead(n)) continue;
    removed_[static_cast<size_t>(n)] = true;
    for (const std::vector<int32_t>* values : {&node(n).inputs, &node(n).implicit_inputs}) {
      for (const int32_t value : *values) {
        RemoveReader(value, n);
        work.push_back(Producer(value));
      }
    }
  }
}

std::vector<int32_t> Editor::Place(int32_t index, Node node) {
  std::vector<int32_t> replaced;
  Node& place = graph_.nodes[static_cast<size_t>(index)];
  place = std::move(node);
  for (const int32_t value : place.inputs) AddReader(value, index);
  for (const int32_t value : place.implicit_inputs) AddReader(value, index);
  for (const int32_t value : place.outputs) {
    if (value < 0) continue;
    // The node replaces the former producer of this value.
    const int32_t before = Producer(value);
    if (before >= 0 && before != index) {
      std::vector<int32_t>& outputs = graph_.nodes[static_cast<size_t>(before)].outputs;
      std::replace(outputs.begin(), outputs.end(), value, -1);
      replaced.push_back(before);
    }
    producer_[static_cast<size_t>(value)] = index;
  }
  return replaced;
}

void Editor::Replace(int32_t node, Node replacement) {
  const Node& place = graph_.nodes[static_cast<size_t>(node)];
  std::vector<int32_t> makers;
  for (const std::vector<int32_t>* values : {&place.inputs, &place.implicit_inputs}) {
    for (const int32_t value : *values) {
      RemoveReader(value, node);
      makers.push_back(Producer(value));
    }
  }
  for (const int32_t value : place.outputs)
    if (value >= 0) producer_[static_cast<size_t>(value)] = -1;
  const std::vector<int32_t> replaced = Place(node, std::move(replacement));
  makers.insert(makers.end(), replaced.begin(), replaced.end());
  RemoveDead(std::move(makers));
}

int32_t Editor::InsertBefore(int32_t place, Node node) {
  const int32_t index = node_count();
  graph_.nodes.emplace_back();
  removed_.push_back(false);
  inserted_before_.push_back(place);
  RemoveDead(Place(index, std::move(node)));
  return index;
}

void Editor::ReplaceUses(int32_t from, int32_t to) {
  if (from == to) return;
  const int32_t maker = Producer(to);
  std::vector<int32_t> readers = std::move(readers_[static_cast<size_t>(from)]);
  readers_[static_cast<size_t>(from)].clear();
  for (const int32_t reader : readers) {
    if (reader == maker) {
      AddReader(from, reader);
      continue;
    }
    Node& node = graph_.nodes[static_cast<size_t>(reader)];
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(node.implicit_inputs.begin(), node.implicit_inputs.end(), from, to);
    AddReader(to, reader);
  }
  if (IsOutput(from)) {
    std::replace(graph_.outputs.begin(), graph_.outputs.end(), from, to);
    is_output_[static_cast<size_t>(from)] = false;
    is_output_[static_cast<size_t>(to)] = true;
  }
  RemoveDead({Producer(from)});
}

int32_t Editor::AddValue(Value value) {
  producer_.push_back(-1);
  readers_.emplace_back();
  is_output_.push_back(false);
  return graph_.AddValue(std::move(value));
}

int32_t Editor::AddTensor(std::string name, Tensor tensor, std::shared_ptr<void> owner) {
  producer_.push_back(-1);
  readers_.emplace_back();
  is_output_.push_back(false);
  // The constant is borrowed, because most new constants are packed and dropped. A plugin that keeps one retains or
  // copies it, as it does with the host's constants.
  return graph_.AddConstant(std::move(name), std::move(tensor), Constant::Storage::kBorrowed, std::move(owner));
}

namespace {

template <typename T>
std::shared_ptr<void> CopyOf(std::span<const T> data, EpElementType type, const std::vector<int64_t>& dims,
                             Tensor* tensor) {
  std::shared_ptr<void> owner = AllocateWeights(data.size_bytes());
  std::copy(data.begin(), data.end(), static_cast<T*>(owner.get()));
  tensor->type = type;
  tensor->dims.assign(dims.data(), dims.size());
  tensor->data = owner.get();
  return owner;
}

}  // namespace

int32_t Editor::AddConstant(std::string name, std::vector<int64_t> dims, std::span<const float> data) {
  Tensor tensor;
  std::shared_ptr<void> owner = CopyOf(data, EP_TYPE_FLOAT, dims, &tensor);
  return AddTensor(std::move(name), std::move(tensor), std::move(owner));
}

int32_t Editor::AddInts(std::string name, std::vector<int64_t> dims, std::span<const int64_t> data) {
  Tensor tensor;
  std::shared_ptr<void> owner = CopyOf(data, EP_TYPE_INT64, dims, &tensor);
  return AddTensor(std::move(name), std::move(tensor), std::move(owner));
}

void Editor::Finish() {
  for (int32_t n = node_count(); n-- > 0;) RemoveDead({n});
  PlaceInserted();
  DropUnusedValues();
}

// Orders the remaining nodes, with each inserted node before its place. Nodes inserted at one place keep their order of
// insertion.
void Editor::PlaceInserted() {
  const size_t first_inserted = graph_.nodes.size() - inserted_before_.size();
  std::vector<std::vector<size_t>> before(graph_.nodes.size());
  for (size_t i = 0; i < inserted_before_.size(); ++i)
    before[static_cast<size_t>(inserted_before_[i])].push_back(first_inserted + i);
  std::vector<Node> kept;
  kept.reserve(graph_.nodes.size());
  // The place of an inserted node may be another inserted node.
  std::vector<std::pair<size_t, bool>> work;  // a node, and whether the nodes before it are in `kept`
  for (size_t n = 0; n < first_inserted; ++n) {
    work.emplace_back(n, false);
    while (!work.empty()) {
      const auto [index, is_next] = work.back();
      if (!is_next) {
        work.back().second = true;
        for (size_t i = before[index].size(); i-- > 0;) work.emplace_back(before[index][i], false);
        continue;
      }
      work.pop_back();
      if (!removed_[index]) kept.push_back(std::move(graph_.nodes[index]));
    }
  }
  graph_.nodes = std::move(kept);
}

void Editor::DropUnusedValues() {
  std::vector<int32_t> number(graph_.values.size(), -1);
  const auto for_each_list = [&](const auto& visit) {
    visit(graph_.inputs);
    visit(graph_.outputs);
    for (Node& node : graph_.nodes) {
      visit(node.inputs);
      visit(node.implicit_inputs);
      visit(node.outputs);
    }
  };
  for_each_list([&](const std::vector<int32_t>& values) {
    for (const int32_t value : values)
      if (value >= 0) number[static_cast<size_t>(value)] = 0;
  });
  size_t count = 0;
  for (size_t value = 0; value < number.size(); ++value) {
    if (number[value] < 0) continue;
    if (count != value) graph_.values[count] = std::move(graph_.values[value]);
    number[value] = static_cast<int32_t>(count++);
  }
  graph_.values.resize(count);
  std::erase_if(graph_.constants,
                [&](const Constant& constant) { return number[static_cast<size_t>(constant.value)] < 0; });
  graph_.constant_of_value.assign(count, -1);
  for (size_t i = 0; i < graph_.constants.size(); ++i) {
    int32_t& value = graph_.constants[i].value;
    value = number[static_cast<size_t>(value)];
    graph_.constant_of_value[static_cast<size_t>(value)] = static_cast<int32_t>(i);
  }
  for_each_list([&](std::vector<int32_t>& values) {
    for (int32_t& value : values)
      if (value >= 0) value = number[static_cast<size_t>(value)];
  });
}

}  // namespace epiphyte::kit::ir
