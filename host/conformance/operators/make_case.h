// Numbered cases: a number selects a case of each form of an operator. The same number is the same case on every
// machine.
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
  kPlain,      // valid by ONNX's specification
  kSpecial,    // kPlain with NaN, infinities, zeros of either sign and subnormal numbers
  kBad,        // must be refused
  kHostile,    // with something made invalid: may run or be refused
  kQuantized,  // the operator between DequantizeLinear and QuantizeLinear nodes
};
// Returns "plain", "special", …
std::string_view NameOf(Form form);
std::span<const Form> AllForms();

// Returns the case of that number from one of the operator's two generators. Half of the good cases have a later opset
// than the one for which they were generated.
Case MakeCase(const OperatorCases& cases, Generator make, uint64_t number);
// Returns a case in which some floats are replaced by NaN, infinities, zeros of either sign or subnormal numbers,
// whatever their distribution.
Case MakeSpecialCase(const OperatorCases& cases, uint64_t number);
// Returns the reason why the operator has no special cases: its result for NaN or infinity depends on how the formula
// is written. Returns "" when it has such cases.
std::string_view WhyNoSpecialCases(const OperatorCases& cases);
// Returns the case of that form and number; nullopt when the operator has none.
std::optional<Case> MakeFormOf(const OperatorCases& cases, Form form, uint64_t number);

}  // namespace epiphyte::operators
