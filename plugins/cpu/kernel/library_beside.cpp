#include "plugins/cpu/kernel/library_beside.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

void* OpenBesidePlugin(std::string_view name, const char* function, std::string_view purpose) {
  Dl_info self{};
  std::error_code error;
  std::filesystem::path path;
  if (dladdr(reinterpret_cast<const void*>(&OpenBesidePlugin), &self) != 0 && self.dli_fname != nullptr)
    path = std::filesystem::canonical(self.dli_fname, error).replace_filename(name);
  if (!path.is_absolute())
    NotImplemented("{} takes {} beside the plugin, whose place can't be found out", purpose, name);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, function);
  if (symbol == nullptr) {
    const char* reason = dlerror();
    NotImplemented("{} takes {} beside the plugin, which can't be opened: {}", purpose, name,
                   reason == nullptr ? "no reason is given" : reason);
  }
  return symbol;
}

}  // namespace epiphyte::cpu
