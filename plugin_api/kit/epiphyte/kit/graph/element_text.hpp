// Single elements of tensors as text and back, for text.hpp.
//
//   ElementText(tensor, 3)                                 // "0.5"
//   ParseElement("0.5", EP_TYPE_FLOAT16, 3, data.data())   // writes it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "epiphyte/kit/graph/ir.hpp"

namespace epiphyte::kit::ir {

// False when the text is no number.
bool ParseNumber(std::string_view text, float* number);
// False when it is no integer, or one that needs more than 64 bits.
bool ParseInteger(std::string_view text, int64_t* number);

// Element i, which is there; of a complex number "(re,im)". Not for strings.
std::string ElementText(const Tensor& tensor, uint64_t i);
// Puts an element into zeroed memory. False when the text is none of that type. A complex number is two elements of
// ComponentOf(type).
bool ParseElement(std::string_view text, EpElementType type, uint64_t i, void* data);
// The type of a complex number's parts; UNDEFINED for other types.
EpElementType ComponentOf(EpElementType type);

}  // namespace epiphyte::kit::ir
