// Safe paths: the one rule by which names inside models (external data, EP contexts) become files.
//
// A name is a relative path below the folder of the model. Refused with INVALID_GRAPH: empty, longer than 4095 bytes,
// with a zero byte, absolute (also `\x`, `C:x` and `//server`), with a `..` component, with a backslash on systems
// where it is no separator, or whose target, after symbolic links, lies outside the folder (the folder itself may be a
// link) or is no regular file. One layout is allowed that looks like an escape: model and file are both links into one common folder, as
// content-addressed model caches make them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace epiphyte::core {

// `what` names the thing in messages: "external data of 'w'", "EP context of node 'n'".
// Returns the path to open. Throws INVALID_GRAPH; a file that does not exist gives INVALID_GRAPH too.
std::filesystem::path ResolveInside(const std::filesystem::path& folder, std::string_view name, std::string_view what);
// As above, with the model file itself known (for the rule about links).
std::filesystem::path ResolveBeside(const std::filesystem::path& model, std::string_view name, std::string_view what);
// The rules that concern the spelling alone: for names that an application, not the file system, resolves.
void CheckFileName(std::string_view name, std::string_view what);

}  // namespace epiphyte::core
