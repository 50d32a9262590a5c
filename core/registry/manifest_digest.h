// Digests in manifests: compares a manifest's digests with its libraries, and writes them anew.
//
// Packaging changes libraries after they were built: strip, patchelf, signatures. A digest taken before that is wrong
// (DigestMismatch), and must be taken again from the installed file.
//
//   for (const ManifestDigest& digest : ReadManifestDigests("vendor.yaml")) …
//   WriteManifestDigests("vendor.yaml");
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace epiphyte::core {

struct ManifestDigest {
  std::string platform;           // "" when the library is for all platforms
  std::filesystem::path library;  // absolute path
  std::string recorded;           // digest in the manifest, lower-case; "" when there is none
  std::string actual;             // digest of the file; "" when the library is not installed
};

// Returns one entry for each library of the manifest. Throws INVALID_ARGUMENT and NO_SUCHFILE for an unusable manifest,
// and the errors of hashing a library.
std::vector<ManifestDigest> ReadManifestDigests(const std::filesystem::path& manifest);
// Records the digest of each installed library, and leaves the rest of the file as it is, comments too. The file is
// replaced in one step. Returns the digests as they were before. Throws the errors of ReadManifestDigests, NO_SUCHFILE
// when no library is installed, FAIL when the file can't be written, and INVALID_ARGUMENT when its form allows no
// change.
std::vector<ManifestDigest> WriteManifestDigests(const std::filesystem::path& manifest);

// Advice for a digest mismatch: why the library may differ from its digest, and what to do.
std::string WhyDigestsDiffer(const std::filesystem::path& library, const std::filesystem::path& manifest);

}  // namespace epiphyte::core
