#include "epiphyte/files.hpp"

#include "core/base/remove_on_exit.h"
#include "core/base/staged_file.h"
#include "host/api/access.h"

namespace epiphyte {

void WriteFile(const std::filesystem::path& path, std::string_view content) {
  WithPublicErrors([&] {
    core::StagedFile file(path);
    file.Write(content.data(), content.size());
    file.Commit(/*overwrite=*/true);
  });
}

void CheckWritable(const std::filesystem::path& path) {
  WithPublicErrors([&] { core::StagedFile::CheckTarget(path); });
}

void RemoveUnfinishedFiles() noexcept { core::RemoveOnExit::RemoveAll(); }

}  // namespace epiphyte
