// ElementText and ParseElement: single elements of tensors as text and back, for text.hpp.
//
//   ElementText(tensor, 3)                                 // "0.5"
//   ParseElement("0.5", EP_TYPE_FLOAT16, 3, data.data())   // writes it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// False when the text is not a number.
bool ParseNumber(std::string_view text, float* number);
// False when the text is not an integer of at most 64 bits.
bool ParseInteger(std::string_view text, int64_t* number);

// Element i as text; i must be in range. A complex number is "(re,im)". Strings are not supported.
std::string ElementText(const Tensor& tensor, uint64_t i);
// Writes an element into zeroed memory. False when the text does not fit the type. A complex number is written as two
// elements of ComponentOf(type).
bool ParseElement(std::string_view text, EpElementType type, uint64_t i, void* data);
// Type of the two parts of a complex number; UNDEFINED for other types.
EpElementType ComponentOf(EpElementType type);

}  // namespace epiphyte::kit::ir
