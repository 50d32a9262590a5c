// Nearest known name, for messages about unknown names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace epiphyte::core {

// The candidate with the smallest edit distance, or "" when none is close enough.
std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace epiphyte::core
