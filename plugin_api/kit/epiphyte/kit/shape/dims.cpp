#include "epiphyte/kit/shape/dims.hpp"

namespace epiphyte::kit {

bool CountElements(std::span<const int64_t> dims, uint64_t* count) {
  constexpr uint64_t kMost = uint64_t{1} << 44;
  uint64_t without_zeros = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    empty = empty || dim == 0;
    if (dim <= 0) continue;
    const auto size = static_cast<uint64_t>(dim);
    if (size > kMost / without_zeros) return false;
    without_zeros *= size;
  }
  *count = empty ? 0 : without_zeros;
  return true;
}

std::string ShapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace epiphyte::kit
