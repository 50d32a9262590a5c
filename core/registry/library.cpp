#include "core/registry/library.h"

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/log.h"
#include "core/base/process_end.h"
#include "core/base/text.h"
#include "core/onnx/read/file_kind.h"
#include "core/registry/elf.h"
#include "core/registry/module.h"
#include "core/registry/platform.h"
#include "core/registry/refusal.h"

namespace epiphyte::core {
namespace {

// Checks the file before it is loaded: the dynamic loader crashes on some damaged files and explains little about
// others.
ElfFile CheckFile(const std::filesystem::path& library) {
  ElfFile elf;
  try {
    elf = ReadElf(library);
  } catch (const Error& error) {
    throw Refusal(PluginState::kLibraryMissing, error.message(), "install the library or correct its path");
  }
  const std::string path = library.string();
  if (!elf.is_elf) {
    const std::string_view kind = GuessFileKind(elf.first_bytes);
    throw Refusal(PluginState::kInitFailed,
                  kind.empty() ? fmt::format("'{}' is not a shared library", path)
                               : fmt::format("'{}' is not a shared library but looks like {}", path, kind),
                  "install the library again or correct its path");
  }
  if (!elf.is_native) {
    throw Refusal(PluginState::kWrongPlatform,
                  fmt::format("'{}' is for {}; {} expected", path, elf.architecture, CurrentPlatform()),
                  "install the plugin for this platform");
  }
  if (!elf.is_shared_object) {
    throw Refusal(PluginState::kInitFailed, fmt::format("'{}' is not a shared library but another ELF file", path),
                  "correct the path of the library");
  }
  if (!elf.is_whole) {
    throw Refusal(PluginState::kInitFailed, fmt::format("'{}' is not a shared library that is whole", path),
                  "the file is truncated or damaged: install the library again");
  }
  return elf;
}

// Text of dlerror(), without Boost's text around it.
std::string LoaderMessage(const std::system_error& error) {
  constexpr std::string_view kBegin = "dlerror system message: ";
  std::string_view text = error.what();
  if (const size_t begin = text.find(kBegin); begin != std::string_view::npos) {
    text.remove_prefix(begin + kBegin.size());
    text = text.substr(0, text.rfind(')'));
  }
  return PrintableLine(text);
}

// The loader's message starts with the file it is about, in every language. A bare name there is a library that was
// searched and not found; another path is a library that was found and does not fit.
Refusal ExplainLoadFailure(const std::filesystem::path& library, const ElfFile& elf, const std::string& message,
                           const std::vector<std::string>& depends) {
  const std::string culprit = message.substr(0, message.find(": "));
  std::string hint = "install what it depends on";
  if (!depends.empty()) hint += fmt::format("; its manifest names {}", fmt::join(depends, ", "));
  if (culprit.find('/') == std::string::npos && culprit.find(' ') == std::string::npos && culprit != message) {
    // When there is no such file, the loader adds the system's message in the user's language. When there is a file
    // that it has no memory for, it adds nothing.
    if (message.find(std::generic_category().message(ENOENT)) == std::string::npos) {
      return Refusal(
          PluginState::kInitFailed,
          fmt::format("'{}' can't be loaded, because of a library that it needs: {}", library.string(), message),
          "memory or open files may be short: close other programs or raise the limits (ulimit -v, -n)");
    }
    const bool direct = std::find(elf.needed.begin(), elf.needed.end(), culprit) != elf.needed.end();
    return Refusal(PluginState::kMissingDependency,
                   fmt::format("'{}' needs {}{}, which can't be found", library.string(), culprit,
                               direct ? "" : " (through a library it depends on)"),
                   hint);
  }
  if (culprit.starts_with('/') && culprit != library.string()) {
    return Refusal(PluginState::kMissingDependency,
                   fmt::format("a library that '{}' needs does not fit: {}", library.string(), message), hint);
  }
  return Refusal(
      PluginState::kInitFailed, fmt::format("'{}' can't be loaded: {}", library.string(), message),
      "see whether memory is short (ulimit -v); if a symbol is undefined, link the plugin with -Wl,-z,defs to "
      "find that when it is built");
}

// Holds on to the library for the life of the process, even if it turns out to be unusable: its static constructors
// have run. The list is leaked, because its content must never be destroyed.
boost::dll::shared_library& KeepMapped(std::unique_ptr<boost::dll::shared_library> library) {
  static auto* const mutex = new std::mutex;
  static auto* const libraries = new std::vector<std::unique_ptr<boost::dll::shared_library>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  return *libraries->emplace_back(std::move(library));
}

}  // namespace

EpPluginQueryFunction OpenPluginLibrary(const std::filesystem::path& library, const std::vector<std::string>& depends) {
  namespace dll = boost::dll;
  const ElfFile elf = CheckFile(library);
  Log(LogLevel::kDebug, "registry", "opening '{}'", library.string());
  auto opened = std::make_unique<dll::shared_library>();
  try {
    opened->load(library, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  } catch (const std::system_error& error) {
    throw ExplainLoadFailure(library, elf, LoaderMessage(error), depends);
  } catch (...) {
    throw Refusal(PluginState::kInitFailed,
                  fmt::format("'{}' let a C++ exception escape while it was loaded", library.string()),
                  "report this to the plugin's vendor");
  }
  ProcessEnd::Notice();  // must be noticed before the library's objects are destroyed
  dll::shared_library& plugin = KeepMapped(std::move(opened));
  if (!plugin.has(EP_PLUGIN_QUERY_SYMBOL)) {
    throw Refusal(PluginState::kSymbolMissing,
                  fmt::format("'{}' does not export {}", library.string(), EP_PLUGIN_QUERY_SYMBOL),
                  "it is no Epiphyte plugin, or its version script hides the symbol");
  }
  using Query = const EpPluginDescriptor*(const EpHostInfo*, const EpPluginEnvironment*);
  const auto query = &plugin.get<Query>(EP_PLUGIN_QUERY_SYMBOL);
  // The loader also searches a library's dependencies for symbols, and it reuses a mapped library of the same identity.
  const std::filesystem::path module = ModuleOf(reinterpret_cast<const void*>(query));
  if (module != library) {
    throw Refusal(PluginState::kSymbolMissing,
                  fmt::format("'{}' does not export {} itself; '{}' does", library.string(), EP_PLUGIN_QUERY_SYMBOL,
                              module.string()),
                  "name that library in the manifest");
  }
  return query;
}

}  // namespace epiphyte::core
