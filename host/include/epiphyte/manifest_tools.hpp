// Tools for plugin manifests: for vendors and for packagers.
//
//   for (const epiphyte::ManifestDigest& digest : epiphyte::ReadManifestDigests("acme.yaml")) {
//     if (!digest.matches()) std::cout << digest.library << " is not the library of this manifest\n";
//   }
//   epiphyte::WriteManifestDigests("acme.yaml");  // after strip, patchelf, or a signature changed the library
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "epiphyte/export.hpp"

namespace epiphyte {

// Recorded and actual digest of one library of a manifest.
struct ManifestDigest {
  std::string platform;           // "linux-x86_64"; "": the manifest has one library for all
  std::filesystem::path library;  // absolute
  std::string recorded;           // SHA-256 in the manifest; "": no digest, the library isn't checked
  std::string actual;             // SHA-256 of the file; "": no such file, e.g. for another platform

  bool matches() const { return recorded.empty() || actual.empty() || recorded == actual; }
};

// Returns the digests of each library of the manifest. Throws INVALID_ARGUMENT for a file that is not a manifest,
// NO_SUCHFILE, and FAIL for a library that can't be read.
EPIPHYTE_API std::vector<ManifestDigest> ReadManifestDigests(const std::filesystem::path& manifest);

// Records the digest of each existing library; the rest of the file stays unchanged. Returns the digests from before
// the change, as ReadManifestDigests does. Throws the errors of ReadManifestDigests, NO_SUCHFILE when no library
// exists, and FAIL when the manifest can't be written.
EPIPHYTE_API std::vector<ManifestDigest> WriteManifestDigests(const std::filesystem::path& manifest);

}  // namespace epiphyte
