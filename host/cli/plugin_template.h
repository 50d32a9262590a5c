// The plugins that `epiphyte new-plugin` starts from: the examples plain_c and kit_minimal of plugin_api/examples. The
// build compiles them into the program, so it needs none of their files at run time.
#pragma once

#include <span>
#include <string_view>

namespace epiphyte::cli {

struct TemplateFile {
  std::string_view name;  // name such as "kit_minimal.cpp"
  std::string_view text;
};

// Names and texts of the templates use "plain_c" and "PlainC", or "kit_minimal" and "KitMinimal".
std::span<const TemplateFile> PlainCTemplate();
std::span<const TemplateFile> KitTemplate();

}  // namespace epiphyte::cli
