#include "host/conformance/plugin_manifest.h"

#include <stdlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "host/conformance/debug_host/debug_host.h"
#include "host/conformance/rules/journal.h"

namespace epiphyte::conformance {
namespace {

namespace fs = std::filesystem;

// A library without a manifest gets one that is made from its descriptor.
fs::path ManifestOf(const Target& target, const fs::path& folder) {
  if (!target.manifest.empty()) return target.manifest;
  Journal unused;
  DebugHost host(unused);
  PluginLibrary library(host, target);
  const EpPluginDescriptor* descriptor = library.Query(host.info());
  library.CheckDescriptor(*descriptor);
  const auto quoted = [](std::string_view text) {
    std::string all = "\"";
    for (const char c : text) all += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return all + "\"";
  };
  std::string sources;
  for (uint32_t i = 0; i < descriptor->source_count; ++i)
    sources += (i == 0 ? "" : ", ") + quoted(descriptor->sources[i]);
  const fs::path manifest = folder / "conformance.yaml";
  std::ofstream(manifest) << "manifest_version: 1\nname: " << quoted(descriptor->name)
                          << "\nvendor: " << quoted(descriptor->vendor) << "\nversion: " << quoted(descriptor->version)
                          << "\nlicense: unknown\ndescription: under test\nlibrary: " << quoted(target.library.string())
                          << "\nabi: \"" << EP_ABI_MAJOR << "." << EP_ABI_MINOR << "\"\nsources: [" << sources
                          << "]\ndevices: [other]\n";
  return manifest;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "ep_conformance.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    core::Fail(core::StatusCode::kFail, "no folder can be made in '{}'", fs::temp_directory_path().string());
  path_ = name;
}
ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

core::CatalogOptions CatalogOf(const Target& target, const fs::path& folder) {
  core::CatalogOptions options;
  options.paths = {ManifestOf(target, folder)};
  options.use_environment = false;
  options.use_user_folder = false;
  options.use_system_folders = false;
  return options;
}

}  // namespace epiphyte::conformance
