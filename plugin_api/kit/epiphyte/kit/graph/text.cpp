#include "epiphyte/kit/graph/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "epiphyte/kit/graph/element_text.hpp"
#include "epiphyte/kit/shape/number_text.hpp"

namespace epiphyte::kit::ir {
namespace {

constexpr const char* kLeftOut = "…";

bool IsPlainWord(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./-$").find(c) != std::string_view::npos;
  };
  return !text.empty() && text != "_" && std::all_of(text.begin(), text.end(), is_plain);
}

std::string Quoted(std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string NameText(std::string_view name) { return IsPlainWord(name) ? std::string(name) : Quoted(name); }

template <typename Items, typename ToItem>
std::string Joined(const Items& items, const ToItem& to_item, const char* separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    text += to_item(item);
  }
  return text;
}

// Adds a point, as in "6.0", so that the text is not an integer.
std::string FloatText(float number) {
  std::string text = NumberText(number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string TypeText(const Value& value) {
  const bool is_known = value.type != EP_TYPE_UNDEFINED || value.rank >= 0;
  if (value.kind == EP_KIND_UNKNOWN && !is_known) return "?";
  std::string tensor = TypeName(value.type);
  if (value.rank >= 0) tensor += ShapeText(value.dims);
  switch (value.kind) {
    case EP_KIND_TENSOR: return tensor;
    case EP_KIND_SPARSE_TENSOR: return "sparse(" + tensor + ")";
    case EP_KIND_SEQUENCE: return "seq(" + tensor + ")";
    case EP_KIND_OPTIONAL: return "optional(" + tensor + ")";
    case EP_KIND_MAP: return "map(" + tensor + ")";
    default: return "?(" + tensor + ")";
  }
}

// The elements as "1, 2, 3", or a sign that they are left out. Also accepts tensors that have not been checked.
std::string ElementsText(const Tensor& tensor, uint64_t most) {
  uint64_t count = 0;
  const bool has_shape = CountElements(tensor.dims, &count) &&
                         std::all_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t dim) { return dim >= 0; });
  if (!has_shape || count > most || !IsElementType(tensor.type)) return kLeftOut;
  if (count != 0 && tensor.type == EP_TYPE_STRING && (tensor.strings == nullptr || tensor.strings->size() != count))
    return kLeftOut;
  if (count != 0 && tensor.type != EP_TYPE_STRING && tensor.data == nullptr) return kLeftOut;
  std::string text;
  for (uint64_t i = 0; i < count; ++i) {
    if (i != 0) text += ", ";
    text += tensor.type == EP_TYPE_STRING ? Quoted((*tensor.strings)[static_cast<size_t>(i)]) : ElementText(tensor, i);
  }
  return text;
}

std::string TensorText(const Tensor& tensor) {
  return TypeName(tensor.type) + ShapeText(tensor.dims) + "{" + ElementsText(tensor, UINT64_MAX) + "}";
}

std::string SparsesText(const std::vector<Tensor>& tensors) {
  std::string text;
  for (size_t i = 0; i + 1 < tensors.size(); i += 2) {
    if (i != 0) text += ", ";
    text += "sparse(" + TensorText(tensors[i]) + ", " + TensorText(tensors[i + 1]) + ")";
  }
  return text;
}

std::string AttributeText(const Attribute& attribute) {
  const auto integer = [](int64_t number) { return std::to_string(number); };
  const auto list = [](const char* of_none, const std::string& items) {
    return items.empty() ? std::string(of_none) + "[]" : "[" + items + "]";
  };
  switch (attribute.type) {
    case EP_ATTRIBUTE_FLOAT:
      if (attribute.floats.size() == 1) return FloatText(attribute.floats[0]);
      break;
    case EP_ATTRIBUTE_INT:
      if (attribute.ints.size() == 1) return integer(attribute.ints[0]);
      break;
    case EP_ATTRIBUTE_STRING:
      if (attribute.strings.size() == 1) return Quoted(attribute.strings[0]);
      break;
    case EP_ATTRIBUTE_TENSOR:
      if (attribute.tensors.size() == 1) return TensorText(attribute.tensors[0]);
      break;
    case EP_ATTRIBUTE_SPARSE_TENSOR:
      if (attribute.tensors.size() == 2) return SparsesText(attribute.tensors);
      break;
    case EP_ATTRIBUTE_FLOATS: return list("floats", Joined(attribute.floats, FloatText, ","));
    case EP_ATTRIBUTE_INTS: return list("ints", Joined(attribute.ints, integer, ","));
    case EP_ATTRIBUTE_STRINGS: return list("strings", Joined(attribute.strings, Quoted, ","));
    case EP_ATTRIBUTE_TENSORS: return list("tensors", Joined(attribute.tensors, TensorText));
    case EP_ATTRIBUTE_SPARSE_TENSORS: return list("sparses", SparsesText(attribute.tensors));
    default: break;
  }
  return "?" + std::to_string(attribute.type);
}

std::string AttributesText(const Node& node) {
  std::multimap<std::string_view, std::string> texts;
  for (const Attribute& attribute : node.attributes)
    texts.emplace(attribute.name, NameText(attribute.name) + "=" + AttributeText(attribute));
  if (texts.empty()) return {};
  return "<" + Joined(texts, [](const auto& entry) { return entry.second; }) + ">";
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {
    std::set<std::string> taken;
    names_.reserve(graph.values.size());
    for (size_t i = 0; i < graph.values.size(); ++i) {
      std::string name = graph.values[i].name;
      // Names in a graph may repeat, names in the text may not.
      while (!taken.insert(name).second) name += "#" + std::to_string(i);
      names_.push_back(NameText(name));
    }
  }

  std::string Whole(size_t most_elements) const {
    std::string text = "graph " + Quoted(graph_.name) + "\n";
    for (const int32_t input : graph_.inputs) text += "in " + NameOf(input) + ": " + TypeOf(input) + "\n";
    for (const Constant& constant : graph_.constants) {
      const std::string elements =
          constant.storage == Constant::Storage::kDropped ? kLeftOut : ElementsText(constant.tensor, most_elements);
      text += "const " + NameOf(constant.value) + ": " + TypeOf(constant.value) + " = " +
              (elements == kLeftOut ? elements : "[" + elements + "]") + "\n";
    }
    for (const Node& node : graph_.nodes) text += WholeNode(node) + "\n";
    if (!graph_.outputs.empty()) text += "out " + NamesOf(graph_.outputs) + "\n";
    return text;
  }

  std::string Nodes() const {
    std::string text;
    for (const Node& node : graph_.nodes)
      text += NamesOf(node.outputs) + " = " + OperatorOf(node) + AttributesText(node) + InputsOf(node) + "\n";
    return text;
  }

 private:
  bool Exists(int32_t value) const { return value >= 0 && static_cast<size_t>(value) < names_.size(); }
  std::string NameOf(int32_t value) const { return Exists(value) ? names_[static_cast<size_t>(value)] : "_"; }
  std::string NamesOf(const std::vector<int32_t>& values) const {
    return Joined(values, [&](int32_t value) { return NameOf(value); });
  }
  std::string TypeOf(int32_t value) const {
    return Exists(value) ? TypeText(graph_.values[static_cast<size_t>(value)]) : "?";
  }
  static std::string OperatorOf(const Node& node) {
    return (node.domain.empty() ? "" : NameText(node.domain) + "::") + NameText(node.op_type);
  }
  std::string InputsOf(const Node& node) const {
    std::string text = "(" + NamesOf(node.inputs) + ")";
    if (!node.implicit_inputs.empty()) text += " reads (" + NamesOf(node.implicit_inputs) + ")";
    return text;
  }
  std::string WholeNode(const Node& node) const {
    std::string text = node.name.empty() ? "" : "[" + NameText(node.name) + "] ";
    text += NamesOf(node.outputs) + " = " + OperatorOf(node);
    if (node.since_version != 1) text += "@" + std::to_string(node.since_version);
    text += AttributesText(node) + InputsOf(node);
    const bool is_known =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](int32_t value) { return TypeOf(value) != "?"; });
    if (is_known) text += " : " + Joined(node.outputs, [&](int32_t value) { return TypeOf(value); });
    return text;
  }

  const Graph& graph_;
  std::vector<std::string> names_;  // names of the values in the text
};

}  // namespace

std::string ToText(const Graph& graph, size_t most_elements) { return Writer(graph).Whole(most_elements); }
std::string NodesToText(const Graph& graph) { return Writer(graph).Nodes(); }

}  // namespace epiphyte::kit::ir
