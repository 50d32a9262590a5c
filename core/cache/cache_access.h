// Cache access: why the system refuses access in a cache that another user filled, and what to do.
#pragma once

#include <filesystem>
#include <string>

namespace epiphyte::core {

// Message for the system's error `number` about `path`: "Permission denied: '/var/cache/models' belongs to user 0 (mode
// 0700) and this process is user 1000's; …". For errors that have nothing to do with rights: the system's own text.
std::string AccessReason(const std::filesystem::path& path, int number);

}  // namespace epiphyte::core
