// Description of a blob. Its SDK reads it without a device; the values are checked and copied, so that the blob needn't
// be trusted later.
//
//   const BlobInfo info = ReadBlobInfo(sdk, bytes);
//   const int32_t graph = info.Find("main_0");   // -1: there is none
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_type.h"
#include "plugins/npu/client/sdk.h"

namespace epiphyte::npu {

// An input or an output of a compiled graph. It is bound as a dense tensor.
struct Port {
  std::string name;
  EpElementType type = EP_TYPE_UNDEFINED;
  std::vector<int64_t> dims;
  uint64_t bytes = 0;
};

struct BlobGraph {
  std::string name;
  std::vector<Port> inputs, outputs;
  uint64_t scratch_bytes = 0;
};

struct BlobInfo {
  std::string sdk_version, architecture;
  uint32_t blob_version = 0;
  std::vector<BlobGraph> graphs;

  // Index of the graph with this name; -1 if there is none. An empty name stands for the only graph.
  int32_t Find(std::string_view name) const;
};

// Throws INVALID_GRAPH if the SDK says that the bytes are no blob, and for impossible numbers.
BlobInfo ReadBlobInfo(const Sdk& sdk, std::span<const std::byte> blob);

// Converts types to those of nsdk.h and back. A type that the other side lacks becomes NSDK_TYPE_NONE or
// EP_TYPE_UNDEFINED.
uint32_t ToNsdk(EpElementType type);
EpElementType FromNsdk(uint32_t type);

}  // namespace epiphyte::npu
