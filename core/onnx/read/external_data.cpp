#include "core/onnx/read/external_data.h"

#include "core/base/error.h"
#include "core/base/safe_path.h"
#include "core/onnx/read/file_kind.h"

namespace epiphyte::core {

ExternalData ExternalData::BesideModel(std::filesystem::path model) {
  ExternalData data;
  data.model_ = std::move(model);
  return data;
}

ExternalData ExternalData::InFolder(std::filesystem::path folder) {
  ExternalData data;
  data.folder_ = std::move(folder);
  return data;
}

const ExternalFile& ExternalData::Open(const std::string& name, std::string_view what) {
  auto found = files_.find(name);
  if (found != files_.end()) return found->second;
  ExternalFile opened;
  const std::string subject = fmt::format("external data of {}", what);
  if (open_) {
    CheckFileName(name, subject);
    opened = open_(name);
  }
  if (!opened.owner) {
    if (model_.empty() && folder_.empty()) {
      Fail(StatusCode::kInvalidArgument,
           "{} is in file '{}', but the model was given in memory; set session.model_external_initializers_file_folder_path to the "
           "folder of its external data", what,
           name);
    }
    const auto path = model_.empty() ? ResolveInside(folder_, name, subject) : ResolveBeside(model_, name, subject);
    const auto file = MappedFile::Open(path);
    opened = {file->data(), file->size(), file, file};
  }
  RefuseLfsPointer({reinterpret_cast<const char*>(opened.data), opened.size},
                   fmt::format("file '{}' with the external data of {}", name, what));
  if (check_) check_(name, opened);
  return files_.emplace(name, std::move(opened)).first->second;
}

ExternalData::Bytes ExternalData::Find(const ExternalLocation& location, std::string_view what) {
  const ExternalFile& file = Open(location.file, what);
  if (location.offset > file.size || location.length > file.size - location.offset) {
    Fail(StatusCode::kInvalidGraph,
         "{} needs bytes {} to {} of '{}', which has {}; the file is truncated or belongs to another model", what,
         location.offset, location.offset + location.length, location.file, file.size);
  }
  if (location.length == 0) return {nullptr, file.owner};
  return {file.data + location.offset, file.owner};
}

uint64_t ExternalData::LengthFrom(const std::string& name, uint64_t offset, std::string_view what) {
  const ExternalFile& file = Open(name, what);
  if (offset > file.size) {
    Fail(StatusCode::kInvalidGraph,
         "{} starts at byte {} of '{}', which has {}; the file is truncated or belongs to another model", what, offset,
         name, file.size);
  }
  return file.size - offset;
}

}  // namespace epiphyte::core
