#include "epiphyte/text.hpp"

#include "core/base/text.h"
#include "host/api/access.h"

namespace epiphyte {

std::string PrintableText(std::string_view text, size_t max_bytes) {
  return WithPublicErrors([&] { return core::PrintableLine(text, max_bytes); });
}

std::string PrintableJson(std::string_view json) {
  return WithPublicErrors([&] { return core::PrintableJson(json); });
}

std::string CountText(uint64_t count, std::string_view thing) {
  return WithPublicErrors([&] { return core::CountText(count, thing); });
}

}  // namespace epiphyte
