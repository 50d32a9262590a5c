// Lists of attributes as tables hold them: "axis:i pads:I mode:s". The letter is the type: f float, i int, s string,
// t tensor, F floats, I ints, S strings.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/attribute.h"

namespace epiphyte::core {

// The letter that the list gives an attribute, or 0 when it doesn't have it.
char KindInList(std::string_view list, std::string_view name);
AttributeType TypeOfKind(char kind);
std::vector<std::string_view> NamesInList(std::string_view list);

}  // namespace epiphyte::core
