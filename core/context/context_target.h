// ContextTarget: place and form of a context model, from the session options.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/context/context_store.h"

namespace epiphyte::core {

struct ContextTarget {
  std::filesystem::path model;        // the .onnx to write
  std::string binary_stem;            // "<stem>_<provider>.bin"
  std::string source_model_name;      // value for onnx_model_filename; "" when the model came from memory
  std::string external_initializers;  // file name; "" embeds them
  std::string node_name_prefix;
  bool embed = false;
  bool overwrite = false;
  std::shared_ptr<ContextStore> store;  // null: everything is in files
  // Files that the source model is made of. They are never replaced, whatever the options say.
  std::vector<std::filesystem::path> source_files;
  UsedFiles mapped_sources;

  // Throws INVALID_ARGUMENT when the path has no file name or is a folder. Throws FAIL when it exists and must not be
  // replaced.
  void Validate() const;
  std::filesystem::path folder() const;
  // Throws INVALID_ARGUMENT when a file to write is one of source_files.
  void RefuseSourceFile(const std::filesystem::path& file) const;
  // The store that holds the .onnx itself; null when it is a file.
  ContextStore* ModelStore() const { return store && store->StoresModel() ? store.get() : nullptr; }
};

// Throws INVALID_ARGUMENT when external initializers can't have this name beside `model`. `means` names the option or
// argument that gave the name.
void CheckInitializersName(const std::string& name, const std::filesystem::path& model, std::string_view means);

}  // namespace epiphyte::core
