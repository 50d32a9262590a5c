// Numbered cases: each form of an operator's cases, and the case that belongs to a number. The same number is the same
// case on every machine.
//
//   const Case c = MakeCase(op, op.make, 17);
//   const std::optional<Case> quantized = MakeFormOf(op, Form::kQuantized, 17);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

enum class Form {
  kPlain,      // what ONNX's specification allows
  kSpecial,    // the same with NaN, infinities, zeros of either sign and subnormal numbers
  kBad,        // what must be refused
  kHostile,    // something in it made senseless: it may run or be refused
  kQuantized,  // the operator between DequantizeLinear and QuantizeLinear nodes
};
// "plain", "special", …
std::string_view NameOf(Form form);
std::span<const Form> AllForms();

// The case of that number, made by one of the operator's two generators. Half of the good cases have a later opset than
// the one that they were made for.
Case MakeCase(const OperatorCases& cases, Generator make, uint64_t number);
// Makes a case with some floats replaced by NaN, infinities, zeros of either sign or subnormal numbers, whatever their
// distribution.
Case MakeSpecialCase(const OperatorCases& cases, uint64_t number);
// Why the operator has no such cases: its result for NaN or infinity depends on how the formula is written. "" when it
// has.
std::string_view WhyNoSpecialCases(const OperatorCases& cases);
// Any form's case of that number; nullopt when the operator has none.
std::optional<Case> MakeFormOf(const OperatorCases& cases, Form form, uint64_t number);

}  // namespace epiphyte::operators
