#include "core/registry/provider_name.h"

#include <algorithm>

namespace epiphyte::core {
namespace {

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

bool IsProviderName(std::string_view name) {
  if (name.empty() || name.size() > 64 || !IsLetterOrDigit(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return IsLetterOrDigit(c) || c == '_' || c == '-'; });
}

}  // namespace epiphyte::core
