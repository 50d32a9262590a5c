#include "core/context/context_target.h"

#include <system_error>

#include "core/base/error.h"
#include "core/base/safe_path.h"
#include "core/base/staged_file.h"
#include "core/base/text.h"
#include "core/context/publisher.h"

namespace epiphyte::core {

void CheckInitializersName(const std::string& name, const std::filesystem::path& model, std::string_view means) {
  const std::filesystem::path path(name);
  if (path.has_parent_path() || path.is_absolute() || path == "." || path == ".." ||
      name.find('\\') != std::string::npos) {
    Fail(StatusCode::kInvalidArgument, "{} is '{}', expected a file name without folders", means, name);
  }
  try {
    CheckFileName(name, means);  // the reader of the model applies the same rule
  } catch (const Error& error) {
    throw Error(StatusCode::kInvalidArgument, error.message());
  }
  if (path == model.filename()) {
    Fail(StatusCode::kInvalidArgument, "{} is '{}', which is the context model itself; choose another name", means,
         name);
  }
}

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
  // The check comes now rather than after minutes of compiling.
  if (!in_store) {
    try {
      StagedFile::CheckTarget(model);
    } catch (const Error& error) {
      throw error.WithMessage(error.message() + " (ep.context_file_path)");
    }
  }
  if (!external_initializers.empty()) {
    CheckInitializersName(external_initializers, model, "ep.context_model_external_initializers_file_name");
  }
  // The binaries are named after the model, and the model's reader refuses names that some system takes for a path.
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
  if (exists) Publisher::RefuseExisting(model, "exists already", {});
}

void ContextTarget::RefuseSourceFile(const std::filesystem::path& file) const {
  Publisher::RefuseReplacing(file, source_files, {});
}

}  // namespace epiphyte::core
