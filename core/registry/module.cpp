#include "core/registry/module.h"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace epiphyte::core {

std::filesystem::path ModuleOf(const void* address) {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return {};
  // The link map has no name for the program itself, and argv[0] need not be a path.
  const bool is_program = map == nullptr || map->l_name == nullptr || map->l_name[0] == '\0';
  std::error_code error;
  std::filesystem::path module = std::filesystem::canonical(is_program ? "/proc/self/exe" : map->l_name, error);
  return error ? std::filesystem::path() : module;
}

}  // namespace epiphyte::core
