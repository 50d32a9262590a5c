// Signature: the types and ranks of an operator's inputs and outputs, from one version on. Plugins use this one rule to
// claim nodes, verify contexts, and choose kernels at run time.
//
//     for (const kit::Signature& signature : kit::FindSignatures(domain, op_type)) …   // the row of the version
//     if (!kit::Match(signature, inputs, outputs, &why).fits) return why;              // "input 1 ('W') has rank 2; …"
//
// The tables (onnx.cpp, other.cpp) have rows of this form:
//
//     {"Conv", 1, "X:T[3..] W:T[3..] B:T?[1] -> Y:T", "auto_pad:s dilations:I[1..] group:i[1..]"}
//
// Parameters are name:type. After the type, "?" marks an optional one, "*" one that repeats at least once with one
// type, "**" one that repeats with any types. Brackets hold the allowed ranks.
//
// A type is a set, such as "int32|int64" (words: parser.hpp), or a variable: a capital letter with an optional digit.
// Parameters with the same variable have the same type. The set of a variable follows after ";": "X:T Y:T -> Z:bool;
// T=floats". A variable without a set may be any type, and the plugin's kernel decides. Instead of a type, "seq", "opt"
// and "map" stand for values of that kind, and "value" for one of any kind.
//
// Attributes are name:type. The type is i, f, s, t (tensor), x (sparse tensor), p (type), or I, F, S for lists.
// Brackets hold the range of the numbers. Attributes that are not listed are ignored, as kernels ignore them.
//
// The texts are parsed at compile time (parser.hpp): an invalid text does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_graph.h"
#include "epiphyte/kit/graph/ir.hpp"
#include "epiphyte/kit/signature/type_set.hpp"

namespace epiphyte::kit {

// The known properties of one input or output of a node.
struct ArgumentType {
  bool present = false;  // false: left out
  EpTypeKind kind = EP_KIND_UNKNOWN;
  EpElementType type = EP_TYPE_UNDEFINED;
  int32_t rank = -1;

  bool operator==(const ArgumentType&) const = default;
};

// Describes a value of a graph as an argument.
inline ArgumentType ToArgument(const ir::Value& value) { return {true, value.kind, value.type, value.rank}; }
// Describes the values of a node's inputs or outputs.
void DescribeArguments(const std::vector<int32_t>& arguments, const std::vector<ir::Value>& values,
                       std::vector<ArgumentType>* described);

struct Signature {
  enum class Kind : uint8_t { kTensor, kSequence, kOptional, kMap, kAny };
  struct Parameter {
    TypeSet types = kAnyType;
    uint16_t name_begin = 0;  // offset in `text`
    uint8_t name_size = 0;
    Kind kind = Kind::kTensor;
    int8_t variable = -1;
    bool optional = false;
    bool repeated = false;
    bool alike = true;  // for repeated parameters: all have one type
    uint8_t min_rank = 0;
    uint8_t max_rank = UINT8_MAX;
  };
  static constexpr size_t kMostInputs = 9;
  static constexpr size_t kMostOutputs = 5;
  static constexpr size_t kMostVariables = 5;

  std::string_view op_type;
  int32_t since_version = 1;
  std::string_view text;
  std::string_view attributes;
  uint8_t input_count = 0;
  uint8_t output_count = 0;
  std::array<Parameter, kMostInputs> inputs{};
  std::array<Parameter, kMostOutputs> outputs{};

  consteval Signature(std::string_view op, int32_t version, std::string_view parameters,
                      std::string_view attribute_list);

  std::string_view Name(const Parameter& parameter) const {
    return text.substr(parameter.name_begin, parameter.name_size);
  }
  // The parameter for argument i; null when there are too many arguments.
  const Parameter* Input(size_t i) const { return Find(inputs.data(), input_count, i); }
  const Parameter* Output(size_t i) const { return Find(outputs.data(), output_count, i); }

 private:
  static const Parameter* Find(const Parameter* list, size_t count, size_t i) {
    if (i < count) return &list[i];
    return count != 0 && list[count - 1].repeated ? &list[count - 1] : nullptr;
  }
};

// How arguments fit a signature. `dispatch` is the type that selects the kernel: the type of the first input, or of the
// first output if there are no inputs.
struct SignatureMatch {
  bool fits = false;
  bool certain = false;  // the type of each input is known where the signature asks for one
  EpElementType dispatch = EP_TYPE_UNDEFINED;
};
// Matches arguments. If they do not fit, *why says what was found and what was expected.
SignatureMatch Match(const Signature& signature, std::span<const ArgumentType> inputs,
                     std::span<const ArgumentType> outputs, std::string* why);

// The signatures of an operator, oldest first; empty for an unknown operator. Domain "" is ai.onnx.
std::span<const Signature> FindSignatures(std::string_view domain, std::string_view op_type);

// The tables, each sorted by operator and version.
std::span<const Signature> OnnxSignatures();
std::span<const Signature> MlSignatures();
std::span<const Signature> TrainingSignatures();
std::span<const Signature> MicrosoftSignatures();  // com.microsoft operators with kernels of their own
std::span<const Signature> FusedSignatures();      // the kit's own operators (fuse/operators.hpp)

// The entry of an attribute in Signature::attributes.
struct AttributeRule {
  char type = 0;  // 0: not listed
  int64_t least = INT64_MIN;
  int64_t most = INT64_MAX;
};
AttributeRule FindAttribute(const Signature& signature, std::string_view name);

// The content of an attribute that signatures can check.
struct AttributeContent {
  std::string_view name;
  EpAttributeType type = 0;
  std::span<const int64_t> ints;
};
// Checks that each attribute has the type and range that the operator expects. If not, *why says what was found and
// what was expected.
bool MatchAttributes(const Signature& signature, std::span<const AttributeContent> attributes, std::string* why);

}  // namespace epiphyte::kit
