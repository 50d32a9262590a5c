#include "epiphyte/manifest_tools.hpp"

#include "core/registry/manifest_digest.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

std::vector<ManifestDigest> Wrap(std::vector<core::ManifestDigest> digests) {
  std::vector<ManifestDigest> wrapped;
  for (core::ManifestDigest& digest : digests) {
    wrapped.push_back(
        {std::move(digest.platform), std::move(digest.library), std::move(digest.recorded), std::move(digest.actual)});
  }
  return wrapped;
}

}  // namespace

std::vector<ManifestDigest> ReadManifestDigests(const std::filesystem::path& manifest) {
  return WithPublicErrors([&] { return Wrap(core::ReadManifestDigests(manifest)); });
}

std::vector<ManifestDigest> WriteManifestDigests(const std::filesystem::path& manifest) {
  return WithPublicErrors([&] { return Wrap(core::WriteManifestDigests(manifest)); });
}

}  // namespace epiphyte
