// Digests in manifests: what a manifest says of its libraries, beside what they are, and writing it anew.
//
// Packaging changes libraries after they were built: strip, patchelf, signatures. A digest that was taken before that
// is then wrong (DigestMismatch), and has to be taken again of what is installed.
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
  std::string platform;           // "": the library is for all
  std::filesystem::path library;  // absolute
  std::string recorded;           // in the manifest, lower-case; "": none
  std::string actual;             // "": the library is not here
};

// One for each library of the manifest. Throws INVALID_ARGUMENT and NO_SUCHFILE for a manifest that is none, and what
// hashing a library throws.
std::vector<ManifestDigest> ReadManifestDigests(const std::filesystem::path& manifest);
// Records the digest of each library that is here, and leaves all else in the file as it is, comments too. The file is
// replaced in one step. Returns the digests as they were before. Throws what ReadManifestDigests throws, NO_SUCHFILE
// when no library is here, FAIL when the file can't be written, and INVALID_ARGUMENT when its form allows no change.
std::vector<ManifestDigest> WriteManifestDigests(const std::filesystem::path& manifest);

// Why a library may have another digest than the one that was taken of it, and what to do.
std::string WhyDigestsDiffer(const std::filesystem::path& library, const std::filesystem::path& manifest);

}  // namespace epiphyte::core
