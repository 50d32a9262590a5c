#include "plugins/npu/simulator/sdk/blob_description.h"

#include <memory>
#include <utility>

namespace epiphyte::npusim {
namespace {

struct Description {
  NsdkBlobInfo info{};  // must be first: the caller holds its address
  Blob blob;
  std::vector<NsdkBlobGraph> graphs;
  std::vector<std::vector<NsdkIo>> ios;
};

const std::vector<NsdkIo>& Describe(const std::vector<BlobIo>& ios, Description& to) {
  std::vector<NsdkIo>& list = to.ios.emplace_back();
  for (const BlobIo& io : ios) {
    list.push_back({.struct_size = sizeof(NsdkIo),
                    .type = io.type,
                    .name = io.name.c_str(),
                    .dims = io.dims.data(),
                    .rank = static_cast<uint32_t>(io.dims.size()),
                    .scale = io.scale,
                    .zero_point = io.zero_point,
                    .reserved = 0,
                    .size = io.size});
  }
  return list;
}

}  // namespace

const NsdkBlobInfo* DescribeBlob(Blob blob) {
  auto description = std::make_unique<Description>();
  Description& d = *description;
  d.blob = std::move(blob);
  for (const BlobGraph& graph : d.blob.graphs) {
    // The vectors of ios may move; their elements don't.
    const NsdkIo* inputs = Describe(graph.inputs, d).data();
    const NsdkIo* outputs = Describe(graph.outputs, d).data();
    d.graphs.push_back({.struct_size = sizeof(NsdkBlobGraph),
                        .input_count = static_cast<uint32_t>(graph.inputs.size()),
                        .name = graph.name.c_str(),
                        .inputs = inputs,
                        .outputs = outputs,
                        .output_count = static_cast<uint32_t>(graph.outputs.size()),
                        .reserved = 0,
                        .scratch_size = graph.scratch_size,
                        .weights_size = graph.weights_size});
  }
  d.info = {.struct_size = sizeof(NsdkBlobInfo),
            .blob_version = d.blob.version,
            .sdk_version = d.blob.sdk_version.c_str(),
            .architecture = d.blob.architecture.c_str(),
            .size = d.blob.size,
            .weights_size = d.blob.weights.size(),
            .graphs = d.graphs.data(),
            .graph_count = static_cast<uint32_t>(d.graphs.size()),
            .reserved = 0};
  return &description.release()->info;
}

void ReleaseBlobInfo(const NsdkBlobInfo* info) {
  static_assert(std::is_standard_layout_v<NsdkBlobInfo>);
  delete reinterpret_cast<const Description*>(info);
}

}  // namespace epiphyte::npusim
