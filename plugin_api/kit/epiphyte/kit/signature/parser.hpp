// Parses the texts of signatures at compile time. Only the tables of signatures include this file.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <array>
#include <iterator>

#include "epiphyte/kit/signature/signature.hpp"

namespace epiphyte::kit {
namespace signature_parser {

// Not constexpr, so that a call during parsing is a compile error that shows the text.
inline void ThisSignatureDoesNotParse() {}
consteval void Check(bool condition) {
  if (!condition) ThisSignatureDoesNotParse();
}

struct TypeWord {
  std::string_view word;
  TypeSet types;
};
inline constexpr TypeWord kTypeWords[] = {
    {"any", kAnyType},
    {"numbers", kNumbers},
    {"floats", kFloats},
    {"ints", kIntegers},
    {"signed", kSigned},
    {"unsigned", kUnsigned},
    {"float", Types(EP_TYPE_FLOAT)},
    {"double", Types(EP_TYPE_DOUBLE)},
    {"float16", Types(EP_TYPE_FLOAT16)},
    {"bfloat16", Types(EP_TYPE_BFLOAT16)},
    {"int8", Types(EP_TYPE_INT8)},
    {"int16", Types(EP_TYPE_INT16)},
    {"int32", Types(EP_TYPE_INT32)},
    {"int64", Types(EP_TYPE_INT64)},
    {"uint8", Types(EP_TYPE_UINT8)},
    {"uint16", Types(EP_TYPE_UINT16)},
    {"bool", Types(EP_TYPE_BOOL)},
    {"string", Types(EP_TYPE_STRING)},
    {"narrow", Types(EP_TYPE_UINT4, EP_TYPE_INT4, EP_TYPE_UINT2, EP_TYPE_INT2, EP_TYPE_FLOAT4E2M1)},
    {"float8", Types(EP_TYPE_FLOAT8E4M3FN, EP_TYPE_FLOAT8E4M3FNUZ, EP_TYPE_FLOAT8E5M2, EP_TYPE_FLOAT8E5M2FNUZ,
                     EP_TYPE_FLOAT8E8M0)},
};

struct Cursor {
  std::string_view text;
  size_t at = 0;

  constexpr char Peek() const { return at < text.size() ? text[at] : '\0'; }
  constexpr bool Take(char c) {
    if (Peek() != c) return false;
    ++at;
    return true;
  }
  constexpr bool Take(std::string_view word) {
    if (text.substr(at, word.size()) != word) return false;
    at += word.size();
    return true;
  }
  constexpr void SkipSpaces() {
    while (Take(' ')) {
    }
  }
  // Reads letters, digits, '_' and '.'.
  constexpr std::string_view Word() {
    const size_t begin = at;
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    while (is_part(Peek())) ++at;
    return text.substr(begin, at - begin);
  }
};

consteval TypeSet ParseTypes(Cursor& cursor) {
  TypeSet types = 0;
  do {
    const std::string_view word = cursor.Word();
    TypeSet found = 0;
    for (const TypeWord& known : kTypeWords)
      if (known.word == word) found = known.types;
    Check(found != 0);
    types |= found;
  } while (cursor.Take('|'));
  return types;
}

struct Variables {
  std::array<std::string_view, Signature::kMostVariables> names{};
  std::array<TypeSet, Signature::kMostVariables> types{};
  size_t count = 0;

  consteval int8_t Find(std::string_view name) {
    for (size_t i = 0; i < count; ++i)
      if (names[i] == name) return static_cast<int8_t>(i);
    Check(count < names.size());
    names[count] = name;
    types[count] = kAnyType;
    return static_cast<int8_t>(count++);
  }
};

consteval bool IsVariable(std::string_view word) {
  const bool letter = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
  return letter && (word.size() == 1 || (word.size() == 2 && word[1] >= '0' && word[1] <= '9'));
}

consteval uint8_t ParseNumber(Cursor& cursor) {
  const char digit = cursor.Peek();
  Check(digit >= '0' && digit <= '9');
  ++cursor.at;
  return static_cast<uint8_t>(digit - '0');
}

consteval Signature::Parameter ParseParameter(Cursor& cursor, Variables& variables) {
  Signature::Parameter parameter;
  parameter.name_begin = static_cast<uint16_t>(cursor.at);
  parameter.name_size = static_cast<uint8_t>(cursor.Word().size());
  Check(parameter.name_size != 0 && cursor.Take(':'));
  const size_t type_begin = cursor.at;
  const std::string_view word = cursor.Word();
  if (word == "seq") {
    parameter.kind = Signature::Kind::kSequence;
  } else if (word == "opt") {
    parameter.kind = Signature::Kind::kOptional;
  } else if (word == "map") {
    parameter.kind = Signature::Kind::kMap;
  } else if (word == "value") {
    parameter.kind = Signature::Kind::kAny;
  } else if (IsVariable(word)) {
    parameter.variable = variables.Find(word);
  } else {
    cursor.at = type_begin;
    parameter.types = ParseTypes(cursor);
  }
  if (cursor.Take("**")) {
    parameter.repeated = true;
    parameter.alike = false;
  } else if (cursor.Take('*')) {
    parameter.repeated = true;
  } else if (cursor.Take('?')) {
    parameter.optional = true;
  }
  if (cursor.Take('[')) {
    parameter.min_rank = ParseNumber(cursor);
    parameter.max_rank = parameter.min_rank;
    if (cursor.Take("..")) parameter.max_rank = cursor.Peek() == ']' ? UINT8_MAX : ParseNumber(cursor);
    Check(cursor.Take(']'));
  }
  cursor.SkipSpaces();
  return parameter;
}

}  // namespace signature_parser

consteval bool IsSorted(std::span<const Signature> table) {
  for (size_t i = 1; i < table.size(); ++i) {
    const Signature& a = table[i - 1];
    const Signature& b = table[i];
    if (b.op_type < a.op_type || (b.op_type == a.op_type && b.since_version <= a.since_version)) return false;
  }
  return true;
}

consteval Signature::Signature(std::string_view op, int32_t version, std::string_view parameters,
                               std::string_view attribute_list)
    : op_type(op), since_version(version), text(parameters), attributes(attribute_list) {
  namespace parser = signature_parser;
  parser::Cursor cursor{parameters};
  parser::Variables variables;
  cursor.SkipSpaces();
  while (!cursor.Take("->")) {
    parser::Check(input_count < kMostInputs);
    inputs[input_count++] = parser::ParseParameter(cursor, variables);
  }
  cursor.SkipSpaces();
  while (cursor.Peek() != '\0' && cursor.Peek() != ';') {
    parser::Check(output_count < kMostOutputs);
    outputs[output_count++] = parser::ParseParameter(cursor, variables);
  }
  if (cursor.Take(';')) cursor.SkipSpaces();
  while (cursor.Peek() != '\0') {
    const size_t known = variables.count;
    const int8_t variable = variables.Find(cursor.Word());
    parser::Check(static_cast<size_t>(variable) < known && cursor.Take('='));
    variables.types[static_cast<size_t>(variable)] = parser::ParseTypes(cursor);
    cursor.SkipSpaces();
  }
  for (Parameter& parameter : inputs)
    if (parameter.variable >= 0) parameter.types = variables.types[static_cast<size_t>(parameter.variable)];
  for (Parameter& parameter : outputs)
    if (parameter.variable >= 0) parameter.types = variables.types[static_cast<size_t>(parameter.variable)];
  for (size_t i = 0; i + 1 < input_count; ++i) parser::Check(!inputs[i].repeated);
}

}  // namespace epiphyte::kit
