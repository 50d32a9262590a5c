#include "core/registry/platform.h"

#include <array>
#include <cctype>
#include <string>

namespace epiphyte::core {
namespace {

struct Alias {
  std::string_view name;
  std::string_view means;
};
// A name that is the beginning of another comes after it.
constexpr std::array<Alias, 10> kSystems = {{{"linux", "linux"},
                                             {"gnulinux", "linux"},
                                             {"windows", "windows"},
                                             {"win64", "windows"},
                                             {"win32", "windows"},
                                             {"win", "windows"},
                                             {"macosx", "macos"},
                                             {"macos", "macos"},
                                             {"darwin", "macos"},
                                             {"osx", "macos"}}};
constexpr std::array<Alias, 13> kProcessors = {{{"x8664", "x86_64"},
                                                {"x64", "x86_64"},
                                                {"amd64", "x86_64"},
                                                {"em64t", "x86_64"},
                                                {"aarch64", "aarch64"},
                                                {"arm64", "aarch64"},
                                                {"armv8", "aarch64"},
                                                {"riscv64", "riscv64"},
                                                {"rv64gc", "riscv64"},
                                                {"rv64", "riscv64"},
                                                {"x86", "x86"},
                                                {"i386", "x86"},
                                                {"i686", "x86"}}};

// The text in lower case, without separators.
std::string Letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

}  // namespace

std::string_view CurrentPlatform() {
#if defined(_WIN32)
#define EPIPHYTE_OS "windows"
#elif defined(__APPLE__)
#define EPIPHYTE_OS "macos"
#else
#define EPIPHYTE_OS "linux"
#endif
#if defined(__x86_64__) || defined(_M_X64)
#define EPIPHYTE_ARCHITECTURE "x86_64"
#elif defined(__aarch64__) || defined(_M_ARM64)
#define EPIPHYTE_ARCHITECTURE "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define EPIPHYTE_ARCHITECTURE "riscv64"
#elif defined(__i386__)
#define EPIPHYTE_ARCHITECTURE "x86"
#else
#error "name this architecture as manifests shall spell it"
#endif
  return EPIPHYTE_OS "-" EPIPHYTE_ARCHITECTURE;
}

bool MeansPlatform(std::string_view spelled, std::string_view platform) {
  const std::string letters = Letters(spelled);
  for (const Alias& system : kSystems) {
    if (!letters.starts_with(system.name)) continue;
    const std::string_view rest = std::string_view(letters).substr(system.name.size());
    for (const Alias& processor : kProcessors) {
      if (rest == processor.name) return std::string(system.means) + "-" + std::string(processor.means) == platform;
    }
  }
  return false;
}

}  // namespace epiphyte::core
