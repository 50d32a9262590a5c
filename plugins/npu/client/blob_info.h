// What stands in a blob, read by its SDK without a device and copied, so that nothing of it is believed later.
//
//   const BlobInfo info = ReadBlobInfo(sdk, bytes);
//   const BlobGraph* graph = info.Find("main_0");
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

// An input or an output of a compiled graph, as it is bound: a dense tensor.
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

  // Its number among the graphs; -1: there is none of that name. No name stands for the only graph.
  int32_t Find(std::string_view name) const;
};

// Throws INVALID_GRAPH for what the SDK says is none, and for numbers that can't be.
BlobInfo ReadBlobInfo(const Sdk& sdk, std::span<const std::byte> blob);

// A type of nsdk.h, and back; NSDK_TYPE_NONE and EP_TYPE_UNDEFINED for what the other doesn't have.
uint32_t ToNsdk(EpElementType type);
EpElementType FromNsdk(uint32_t type);

}  // namespace epiphyte::npu
