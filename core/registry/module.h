// Finds the file that a piece of code in this process came from.
#pragma once

#include <filesystem>

namespace epiphyte::core {

// Canonical path of the program or library that holds the address; empty when it is unknown.
std::filesystem::path ModuleOf(const void* address);

}  // namespace epiphyte::core
