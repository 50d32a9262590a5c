#include "epiphyte/files.hpp"

#include "core/base/staged_file.h"
#include "core/base/unfinished.h"
#include "host/api/access.h"

namespace epiphyte {

void WriteFile(const std::filesystem::path& path, std::string_view content) {
  Translate([&] {
    core::StagedFile file(path);
    file.Write(content.data(), content.size());
    file.Commit(/*overwrite=*/true);
  });
}

void CheckWritable(const std::filesystem::path& path) {
  Translate([&] { core::StagedFile::CheckTarget(path); });
}

void RemoveUnfinishedFiles() noexcept { core::Unfinished::RemoveAll(); }

}  // namespace epiphyte
