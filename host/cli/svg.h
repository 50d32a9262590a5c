// Pictures, drawn by graphviz.
#pragma once

#include <filesystem>
#include <string_view>

namespace epiphyte::cli {

// Writes the picture of a graph in the DOT language. Throws NOT_FOUND when graphviz isn't installed; leaves no partial
// file.
void WriteSvg(std::string_view dot, const std::filesystem::path& file);

}  // namespace epiphyte::cli
