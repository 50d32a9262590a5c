// Safe paths: the one rule by which names inside models (external data, EP contexts) become files.
//
// A name is a relative path below the folder of the model. These names are refused with INVALID_GRAPH: empty, longer
// than 4095 bytes, with a zero byte, absolute (also `\x`, `C:x` and `//server`), with a `..` component, or with a
// backslash on systems where it is no separator. A name is also refused if its target, after symbolic links, lies
// outside the folder (the folder itself may be a link) or is no regular file. One layout that looks like an escape is
// allowed: model and file are both links into one common folder, as in content-addressed model caches.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace epiphyte::core {

// `what` names the file in messages: "external data of 'w'", "EP context of node 'n'". Returns the path to open. Throws
// INVALID_GRAPH, also for a file that does not exist.
std::filesystem::path ResolveInside(const std::filesystem::path& folder, std::string_view name, std::string_view what);
// Like ResolveInside, given the model file itself (for the rule about links).
std::filesystem::path ResolveBeside(const std::filesystem::path& model, std::string_view name, std::string_view what);
// Checks the spelling only: for names that the application resolves instead of the file system.
void CheckFileName(std::string_view name, std::string_view what);

}  // namespace epiphyte::core
