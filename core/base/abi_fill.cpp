#include "core/base/abi_fill.h"

namespace epiphyte::core {

void FailNoRoom(std::string_view name, uint32_t size, size_t least) {
  Fail(StatusCode::kInvalidArgument, "{}::struct_size is {}, at least {} expected; set it to sizeof({})", name, size,
       least, name);
}

}  // namespace epiphyte::core
