// Tools for manifests of plugins: for vendors, and for the packages that they are shipped in.
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

// What a manifest says of the bytes of one of its libraries, and what they are.
struct ManifestDigest {
  std::string platform;           // "linux-x86_64"; "": the manifest has one library for all
  std::filesystem::path library;  // absolute
  std::string recorded;           // SHA-256 in the manifest; "": none, so that it isn't checked
  std::string actual;             // of the file; "": there is none, as for other platforms

  bool matches() const { return recorded.empty() || actual.empty() || recorded == actual; }
};

// Each library of the manifest. Throws INVALID_ARGUMENT for what is no manifest, NO_SUCHFILE, and FAIL for a library
// that can't be read.
EPIPHYTE_API std::vector<ManifestDigest> ReadManifestDigests(const std::filesystem::path& manifest);

// Records the digest of each library that is there; everything else in the file stays as it is. Returns what
// ReadManifestDigests would have returned before. Throws what that throws, NO_SUCHFILE when no library is there, and
// FAIL when the manifest can't be written.
EPIPHYTE_API std::vector<ManifestDigest> WriteManifestDigests(const std::filesystem::path& manifest);

}  // namespace epiphyte
