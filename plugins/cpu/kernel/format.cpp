#include "plugins/cpu/kernel/format.h"

#include <fmt/format.h>

namespace epiphyte::cpu {

std::string FormatArguments(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

}  // namespace epiphyte::cpu
