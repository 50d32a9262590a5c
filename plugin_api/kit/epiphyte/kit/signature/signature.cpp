#include "epiphyte/kit/signature/signature.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <utility>

#include "epiphyte/kit/shape/element_type.hpp"

namespace epiphyte::kit {

void DescribeArguments(const std::vector<int32_t>& arguments, const std::vector<ir::Value>& values,
                       std::vector<ArgumentType>* described) {
  described->clear();
  for (int32_t value : arguments)
    described->push_back(value < 0 ? ArgumentType() : ToArgument(values[static_cast<size_t>(value)]));
}

namespace {

void Append(std::string& text, std::string_view piece) { text += piece; }
template <std::integral Number>
void Append(std::string& text, Number number) {
  text += std::to_string(number);
}
// Concatenates the pieces.
template <typename... Pieces>
std::string Text(const Pieces&... pieces) {
  std::string text;
  (Append(text, pieces), ...);
  return text;
}

constexpr const char* KindName(EpTypeKind kind) {
  switch (kind) {
    case EP_KIND_TENSOR: return "a tensor";
    case EP_KIND_SPARSE_TENSOR: return "a sparse tensor";
    case EP_KIND_SEQUENCE: return "a sequence";
    case EP_KIND_OPTIONAL: return "an optional";
    case EP_KIND_MAP: return "a map";
    default: return "of unknown kind";
  }
}

constexpr EpTypeKind Expected(Signature::Kind kind) {
  switch (kind) {
    case Signature::Kind::kSequence: return EP_KIND_SEQUENCE;
    case Signature::Kind::kOptional: return EP_KIND_OPTIONAL;
    case Signature::Kind::kMap: return EP_KIND_MAP;
    default: return EP_KIND_TENSOR;
  }
}

// Checks the arguments of one node. Inputs come first, because they bind the variables.
class Matcher {
 public:
  Matcher(const Signature& signature, std::string* why) : signature_(signature), why_(why) {}

  bool Inputs(std::span<const ArgumentType> arguments) {
    if (!CheckCount("input", arguments.size(), signature_.inputs.data(), signature_.input_count)) return false;
    for (size_t i = 0; i < signature_.input_count; ++i) {
      const Signature::Parameter& parameter = signature_.inputs[i];
      if (parameter.optional) continue;
      // A parameter that repeats must be present at least once, without gaps.
      const size_t end = parameter.repeated ? std::max(arguments.size(), i + 1) : i + 1;
      for (size_t at = i; at < end; ++at) {
        if (at >= arguments.size() || !arguments[at].present)
          return Fail("input ", at, " ('", signature_.Name(parameter), "') is left out; the operator needs it");
      }
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      if (!Check("input", i, *signature_.Input(i), arguments[i], true)) return false;
    return true;
  }

  bool Outputs(std::span<const ArgumentType> arguments) {
    if (!CheckCount("output", arguments.size(), signature_.outputs.data(), signature_.output_count)) return false;
    if (arguments.empty() && signature_.output_count != 0) return Fail("0 outputs found; 1 at least expected");
    for (size_t i = 0; i < arguments.size(); ++i)
      if (!Check("output", i, *signature_.Output(i), arguments[i], false)) return false;
    return true;
  }

  bool certain() const { return certain_; }
  EpElementType Dispatch(std::span<const ArgumentType> inputs, std::span<const ArgumentType> outputs) const {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].present) return TypeOf(*signature_.Input(i), inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].present) return TypeOf(*signature_.Output(i), outputs[i]);
    return EP_TYPE_UNDEFINED;
  }

 private:
  template <typename... Pieces>
  bool Fail(const Pieces&... pieces) {
    if (why_ != nullptr) *why_ = Text(pieces...);
    return false;
  }

  bool CheckCount(const char* what, size_t count, const Signature::Parameter* parameters, size_t most) {
    if (count <= most || (most != 0 && parameters[most - 1].repeated)) return true;
    return Fail(count, " ", what, "s found; ", most, " at most expected");
  }

  bool Check(const char* what, size_t i, const Signature::Parameter& parameter, const ArgumentType& argument,
             bool is_input) {
    if (!argument.present || parameter.kind == Signature::Kind::kAny) return true;
    const EpTypeKind kind = Expected(parameter.kind);
    if (argument.kind == EP_KIND_UNKNOWN) {
      certain_ = certain_ && !is_input;
      return true;
    }
    if (argument.kind != kind)
      return Fail(what, " ", i, " ('", signature_.Name(parameter), "') is ", KindName(argument.kind), "; ",
                  KindName(kind), " expected");
    if (kind != EP_KIND_TENSOR) return true;
    if (argument.rank >= 0 &&
        (argument.rank < parameter.min_rank || (parameter.max_rank != UINT8_MAX && argument.rank > parameter.max_rank)))
      return Fail(what, " ", i, " ('", signature_.Name(parameter), "') has rank ", argument.rank, "; ",
                  RankText(parameter), " expected");
    if (argument.type == EP_TYPE_UNDEFINED) {
      certain_ = certain_ && (!is_input || (parameter.variable < 0 && parameter.types == kAnyType));
      return true;
    }
    if (!Contains(parameter.types, argument.type))
      return Fail(what, " ", i, " ('", signature_.Name(parameter), "') is of type ", TypeName(argument.type), "; ",
                  TypeNames(parameter.types), " expected");
    if (parameter.variable < 0 || (parameter.repeated && !parameter.alike)) return true;
    Binding& binding = bindings_[static_cast<size_t>(parameter.variable)];
    if (binding.type == EP_TYPE_UNDEFINED) {
      binding = {argument.type, what, i};
    } else if (binding.type != argument.type) {
      return Fail(what, " ", i, " ('", signature_.Name(parameter), "') is of type ", TypeName(argument.type), "; ",
                  TypeName(binding.type), " expected, as ", binding.what, " ", binding.index, " is");
    }
    return true;
  }

  static std::string RankText(const Signature::Parameter& parameter) {
    if (parameter.max_rank == parameter.min_rank) return Text(parameter.min_rank);
    if (parameter.max_rank == UINT8_MAX) return Text(parameter.min_rank, " or more");
    return Text(parameter.min_rank, " to ", parameter.max_rank);
  }

  // An unknown type is the type of the other arguments with the same variable.
  EpElementType TypeOf(const Signature::Parameter& parameter, const ArgumentType& argument) const {
    if (argument.type != EP_TYPE_UNDEFINED || parameter.variable < 0) return argument.type;
    return bindings_[static_cast<size_t>(parameter.variable)].type;
  }

  struct Binding {
    EpElementType type = EP_TYPE_UNDEFINED;
    const char* what = "";
    size_t index = 0;
  };
  const Signature& signature_;
  std::string* why_;
  std::array<Binding, Signature::kMostVariables> bindings_{};
  bool certain_ = true;
};

}  // namespace

std::string TypeNames(TypeSet types) {
  if ((types & kAnyType) == kAnyType) return "any type";
  std::string text;
  for (EpElementType type = 1; type < 64 && types != 0; ++type) {
    if (!Contains(types, type)) continue;
    types &= ~TypeBit(type);
    if (!text.empty()) text += types == 0 ? " or " : ", ";
    text += TypeName(type);
  }
  return text;
}

SignatureMatch Match(const Signature& signature, std::span<const ArgumentType> inputs,
                     std::span<const ArgumentType> outputs, std::string* why) {
  Matcher matcher(signature, why);
  SignatureMatch match;
  match.fits = matcher.Inputs(inputs) && matcher.Outputs(outputs);
  match.certain = matcher.certain();
  // If the arguments do not fit, some may have no parameter.
  if (match.fits) match.dispatch = matcher.Dispatch(inputs, outputs);
  return match;
}

namespace {

// An attribute type with its letter in signatures and its name.
struct AttributeKind {
  EpAttributeType type;
  char sign;
  const char* name;
};
constexpr AttributeKind kAttributeKinds[] = {
    {EP_ATTRIBUTE_FLOAT, 'f', "a float"},
    {EP_ATTRIBUTE_INT, 'i', "an integer"},
    {EP_ATTRIBUTE_STRING, 's', "a string"},
    {EP_ATTRIBUTE_TENSOR, 't', "a tensor"},
    {EP_ATTRIBUTE_FLOATS, 'F', "floats"},
    {EP_ATTRIBUTE_INTS, 'I', "integers"},
    {EP_ATTRIBUTE_STRINGS, 'S', "strings"},
    {EP_ATTRIBUTE_TENSORS, 'T', "tensors"},
    {EP_ATTRIBUTE_SPARSE_TENSOR, 'x', "a sparse tensor"},
    {EP_ATTRIBUTE_SPARSE_TENSORS, 'X', "sparse tensors"},
    {EP_ATTRIBUTE_TYPE_PROTO, 'p', "a type"},
    {EP_ATTRIBUTE_TYPE_PROTOS, 'P', "types"},
};

// Says why an attribute does not fit; "" when it fits.
std::string Complaint(const Signature& signature, const AttributeContent& attribute) {
  const auto* kind = std::find_if(std::begin(kAttributeKinds), std::end(kAttributeKinds),
                                  [&](const AttributeKind& known) { return known.type == attribute.type; });
  if (kind == std::end(kAttributeKinds))
    return Text("attribute '", attribute.name, "' has type ", attribute.type, "; nested graphs are run by the host");
  const AttributeRule rule = FindAttribute(signature, attribute.name);
  if (rule.type == 0) return {};  // no kernel reads it
  if (rule.type != kind->sign) {
    const auto* expected = std::find_if(std::begin(kAttributeKinds), std::end(kAttributeKinds),
                                        [&](const AttributeKind& known) { return known.sign == rule.type; });
    return Text("attribute '", attribute.name, "' is ", kind->name, "; ", expected->name, " expected");
  }
  for (int64_t number : attribute.ints) {
    if (number >= rule.least && number <= rule.most) continue;
    if (rule.most == INT64_MAX)
      return Text("attribute '", attribute.name, "' is ", number, "; ", rule.least, " or more expected");
    return Text("attribute '", attribute.name, "' is ", number, "; ", rule.least, " to ", rule.most, " expected");
  }
  return {};
}

}  // namespace

bool MatchAttributes(const Signature& signature, std::span<const AttributeContent> attributes, std::string* why) {
  for (const AttributeContent& attribute : attributes) {
    std::string complaint = Complaint(signature, attribute);
    if (complaint.empty()) continue;
    if (why != nullptr) *why = std::move(complaint);
    return false;
  }
  return true;
}

AttributeRule FindAttribute(const Signature& signature, std::string_view name) {
  const std::string_view list = signature.attributes;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(' ', at), list.size());
    const std::string_view entry = list.substr(at, end - at);
    at = end + 1;
    if (entry.size() < name.size() + 2 || !entry.starts_with(name) || entry[name.size()] != ':') continue;
    AttributeRule rule;
    rule.type = entry[name.size() + 1];
    const size_t open = entry.find('[');
    if (open == std::string_view::npos) return rule;
    const size_t dots = entry.find("..", open);
    std::from_chars(entry.data() + open + 1, entry.data() + dots, rule.least);
    std::from_chars(entry.data() + dots + 2, entry.data() + entry.size(), rule.most);
    return rule;
  }
  return {};
}

}  // namespace epiphyte::kit
