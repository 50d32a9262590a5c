// Atomic file writes, as this library does for all of its files. A file is staged beside its target, synced, and
// renamed in one step. The target therefore always holds either the old or the new content. Only regular files are
// replaced; a symbolic link is never followed.
//
//   epiphyte::WriteFile("trace.json", session.ProfileJson());
//
// A program that ends on a signal calls RemoveUnfinishedFiles first, to remove staged files.
#pragma once

#include <filesystem>
#include <string_view>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Writes the file and replaces an existing one. Throws INVALID_ARGUMENT when `path` exists and is not a regular file,
// FAIL with the system's reason when it can't be written.
EPIPHYTE_API void WriteFile(const std::filesystem::path& path, std::string_view content);

// Throws the errors of WriteFile that can be found without writing. Call it before long work that ends in a write.
EPIPHYTE_API void CheckWritable(const std::filesystem::path& path);

// Removes the files and folders that this library has staged but not put in place; afterwards the library writes no
// files. Call it in a program that is about to end without unwinding its stacks. [any thread, no signal handler]
EPIPHYTE_API void RemoveUnfinishedFiles() noexcept;

}  // namespace epiphyte
