#include "epiphyte/kit/container/graph.hpp"

#include <cstring>
#include <limits>
#include <set>
#include <type_traits>

#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {
namespace {

constexpr std::string_view kPrefix = "graph/";
std::string SectionOf(std::string_view name) { return std::string(kPrefix).append(name); }

// Types of attributes that hold a node's bodies instead of elements.
bool IsBody(EpAttributeType type) { return type == EP_ATTRIBUTE_GRAPH || type == EP_ATTRIBUTE_GRAPHS; }

std::string BodyProblem(const ir::Node& node, const ir::Attribute& attribute) {
  return "node '" + node.name + "' (" + node.op_type + ") has a body in attribute '" + attribute.name +
         "', and stored graphs have none";
}

// --- writing

class GraphWriter {
 public:
  explicit GraphWriter(ContextContainerBuilder& builder) : builder_(builder) {}

  std::string Write(const ir::Graph& graph, std::span<const PackedData> packed) {
    Text(graph.name);
    Count(graph.values.size());
    for (const ir::Value& value : graph.values) {
      Text(value.name);
      Number(value.type);
      Number(value.kind);
      Number(value.rank);
      Numbers(value.dims);
    }
    Numbers(graph.inputs);
    Numbers(graph.outputs);
    Count(graph.constants.size());
    for (const ir::Constant& constant : graph.constants) {
      const bool dropped = constant.storage == ir::Constant::Storage::kDropped;
      Number(constant.value);
      Number(uint32_t{dropped});
      Tensor(constant.tensor, !dropped);
    }
    Count(graph.nodes.size());
    for (const ir::Node& node : graph.nodes) Node(node);
    Count(packed.size());
    for (const PackedData& entry : packed) {
      Number(entry.node);
      Text(entry.key);
      Text(entry.format);
      Number(builder_.Add(entry.data, entry.bytes));
    }
    return std::move(bytes_);
  }

 private:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Count(size_t count) {
    if (count > std::numeric_limits<uint32_t>::max())
      throw Error(EP_STATUS_INVALID_ARGUMENT,
                  "a list of a graph has " + std::to_string(count) + " entries; a context holds less than 2^32");
    Number(static_cast<uint32_t>(count));
  }
  void Text(std::string_view text) {
    Count(text.size());
    bytes_ += text;
  }
  template <typename T>
  void Numbers(const T& list) {
    Count(list.size());
    if (list.size() != 0) bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(*list.data()));
  }
  void Texts(const std::vector<std::string>& texts) {
    Count(texts.size());
    for (const std::string& text : texts) Text(text);
  }

  void Tensor(const ir::Tensor& tensor, bool with_data) {
    Number(tensor.type);
    Numbers(tensor.dims);
    if (!with_data) return;
    if (tensor.type == EP_TYPE_STRING) {
      Texts(tensor.strings ? *tensor.strings : std::vector<std::string>());
    } else {
      Number(builder_.Add(tensor.data, tensor.Bytes()));
    }
  }

  void Node(const ir::Node& node) {
    Text(node.op_type);
    Text(node.domain);
    Text(node.name);
    Number(node.since_version);
    Numbers(node.inputs);
    Numbers(node.outputs);
    Numbers(node.implicit_inputs);
    Count(node.attributes.size());
    for (const ir::Attribute& attribute : node.attributes) {
      if (IsBody(attribute.type))
        throw Error(
            EP_STATUS_INVALID_ARGUMENT,
            BodyProblem(node, attribute) + "; leave such nodes to the host, or store them in a form of your own");
      Text(attribute.name);
      Number(attribute.type);
      Numbers(attribute.floats);
      Numbers(attribute.ints);
      Texts(attribute.strings);
      Count(attribute.tensors.size());
      for (const ir::Tensor& tensor : attribute.tensors) Tensor(tensor, true);
    }
  }

  ContextContainerBuilder& builder_;
  std::string bytes_;
};

// --- reading

// Memory stays proportional to the size of the section. Each count is compared with the bytes left for the elements
// before memory is allocated. No part of a graph refers to another part.
class GraphReader {
 public:
  GraphReader(const ContextContainer& container, std::string_view name) : container_(container), name_(name) {
    section_ = container.Own(container.NumberOf(SectionOf(name)));
    rest_ = section_.bytes;
  }

  StoredGraph Read() {
    graph_.name = Text();
    if (graph_.name != name_) Damaged("its name is '" + graph_.name + "'");
    ReadValues();
    Numbers(graph_.inputs);
    Numbers(graph_.outputs);
    ReadConstants();
    ReadNodes();
    ReadPacked();
    if (!rest_.empty()) Damaged(std::to_string(rest_.size()) + " bytes of it belong to nothing");
    return std::move(stored_);
  }

 private:
  // Minimum encoded sizes in bytes.
  static constexpr size_t kTextSize = 4;
  static constexpr size_t kValueSize = kTextSize + 4 * 4;
  static constexpr size_t kTensorSize = 3 * 4;
  static constexpr size_t kConstantSize = 4 * 4;
  static constexpr size_t kAttributeSize = kTextSize + 5 * 4;
  static constexpr size_t kNodeSize = 3 * kTextSize + 8 + 4 * 4;
  static constexpr size_t kPackedSize = 2 * kTextSize + 2 * 4;

  const std::byte* Take(size_t size) {
    if (size > rest_.size()) Damaged("it ends too early");
    const std::byte* const taken = rest_.data();
    rest_ = rest_.subspan(size);
    return taken;
  }
  template <typename T>
  T Number() {
    T value;
    std::memcpy(&value, Take(sizeof(value)), sizeof(value));
    return value;
  }
  // Reads a count of elements that take at least `size` bytes each.
  uint32_t Count(size_t size) {
    const auto count = Number<uint32_t>();
    if (count > rest_.size() / size) Damaged("it ends too early");
    return count;
  }
  std::string Text() {
    const uint32_t size = Count(1);
    return std::string(reinterpret_cast<const char*>(Take(size)), size);
  }
  template <typename T>
  void Numbers(std::vector<T>& list) {
    const uint32_t count = Count(sizeof(T));
    if (count == 0) return;
    list.resize(count);
    std::memcpy(list.data(), Take(count * sizeof(T)), count * sizeof(T));
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts(Count(kTextSize));
    for (std::string& text : texts) text = Text();
    return texts;
  }

  void ReadValues() {
    graph_.values.resize(Count(kValueSize));
    for (ir::Value& value : graph_.values) {
      value.name = Text();
      value.type = Number<EpElementType>();
      value.kind = Number<EpTypeKind>();
      value.rank = Number<int32_t>();
      Numbers(value.dims);
    }
    graph_.constant_of_value.assign(graph_.values.size(), -1);
  }

  // Constants of at most this many bytes are always copied: they may be parameters of any kind.
  static constexpr uint64_t kCopied = 16 << 10;

  // True for types of numbers that may be offsets, counts or decisions. Other types hold weights, except in attributes.
  static bool MaySteer(EpElementType type) {
    switch (type) {
      case EP_TYPE_BOOL:
      case EP_TYPE_INT16:
      case EP_TYPE_UINT16:
      case EP_TYPE_INT32:
      case EP_TYPE_UINT32:
      case EP_TYPE_INT64:
      case EP_TYPE_UINT64: return true;
      default: return false;
    }
  }

  // `owner` receives the owner of the tensor's bytes. Returns the section that holds the bytes.
  uint32_t ReadTensor(bool with_data, bool steers, ir::Tensor& tensor, std::shared_ptr<void>* owner) {
    tensor.type = Number<EpElementType>();
    const uint32_t rank = Count(sizeof(int64_t));
    if (rank > EP_MAX_RANK) Damaged("a tensor has " + std::to_string(rank) + " dimensions");
    tensor.dims.resize(rank);
    if (rank != 0) std::memcpy(tensor.dims.data(), Take(rank * sizeof(int64_t)), rank * sizeof(int64_t));
    for (const int64_t dim : tensor.dims)
      if (dim < 0) Damaged("a tensor has a dimension of " + std::to_string(dim));
    uint64_t count = 0;
    if (!CountElements(tensor.dims, &count)) Damaged("a tensor has more than 2^44 elements");
    if (!with_data) return StoredGraph::kNoSection;
    if (tensor.type == EP_TYPE_STRING) {
      tensor.strings = std::make_shared<const std::vector<std::string>>(Texts());
      if (tensor.strings->size() != count)
        Damaged(std::to_string(tensor.strings->size()) + " strings found, " + std::to_string(count) + " expected");
      return StoredGraph::kNoSection;
    }
    const auto number = Number<uint32_t>();
    OwnSection section{container_.section(number), container_.owner()};
    const uint64_t bytes = ElementBytes(tensor.type, count);
    if (section.bytes.size() != bytes || (bytes == 0 && count != 0))
      Damaged("a tensor has " + std::to_string(section.bytes.size()) + " bytes; " + std::to_string(bytes) +
              " expected");
    if (steers || MaySteer(tensor.type) || bytes <= kCopied) section = container_.Own(number);
    tensor.data = section.bytes.data();
    *owner = std::move(section.owner);
    return number;
  }

  void ReadConstants() {
    graph_.constants.resize(Count(kConstantSize));
    for (size_t i = 0; i < graph_.constants.size(); ++i) {
      ir::Constant& constant = graph_.constants[i];
      constant.value = Number<int32_t>();
      const auto dropped = Number<uint32_t>();
      if (dropped > 1) Damaged("a constant is neither there nor dropped");
      constant.storage = dropped != 0 ? ir::Constant::Storage::kDropped : ir::Constant::Storage::kOwned;
      stored_.constant_sections.push_back(ReadTensor(dropped == 0, /*steers=*/false, constant.tensor, &constant.owner));
      if (constant.value < 0 || static_cast<size_t>(constant.value) >= graph_.values.size())
        Damaged("constant " + std::to_string(i) + " is of value " + std::to_string(constant.value) + " of " +
                std::to_string(graph_.values.size()));
      graph_.constant_of_value[static_cast<size_t>(constant.value)] = static_cast<int32_t>(i);
    }
  }

  void ReadNodes() {
    graph_.nodes.resize(Count(kNodeSize));
    for (ir::Node& node : graph_.nodes) {
      node.op_type = Text();
      node.domain = Text();
      node.name = Text();
      node.since_version = Number<int64_t>();
      Numbers(node.inputs);
      Numbers(node.outputs);
      Numbers(node.implicit_inputs);
      node.attributes.resize(Count(kAttributeSize));
      for (ir::Attribute& attribute : node.attributes) {
        ReadAttribute(attribute);
        if (IsBody(attribute.type)) Damaged(BodyProblem(node, attribute));
      }
    }
  }

  void ReadAttribute(ir::Attribute& attribute) {
    attribute.name = Text();
    attribute.type = Number<EpAttributeType>();
    Numbers(attribute.floats);
    Numbers(attribute.ints);
    attribute.strings = Texts();
    attribute.tensors.resize(Count(kTensorSize));
    for (ir::Tensor& tensor : attribute.tensors) {
      std::shared_ptr<void> owner;
      ReadTensor(/*with_data=*/true, /*steers=*/true, tensor, &owner);
      if (owner != nullptr) attribute.tensor_data.push_back(std::move(owner));
    }
  }

  void ReadPacked() {
    stored_.packed.resize(Count(kPackedSize));
    for (PackedData& packed : stored_.packed) {
      packed.node = Number<int32_t>();
      packed.key = Text();
      packed.format = Text();
      const std::span<const std::byte> section = container_.section(Number<uint32_t>());
      packed.data = section.data();
      packed.bytes = section.size();
      packed.owner = container_.owner();
    }
  }

  [[noreturn]] void Damaged(const std::string& what) const {
    container_.Damaged("graph '" + std::string(name_) + "': " + what);
  }

  const ContextContainer& container_;
  std::string_view name_;
  OwnSection section_;
  std::span<const std::byte> rest_;
  StoredGraph stored_;
  ir::Graph& graph_ = stored_.graph;
};

void CheckPacked(const StoredGraph& stored) {
  std::set<std::pair<int32_t, std::string_view>> known;
  for (const PackedData& packed : stored.packed) {
    if (packed.node < 0 || static_cast<size_t>(packed.node) >= stored.graph.nodes.size())
      throw Error(EP_STATUS_INVALID_GRAPH, "packed data '" + packed.key + "' belongs to node " +
                                               std::to_string(packed.node) + " of " +
                                               std::to_string(stored.graph.nodes.size()));
    if (!known.emplace(packed.node, packed.key).second)
      throw Error(EP_STATUS_INVALID_GRAPH,
                  "packed data '" + packed.key + "' of node " + std::to_string(packed.node) + " is there twice");
  }
}

}  // namespace

void AddGraph(ContextContainerBuilder& builder, const ir::Graph& graph, std::span<const PackedData> packed) {
  std::string bytes = GraphWriter(builder).Write(graph, packed);
  builder.Add(SectionOf(graph.name), std::move(bytes));
}

std::vector<std::string_view> GraphNames(const ContextContainer& container) {
  std::vector<std::string_view> names;
  for (const auto& [name, section] : container.names())
    if (name.starts_with(kPrefix)) names.push_back(name.substr(kPrefix.size()));
  return names;
}

bool HasGraph(const ContextContainer& container, std::string_view name) { return container.Has(SectionOf(name)); }

std::optional<std::string_view> FindGraph(const ContextContainer& container, std::string_view name) {
  if (HasGraph(container, name)) return name;
  if (!name.empty()) return std::nullopt;
  const std::vector<std::string_view> names = GraphNames(container);
  if (names.size() != 1) return std::nullopt;
  return names[0];
}

void OwnConstant(const ContextContainer& container, size_t constant, StoredGraph* stored) {
  const uint32_t section = stored->constant_sections[constant];
  if (section == StoredGraph::kNoSection) return;
  OwnSection own = container.Own(section);
  ir::Constant& owned = stored->graph.constants[constant];
  owned.tensor.data = own.bytes.data();
  owned.owner = std::move(own.owner);
}

StoredGraph ReadGraph(const ContextContainer& container, std::string_view name, GraphCheck check) {
  StoredGraph stored = GraphReader(container, FindGraph(container, name).value_or(name)).Read();
  if (check == GraphCheck::kLater) return stored;
  try {
    ir::Check(stored.graph);
    CheckPacked(stored);
  } catch (const Error& error) {
    container.Damaged("graph '" + stored.graph.name + "': " + error.what());
  }
  return stored;
}

}  // namespace epiphyte::kit
