#include "plugins/npu/client/library.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include <string>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/npu/client/text.h"

namespace epiphyte::npu {
namespace {

constexpr size_t kLongestMessage = 400;

#if defined(_WIN32)
std::string LastMessage() { return kit::TextOf("Windows error ", static_cast<int64_t>(GetLastError())); }
#else
std::string LastMessage() { return OneLine(dlerror(), kLongestMessage); }
#endif

}  // namespace

void* FindSymbol(const std::filesystem::path& path, const char* symbol) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    kit::FailWith(EP_STATUS_NOT_FOUND, "the NPU's SDK '", path.string(),
                  "' isn't there; name the vendor's library by its absolute path, or put it beside the plugin");
#if defined(_WIN32)
  HMODULE library = LoadLibraryExW(path.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
#else
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
#endif
  if (library == nullptr)
    kit::FailWith(EP_STATUS_NOT_FOUND, "the NPU's SDK '", path.string(), "' can't be loaded: ", LastMessage());
#if defined(_WIN32)
  void* const found = reinterpret_cast<void*>(GetProcAddress(library, symbol));
#else
  void* const found = dlsym(library, symbol);
#endif
  if (found == nullptr)
    kit::FailWith(EP_STATUS_NOT_FOUND, "'", path.string(), "' is no SDK of an NPU: it has no ", symbol, " (nsdk.h)");
  return found;
}

std::filesystem::path LibraryFileName(const char* name) {
#if defined(_WIN32)
  return std::string(name) + ".dll";
#elif defined(__APPLE__)
  return "lib" + std::string(name) + ".dylib";
#else
  return "lib" + std::string(name) + ".so";
#endif
}

}  // namespace epiphyte::npu
