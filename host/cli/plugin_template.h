// The plugins that `epiphyte new-plugin` starts from: the examples plain_c and kit_minimal of plugin_api/examples,
// which the build puts into the program, so that it needs no file of theirs where it runs.
#pragma once

#include <span>
#include <string_view>

namespace epiphyte::cli {

struct TemplateFile {
  std::string_view name;  // "kit_minimal.cpp"
  std::string_view text;
};

// Names and texts of the templates use "plain_c" and "PlainC", or "kit_minimal" and "KitMinimal".
std::span<const TemplateFile> PlainCTemplate();
std::span<const TemplateFile> KitTemplate();

}  // namespace epiphyte::cli
