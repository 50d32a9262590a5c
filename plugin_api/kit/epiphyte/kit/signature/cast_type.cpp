#include "epiphyte/kit/signature/cast_type.hpp"

#include <algorithm>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {

EpElementType CastType(const ir::Node& node) {
  const ir::Attribute* to = node.Find("to");
  if (to == nullptr) FailArgument("attribute 'to' is missing");
  if (to->type != EP_ATTRIBUTE_STRING) {
    const int64_t type = node.Int("to", 0);
    if (type <= EP_TYPE_UNDEFINED || type > EP_TYPE_INT2 || type == EP_TYPE_COMPLEX64 || type == EP_TYPE_COMPLEX128)
      FailArgument("attribute 'to' is ", type, ", which is no type to cast to");
    return static_cast<EpElementType>(type);
  }
  std::string name = node.String("to");
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  for (EpElementType type = EP_TYPE_FLOAT; type <= EP_TYPE_BFLOAT16; ++type)
    if (type != EP_TYPE_COMPLEX64 && type != EP_TYPE_COMPLEX128 && TypeName(type) == name) return type;
  FailArgument("attribute 'to' is '", name, "', which is no type");
}

}  // namespace epiphyte::kit
