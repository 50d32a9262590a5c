// CopyAbi: the one rule by which the host fills a plugin's struct: as far as the plugin's struct_size reaches, and
// never past what the host itself knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace epiphyte::core {

// `full.struct_size` is ignored; `out->struct_size` stays as the plugin set it.
template <typename T>
void CopyAbi(const T& full, T* out) {
  constexpr size_t kHeader = sizeof(uint32_t);
  const size_t reach = std::min<size_t>(out->struct_size, sizeof(T));
  if (reach <= kHeader) return;
  std::memcpy(reinterpret_cast<char*>(out) + kHeader, reinterpret_cast<const char*>(&full) + kHeader, reach - kHeader);
}

}  // namespace epiphyte::core
