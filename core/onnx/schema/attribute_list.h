// Lists of attributes in tables: "axis:i pads:I mode:s". The letter is the type: f float, i int, s string, t tensor, F
// floats, I ints, S strings.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/attribute.h"

namespace epiphyte::core {

// The type letter of an attribute in the list, or 0 when the list doesn't contain it.
char KindInList(std::string_view list, std::string_view name);
AttributeType TypeOfKind(char kind);
std::vector<std::string_view> NamesInList(std::string_view list);

}  // namespace epiphyte::core
