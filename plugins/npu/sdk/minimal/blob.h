// The blob: a head of eight 64-bit numbers, a description, the weights. All of it is little endian.
//
//   magic, mark of the byte order, version, size, digest of all but itself, size of the description, 0, 0
//   description: SDK version, architecture, graphs; each constant with its offset in the blob
//   weights: each at a multiple of 64, equal ones once
#pragma once

#include <span>

#include "graph.h"

namespace epiphyte::minimal {

inline constexpr uint32_t kBlobVersion = 1;
inline constexpr const char* kSdkVersion = "1.0.0";

struct Blob {
  std::string sdk_version, architecture;
  uint64_t size = 0, weights_size = 0;
  std::vector<Graph> graphs;  // constants point into the bytes
};

std::vector<uint8_t> WriteBlob(const std::string& architecture, std::vector<Graph> graphs);

// Throws NSDK_CORRUPT, or NSDK_INCOMPATIBLE for a whole blob of another version or byte order. The graphs are checked
// like a caller's.
Blob ReadBlob(const uint8_t* bytes, uint64_t size);

uint64_t WeightsSize(const Graph& graph);

}  // namespace epiphyte::minimal
