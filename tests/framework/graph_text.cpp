#include "tests/framework/graph_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <type_traits>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::test {
namespace {

using core::Attribute;
using core::AttributeType;
using core::Constant;
using core::DataType;
using core::Graph;
using core::ValueDef;

class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  bool Accept(char c) {
    SkipSpace();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) throw std::runtime_error(fmt::format("graph text: '{}' expected before '{}'", c, text_));
  }
  bool AcceptWord(std::string_view word) {
    SkipSpace();
    if (!text_.starts_with(word) || text_.size() == word.size() || text_[word.size()] != ' ') return false;
    text_.remove_prefix(word.size());
    return true;
  }
  // Reads a name or a number: letters, digits and the characters in `extra`.
  std::string Word(std::string_view extra = "_./") {
    SkipSpace();
    size_t size = 0;
    while (size < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[size])) != 0 || extra.find(text_[size]) != extra.npos))
      ++size;
    if (size == 0) throw std::runtime_error(fmt::format("graph text: a name expected before '{}'", text_));
    std::string word(text_.substr(0, size));
    text_.remove_prefix(size);
    return word;
  }
  std::string Until(char end) {
    const size_t size = text_.find(end);
    std::string word(text_.substr(0, size));
    text_.remove_prefix(size + 1);
    return word;
  }
  bool Done() {
    SkipSpace();
    return text_.empty();
  }
  char Peek() {
    SkipSpace();
    return text_.empty() ? '\0' : text_.front();
  }

 private:
  void SkipSpace() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  std::string_view text_;
};

constexpr std::string_view kNumber = "+-._";

DataType ParseDataType(const std::string& name) {
  for (int32_t i = 1; core::IsValidDataType(i); ++i) {
    if (core::DataTypeName(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  }
  throw std::runtime_error("graph text: no element type is called " + name);
}

core::TypePtr ParseType(Line& line) {
  const DataType element = ParseDataType(line.Word());
  if (!line.Accept('[')) return core::Type::Tensor(element);
  core::Shape shape;
  while (!line.Accept(']')) {
    if (line.Accept('?')) {
      shape.emplace_back();
    } else {
      const std::string dim = line.Word();
      shape.push_back(std::isdigit(static_cast<unsigned char>(dim[0])) != 0 ? core::Dim(std::stoll(dim))
                                                                            : core::Dim::Symbol(dim));
    }
    line.Accept(',');
  }
  return core::Type::Tensor(element, std::move(shape));
}

template <typename T>
T ToElement(double number) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(number);
  } else {
    return T(static_cast<float>(number));
  }
}

template <typename T>
core::ConstantPtr Data(const core::TypePtr& type, const std::vector<double>& numbers) {
  std::vector<int64_t> dims;
  if (type->shape()) {
    for (const core::Dim& dim : *type->shape()) dims.push_back(dim.value);
  }
  std::vector<T> values(core::ElementCount(dims));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = ToElement<T>(numbers.empty() ? 0 : numbers[i % numbers.size()]);
  return Constant::Copy(type->element_type(), dims, values.data(), values.size() * sizeof(T));
}

// If there are fewer numbers than elements, the numbers repeat.
core::ConstantPtr ParseData(Line& line, const core::TypePtr& type) {
  std::vector<double> numbers;
  while (!line.Done()) numbers.push_back(std::strtod(line.Word(kNumber).c_str(), nullptr));
  switch (type->element_type()) {
    case DataType::kFloat: return Data<float>(type, numbers);
    case DataType::kDouble: return Data<double>(type, numbers);
    case DataType::kFloat16: return Data<kit::Float16>(type, numbers);
    case DataType::kBfloat16: return Data<kit::BFloat16>(type, numbers);
    case DataType::kInt64: return Data<int64_t>(type, numbers);
    case DataType::kInt32: return Data<int32_t>(type, numbers);
    case DataType::kInt8: return Data<int8_t>(type, numbers);
    case DataType::kUint8:
    case DataType::kBool: return Data<uint8_t>(type, numbers);
    default: throw std::runtime_error("graph text: no data can be given for this element type");
  }
}

Attribute ParseAttribute(Line& line) {
  std::string name = line.Word();
  line.Expect('=');
  if (line.Accept('"')) return Attribute::String(std::move(name), line.Until('"'));
  const bool list = line.Accept('[');
  std::vector<std::string> words;
  while (list ? !line.Accept(']') : words.empty()) {
    words.push_back(line.Word(kNumber));
    if (list) line.Accept(',');
  }
  const bool floats =
      std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.find('.') != word.npos; });
  std::vector<int64_t> ints;
  std::vector<float> reals;
  for (const std::string& word : words) {
    ints.push_back(std::strtoll(word.c_str(), nullptr, 10));
    reals.push_back(std::strtof(word.c_str(), nullptr));
  }
  if (!list) return floats ? Attribute::Float(std::move(name), reals[0]) : Attribute::Int(std::move(name), ints[0]);
  return floats ? Attribute::Floats(std::move(name), reals) : Attribute::Ints(std::move(name), ints);
}

class Parser {
 public:
  std::unique_ptr<Graph> Parse(std::string_view text) {
    graph_->SetOpset("", 21);
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Line line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!line.Done()) ParseLine(line);
    }
    graph_->SetOutputs(outputs_);
    graph_->Finalize();
    return std::move(graph_);
  }

 private:
  ValueDef* Value(const std::string& name) {
    if (name == "_") return nullptr;
    ValueDef* value = graph_->FindValue(name);
    return value != nullptr ? value : graph_->AddValue(name);
  }

  void ParseLine(Line& line) {
    if (line.AcceptWord("opset")) {
      graph_->SetOpset("", std::stoll(line.Word()));
    } else if (line.AcceptWord("in")) {
      std::string name = line.Word();
      line.Expect(':');
      graph_->AddInput(std::move(name), ParseType(line));
    } else if (line.AcceptWord("const")) {
      std::string name = line.Word();
      line.Expect(':');
      const core::TypePtr type = ParseType(line);
      line.Expect('=');
      graph_->AddConstant(std::move(name), ParseData(line, type));
    } else if (line.AcceptWord("out")) {
      do {
        outputs_.push_back(Value(line.Word()));
      } while (line.Accept(','));
    } else {
      ParseNode(line);
    }
  }

  void ParseNode(Line& line) {
    std::vector<ValueDef*> outputs;
    do {
      outputs.push_back(Value(line.Word()));
      if (line.Accept(':')) outputs.back()->set_type(ParseType(line));
    } while (line.Accept(','));
    line.Expect('=');
    std::string domain;
    std::string op_type = line.Word();
    if (line.Accept(':')) {
      line.Expect(':');
      domain = std::move(op_type);
      op_type = line.Word();
    }
    const int64_t version = line.Accept('@') ? std::stoll(line.Word()) : 13;
    std::vector<Attribute> attributes;
    if (line.Accept('<')) {
      while (!line.Accept('>')) {
        attributes.push_back(ParseAttribute(line));
        line.Accept(',');
      }
    }
    line.Expect('(');
    std::vector<ValueDef*> inputs;
    while (!line.Accept(')')) {
      inputs.push_back(Value(line.Word()));
      line.Accept(',');
    }
    std::string name = outputs[0] == nullptr ? op_type : outputs[0]->name();
    graph_->AddNode(op_type, domain, version, std::move(inputs), std::move(outputs), std::move(attributes),
                    std::move(name));
  }

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>("test");
  std::vector<ValueDef*> outputs_;
};

std::string Names(const std::vector<ValueDef*>& values) {
  std::vector<std::string> names;
  for (const ValueDef* value : values) names.push_back(value == nullptr ? "_" : value->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

// Writes 6 as "6.0", so that it does not read as an integer. The result of "{:#}" differs between releases of fmt.
std::string FloatText(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
  return text;
}

std::string PrintValue(const Attribute& attribute) {
  switch (attribute.type()) {
    case AttributeType::kInt: return fmt::format("{}", attribute.i());
    case AttributeType::kFloat: return FloatText(attribute.f());
    case AttributeType::kString: return fmt::format("\"{}\"", attribute.s());
    case AttributeType::kInts: return fmt::format("[{}]", fmt::join(attribute.ints(), ","));
    case AttributeType::kFloats: return fmt::format("[{}]", fmt::join(attribute.floats(), ","));
    case AttributeType::kGraph: return fmt::format("{{{}}}", attribute.g().name());
    default: return "…";
  }
}

template <typename T>
std::string PrintElements(const Constant& constant) {
  std::vector<T> values(static_cast<const T*>(constant.data()),
                        static_cast<const T*>(constant.data()) + constant.element_count());
  return fmt::format("{}", fmt::join(values, " "));
}

}  // namespace

std::unique_ptr<Graph> ParseGraph(std::string_view text) { return Parser().Parse(text); }

std::string Print(const Graph& graph) {
  std::string text;
  for (const core::Node* node : graph.TopologicalOrder()) {
    std::map<std::string, std::string> attributes;
    for (const auto& attribute : node->attributes()) attributes[attribute->name()] = PrintValue(*attribute);
    std::vector<std::string> listed;
    for (const auto& [name, value] : attributes) listed.push_back(name + "=" + value);
    text += fmt::format("{} = {}{}{}({})\n", Names(node->outputs()),
                        node->domain().empty() ? "" : node->domain() + "::", node->op_type(),
                        listed.empty() ? "" : fmt::format("<{}>", fmt::join(listed, ", ")), Names(node->inputs()));
  }
  return text;
}

std::string Print(const Constant& constant) {
  switch (constant.type()) {
    case DataType::kFloat: return PrintElements<float>(constant);
    case DataType::kInt64: return PrintElements<int64_t>(constant);
    case DataType::kBool: return PrintElements<uint8_t>(constant);
    default: return "…";
  }
}

core::Node* FindNode(const Graph& graph, std::string_view name) {
  for (const auto& node : graph.nodes()) {
    if (node != nullptr && node->name() == name) return node.get();
  }
  return nullptr;
}

}  // namespace epiphyte::test
