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

// Their names and texts speak of "plain_c" and "PlainC", of "kit_minimal" and "KitMinimal".
std::span<const TemplateFile> PlainCTemplate();
std::span<const TemplateFile> KitTemplate();

}  // namespace epiphyte::cli
