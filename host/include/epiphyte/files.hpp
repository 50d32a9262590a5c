// Files as this library writes all of its own: staged beside their target, synced, and put in place in one step, so
// that a target is what it was or what was to be written, whatever happens. Only regular files are replaced; a symbolic
// link is never followed.
//
//   epiphyte::WriteFile("trace.json", session.ProfileJson());
//
// A program that ends on a signal calls RemoveUnfinishedFiles before: what is staged at that moment goes away.
#pragma once

#include <filesystem>
#include <string_view>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Replaces what is there. Throws INVALID_ARGUMENT when `path` leads to something that is no file, FAIL with the
// system's reason when it can't be written.
EPIPHYTE_API void WriteFile(const std::filesystem::path& path, std::string_view content);

// Throws what WriteFile would, as far as can be known without writing: for work that takes long before it writes.
EPIPHYTE_API void CheckWritable(const std::filesystem::path& path);

// For a program that is about to end without unwinding its stacks: removes the files and folders that this library is
// writing and has not put in place, and from then on it writes none. [any thread, no signal handler]
EPIPHYTE_API void RemoveUnfinishedFiles() noexcept;

}  // namespace epiphyte
