// ContextTarget: where a context model goes and in what form, as the session options say.
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
  std::string source_model_name;      // for onnx_model_filename; "" when the model came from memory
  std::string external_initializers;  // file name; "" embeds them
  std::string node_name_prefix;
  bool embed = false;
  bool overwrite = false;
  std::shared_ptr<ContextStore> store;  // null: files
  // What the source model is made of: never replaced, whatever the options say.
  std::vector<std::filesystem::path> source_files;
  UsedFiles mapped_sources;

  // Throws INVALID_ARGUMENT when the path has no file name or is a folder, FAIL when it exists and must not be
  // replaced.
  void Validate() const;
  std::filesystem::path folder() const;
  // Throws INVALID_ARGUMENT when a file to write is one of source_files.
  void RefuseSourceFile(const std::filesystem::path& file) const;
  // The store for the .onnx itself, or null.
  ContextStore* ModelStore() const { return store && store->StoresModel() ? store.get() : nullptr; }
};

// Throws INVALID_ARGUMENT when external initializers can't be called so beside `model`. `means` names what says it.
void CheckInitializersName(const std::string& name, const std::filesystem::path& model, std::string_view means);

}  // namespace epiphyte::core
