#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/element_text.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "epiphyte/kit/graph/text_tokens.hpp"

namespace epiphyte::kit::ir {
namespace {

constexpr std::string_view kLeftOut = "…";

// The element type with this name, or UNDEFINED.
EpElementType TypeOfName(std::string_view name) {
  for (EpElementType type = EP_TYPE_FLOAT; IsElementType(type); ++type)
    if (TypeName(type) == name) return type;
  return EP_TYPE_UNDEFINED;
}

bool LooksLikeFloat(std::string_view number) {
  return number.find_first_of(".en") != std::string_view::npos;  // 0.5, 1e-20, inf, nan
}

class Reader {
 public:
  Graph Read(std::string_view text) {
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t end = std::min(text.find('\n'), text.size());
      Tokens tokens(text.substr(0, end), number);
      line_ = &tokens;
      if (!tokens.AtEnd()) Statement();
      tokens.ExpectEnd();
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    Check(graph_);
    return std::move(graph_);
  }

 private:
  // Takes a word that begins a statement, but not if it is the name of a node's output.
  bool TakeKeyword(std::string_view word) {
    return !line_->IsNext("=", 1) && !line_->IsNext(",", 1) && line_->Take(word);
  }

  void Statement() {
    if (TakeKeyword("graph")) {
      graph_.name = line_->Name("the graph's name");
    } else if (TakeKeyword("in")) {
      const std::string name = line_->Name("the input's name");
      line_->Expect(":");
      graph_.inputs.push_back(Define(name, Type(name)));
    } else if (TakeKeyword("const")) {
      ReadConstant();
    } else if (TakeKeyword("out")) {
      do graph_.outputs.push_back(Known(line_->Name("a value")));
      while (line_->Take(","));
    } else {
      ReadNode();
    }
  }

  int32_t Define(const std::string& name, Value value) {
    const int32_t number = graph_.AddValue(std::move(value));
    if (!numbers_.emplace(name, number).second) line_->Fail(Tokens::Shown(name) + " is made twice");
    return number;
  }

  int32_t Known(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end())
      line_->Fail(Tokens::Shown(name) +
                  " is not known here; an input, a constant or an output of a node above expected");
    return found->second;
  }

  // Reads a type such as "float[1,3]" or "float".
  void TensorType(Value* value) {
    const std::string name = line_->Word("an element type");
    value->type = TypeOfName(name);
    if (value->type == EP_TYPE_UNDEFINED && name != TypeName(EP_TYPE_UNDEFINED))
      line_->Fail(Tokens::Shown(name) + " found; an element type of ONNX expected");
    if (!line_->Take("[")) return;
    if (!line_->Take("]")) {
      do value->dims.push_back(line_->Integer("a dimension"));
      while (line_->Take(","));
      line_->Expect("]");
    }
    if (value->dims.size() > EP_MAX_RANK) line_->Fail("more than 64 dimensions found");
    value->rank = static_cast<int32_t>(value->dims.size());
  }

  Value Type(std::string name) {
    constexpr std::pair<std::string_view, EpTypeKind> kKinds[] = {{"sparse", EP_KIND_SPARSE_TENSOR},
                                                                  {"seq", EP_KIND_SEQUENCE},
                                                                  {"optional", EP_KIND_OPTIONAL},
                                                                  {"map", EP_KIND_MAP}};
    Value value;
    value.name = std::move(name);
    bool is_wrapped = false;
    if (line_->Take("?")) {
      if (!line_->Take("(")) return value;
      is_wrapped = true;
    } else {
      value.kind = EP_KIND_TENSOR;
      for (const auto& [word, kind] : kKinds) {
        if (!line_->IsNext("(", 1) || !line_->Take(word)) continue;
        line_->Expect("(");
        value.kind = kind;
        is_wrapped = true;
        break;
      }
    }
    TensorType(&value);
    if (is_wrapped) line_->Expect(")");
    return value;
  }

  // Reads the elements up to `end`. There must be as many as the tensor's shape says.
  void Elements(Tensor* tensor, std::shared_ptr<void>* owner, std::string_view end) {
    if (tensor->type == EP_TYPE_STRING) {
      auto strings = std::make_shared<std::vector<std::string>>();
      if (!line_->IsNext(end)) {
        do strings->push_back(line_->Text("a string"));
        while (line_->Take(","));
      }
      CheckCount(*tensor, strings->size());
      tensor->strings = std::move(strings);
    } else {
      // Collects words first, so that memory is proportional to the text and not to the shape.
      const EpElementType component = ComponentOf(tensor->type);
      std::vector<std::string> words;
      if (!line_->IsNext(end)) {
        do {
          if (component == EP_TYPE_UNDEFINED) {
            words.push_back(line_->Word("a number"));
            continue;
          }
          line_->Expect("(");
          words.push_back(line_->Word("a number"));
          line_->Expect(",");
          words.push_back(line_->Word("a number"));
          line_->Expect(")");
        } while (line_->Take(","));
      }
      const size_t parts = component == EP_TYPE_UNDEFINED ? 1 : 2;
      CheckCount(*tensor, words.size() / parts);
      auto bytes = std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(tensor->Bytes() / 8 + 1));
      const EpElementType type = component == EP_TYPE_UNDEFINED ? tensor->type : component;
      for (size_t i = 0; i < words.size(); ++i)
        if (!ParseElement(words[i], type, i, bytes->data()))
          line_->Fail(Tokens::Shown(words[i]) + " found; an element of type " + TypeName(type) + " expected");
      tensor->data = bytes->data();
      *owner = std::shared_ptr<void>(bytes, bytes->data());
    }
    line_->Expect(end);
  }

  void CheckCount(const Tensor& tensor, size_t found) const {
    uint64_t count = 0;
    if (!CountElements(tensor.dims, &count) || count != found)
      line_->Fail(std::to_string(found) + " elements found for the shape " + ShapeText(tensor.dims));
  }

  // A tensor without elements for a type with a known shape.
  Tensor TensorOf(const Value& value) const {
    if (value.kind != EP_KIND_TENSOR || value.type == EP_TYPE_UNDEFINED || !value.IsStatic())
      line_->Fail("a type without a known shape found; one as float[2,3] expected");
    Tensor tensor;
    tensor.type = value.type;
    tensor.dims.assign(value.dims.data(), value.dims.size());
    return tensor;
  }

  void ReadConstant() {
    const std::string name = line_->Name("the constant's name");
    line_->Expect(":");
    Value value = Type(name);
    Constant constant;
    constant.tensor = TensorOf(value);
    line_->Expect("=");
    if (line_->Take(kLeftOut)) {
      constant.storage = Constant::Storage::kDropped;
    } else {
      line_->Expect("[");
      constant.storage = Constant::Storage::kOwned;
      Elements(&constant.tensor, &constant.owner, "]");
    }
    constant.value = Define(name, std::move(value));
    graph_.constant_of_value.back() = static_cast<int32_t>(graph_.constants.size());
    graph_.constants.push_back(std::move(constant));
  }

  void ReadNode() {
    Node node;
    if (line_->Take("[")) {
      node.name = line_->Name("the node's name");
      line_->Expect("]");
    }
    std::vector<std::string> outputs;  // a "_" without quotes is an output that is left out
    std::vector<bool> is_left_out;
    if (!line_->IsNext("=")) {
      do {
        is_left_out.push_back(line_->IsNext("_"));
        outputs.push_back(line_->Name("an output's name, or what begins a statement: graph, in, const, out"));
      } while (line_->Take(","));
    }
    line_->Expect("=");
    node.op_type = line_->Name("an operator");
    if (line_->Take(":")) {
      line_->Expect(":");
      node.domain = std::exchange(node.op_type, line_->Name("an operator"));
      if (node.domain == "ai.onnx") node.domain.clear();
    }
    if (line_->Take("@")) node.since_version = line_->Integer("a version");
    if (line_->Take("<") && !line_->Take(">")) {
      do ReadAttribute(&node);
      while (line_->Take(","));
      line_->Expect(">");
    }
    node.inputs = ReadInputs();
    if (line_->Take("reads")) node.implicit_inputs = ReadInputs();
    std::vector<Value> types;
    for (const std::string& output : outputs) types.emplace_back().name = output;
    if (line_->Take(":")) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (i != 0) line_->Expect(",");
        types[i] = Type(outputs[i]);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      node.outputs.push_back(is_left_out[i] ? -1 : Define(outputs[i], std::move(types[i])));
    graph_.nodes.push_back(std::move(node));
  }

  std::vector<int32_t> ReadInputs() {
    std::vector<int32_t> inputs;
    line_->Expect("(");
    if (line_->Take(")")) return inputs;
    do inputs.push_back(line_->Take("_") ? -1 : Known(line_->Name("a value")));
    while (line_->Take(","));
    line_->Expect(")");
    return inputs;
  }

  void ReadAttribute(Node* node) {
    Attribute attribute;
    attribute.name = line_->Name("an attribute's name");
    line_->Expect("=");
    ReadAttributeValue(&attribute);
    node->attributes.push_back(std::move(attribute));
  }

  void ReadAttributeValue(Attribute* attribute) {
    constexpr std::pair<std::string_view, EpAttributeType> kEmptyLists[] = {{"floats", EP_ATTRIBUTE_FLOATS},
                                                                            {"ints", EP_ATTRIBUTE_INTS},
                                                                            {"strings", EP_ATTRIBUTE_STRINGS},
                                                                            {"tensors", EP_ATTRIBUTE_TENSORS},
                                                                            {"sparses", EP_ATTRIBUTE_SPARSE_TENSORS}};
    for (const auto& [word, type] : kEmptyLists) {
      if (!line_->IsNext(word)) continue;
      line_->Expect(word);
      line_->Expect("[");
      line_->Expect("]");
      attribute->type = type;
      return;
    }
    if (line_->Take("?")) {
      const int64_t type = line_->Integer("the number of an attribute's type");
      if (type < INT32_MIN || type > INT32_MAX) line_->Fail(std::to_string(type) + " is no attribute's type");
      attribute->type = static_cast<EpAttributeType>(type);
    } else if (line_->Take("[")) {
      ReadList(attribute);
    } else if (line_->IsTextNext()) {
      attribute->type = EP_ATTRIBUTE_STRING;
      attribute->strings.push_back(line_->Text("a string"));
    } else if (line_->IsNext("sparse")) {
      attribute->type = EP_ATTRIBUTE_SPARSE_TENSOR;
      ReadSparse(attribute);
    } else if (line_->IsNext("[", 1)) {
      attribute->type = EP_ATTRIBUTE_TENSOR;
      ReadTensor(attribute);
    } else {
      ReadNumbers(attribute, false);
    }
  }

  void ReadList(Attribute* attribute) {
    if (line_->IsTextNext()) {
      attribute->type = EP_ATTRIBUTE_STRINGS;
      do attribute->strings.push_back(line_->Text("a string"));
      while (line_->Take(","));
    } else if (line_->IsNext("sparse")) {
      attribute->type = EP_ATTRIBUTE_SPARSE_TENSORS;
      do ReadSparse(attribute);
      while (line_->Take(","));
    } else if (line_->IsNext("[", 1)) {
      attribute->type = EP_ATTRIBUTE_TENSORS;
      do ReadTensor(attribute);
      while (line_->Take(","));
    } else {
      ReadNumbers(attribute, true);
    }
    line_->Expect("]");
  }

  // The result is floats if one of the numbers looks like a float.
  void ReadNumbers(Attribute* attribute, bool is_list) {
    constexpr std::string_view kExpected =
        "an attribute's value (a number, a text, a list, a tensor as float[2]{1,2}) expected";
    std::vector<std::string> words;
    do words.push_back(line_->Word("an attribute's value"));
    while (is_list && line_->Take(","));
    const bool is_float = std::any_of(words.begin(), words.end(), LooksLikeFloat);
    for (const std::string& word : words) {
      const bool fits = is_float ? ParseNumber(word, &attribute->floats.emplace_back())
                                 : ParseInteger(word, &attribute->ints.emplace_back());
      if (!fits) line_->Fail(Tokens::Shown(word) + " found; " + std::string(kExpected));
    }
    attribute->type = is_float ? (is_list ? EP_ATTRIBUTE_FLOATS : EP_ATTRIBUTE_FLOAT)
                               : (is_list ? EP_ATTRIBUTE_INTS : EP_ATTRIBUTE_INT);
  }

  void ReadTensor(Attribute* attribute) {
    Value value;
    value.kind = EP_KIND_TENSOR;
    TensorType(&value);
    Tensor tensor = TensorOf(value);
    std::shared_ptr<void> owner;
    line_->Expect("{");
    Elements(&tensor, &owner, "}");
    if (owner != nullptr) attribute->tensor_data.push_back(std::move(owner));
    attribute->tensors.push_back(std::move(tensor));
  }

  void ReadSparse(Attribute* attribute) {
    line_->Expect("sparse");
    line_->Expect("(");
    ReadTensor(attribute);
    line_->Expect(",");
    ReadTensor(attribute);
    line_->Expect(")");
  }

  Graph graph_;
  Tokens* line_ = nullptr;
  std::unordered_map<std::string, int32_t> numbers_;
};

}  // namespace

Graph FromText(std::string_view text) { return Reader().Read(text); }

}  // namespace epiphyte::kit::ir
