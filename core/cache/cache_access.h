// Cache access: why the system refuses something in a cache that another user filled, and what to do.
#pragma once

#include <filesystem>
#include <string>

namespace epiphyte::core {

// "Permission denied: '/var/cache/models' belongs to user 0 (mode 0700) and this process is user 1000's; …" for the
// system's error `number` about `path`. For errors that have nothing to do with rights: what the system says.
std::string AccessReason(const std::filesystem::path& path, int number);

}  // namespace epiphyte::core
