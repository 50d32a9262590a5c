#include "core/context/context_target.h"

#include <system_error>

#include "core/base/error.h"
#include "core/base/safe_path.h"
#include "core/base/staged_file.h"
#include "core/base/text.h"

namespace epiphyte::core {

std::filesystem::path ContextTarget::folder() const {
  return model.has_parent_path() ? model.parent_path() : std::filesystem::path(".");
}

void ContextTarget::Validate() const {
  std::error_code error;
  if (model.empty()) {
    Fail(StatusCode::kInvalidArgument,
         "ep.context_file_path is not set; a model from memory has no name to derive the context model's from");
  }
  const bool in_store = ModelStore() != nullptr;
  if (!model.has_filename()) {
    Fail(StatusCode::kInvalidArgument,
         "ep.context_file_path '{}' is a folder; give the path of the .onnx file to write", model.string());
  }
  // Found out now, not after minutes of compiling.
  if (!in_store) {
    try {
      StagedFile::CheckTarget(model);
    } catch (const Error& error) {
      throw Error(error.code(), error.message() + " (ep.context_file_path)");
    }
  }
  if (!external_initializers.empty()) {
    const std::filesystem::path name(external_initializers);
    if (name.has_parent_path() || name.is_absolute() || name == "." || name == ".." ||
        external_initializers.find('\\') != std::string::npos) {
      Fail(StatusCode::kInvalidArgument,
           "ep.context_model_external_initializers_file_name is '{}', expected a file name without folders",
           external_initializers);
    }
    if (name == model.filename()) {
      Fail(
          StatusCode::kInvalidArgument,
          "ep.context_model_external_initializers_file_name is '{}', which is the context model itself; choose another "
          "name",
          external_initializers);
    }
  }
  // The binaries are named after the model, and the model's reader takes no name that some system takes for a path.
  if (!embed) {
    try {
      CheckFileName(binary_stem, "binaries");
    } catch (const Error& error) {
      Fail(StatusCode::kInvalidArgument,
           "ep.context_file_path '{}' gives the binaries a name that can't be read back: {}",
           PrintableLine(model.string(), 200), error.message());
    }
  }
  if (overwrite) return;
  const bool exists = in_store ? ModelStore()->Exists(model.filename().string())
                               : std::filesystem::exists(std::filesystem::symlink_status(model, error));
  if (exists) {
    Fail(StatusCode::kFail,
         "'{}' exists already; remove it, choose another ep.context_file_path, or set epiphyte.context_overwrite to 1",
         model.string());
  }
}

void ContextTarget::RefuseSourceFile(const std::filesystem::path& file) const {
  for (const std::filesystem::path& source : source_files) {
    std::error_code error;
    if (file != source && !std::filesystem::equivalent(file, source, error)) continue;
    Fail(StatusCode::kInvalidArgument,
         "'{}' would be replaced, but the source model is made of it; choose another ep.context_file_path or "
         "ep.context_model_external_initializers_file_name",
         file.string());
  }
}

}  // namespace epiphyte::core
