#include "plugins/npu/client/blob_info.h"

#include <cstring>
#include <utility>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/npu/client/text.h"

namespace epiphyte::npu {
namespace {

constexpr size_t kLongestName = 1023;  // name of a graph, as in nsdk.h
constexpr size_t kLongestText = 200;
constexpr uint32_t kMostGraphs = 1u << 16;
constexpr uint32_t kMostPorts = 1u << 16;
constexpr uint32_t kMostRank = 8;
constexpr uint32_t kLargestStruct = 4096;  // upper bound for any minor version

constexpr std::pair<EpElementType, uint32_t> kTypes[] = {
    {EP_TYPE_INT8, NSDK_INT8},     {EP_TYPE_UINT8, NSDK_UINT8}, {EP_TYPE_INT16, NSDK_INT16},
    {EP_TYPE_UINT16, NSDK_UINT16}, {EP_TYPE_INT32, NSDK_INT32}, {EP_TYPE_FLOAT, NSDK_FLOAT32},
};

class Reader {
 public:
  explicit Reader(const Sdk& sdk) : sdk_(sdk) {}

  BlobInfo Read(const NsdkBlobInfo& from) const {
    BlobInfo info;
    info.sdk_version = OneLine(from.sdk_version, kLongestText);
    info.architecture = OneLine(from.architecture, kLongestText);
    info.blob_version = from.blob_version;
    CheckList(from.graphs, from.graph_count, kMostGraphs, "graphs");
    for (uint32_t i = 0; i < from.graph_count; ++i) info.graphs.push_back(Read(At(from.graphs, i)));
    return info;
  }

 private:
  // Element i of an array. The struct_size of the first element is the stride. [N114]
  template <typename T>
  T At(const T* list, uint32_t i) const {
    const uint32_t stride = list->struct_size;
    if (stride < sizeof(T) || stride > kLargestStruct || stride % alignof(T) != 0)
      sdk_.Fail(kit::TextOf("describes a blob with structs of ", stride, " bytes; ", sizeof(T), " or more expected"));
    T element;
    std::memcpy(&element, reinterpret_cast<const std::byte*>(list) + size_t{i} * stride, sizeof(T));
    return element;
  }

  template <typename T>
  void CheckList(const T* list, uint32_t count, uint32_t most, const char* what) const {
    if (count > most || (count != 0 && list == nullptr))
      kit::FailWith(EP_STATUS_INVALID_GRAPH, "the NPU's SDK '", sdk_.path(), "' finds ", count, " ", what,
                    " in the blob, at most ", most, " expected; compile the model again");
  }

  BlobGraph Read(const NsdkBlobGraph& from) const {
    BlobGraph graph;
    graph.name = OneLine(from.name, kLongestName + 1);
    graph.scratch_bytes = from.scratch_size;
    graph.inputs = ReadPorts(from.inputs, from.input_count);
    graph.outputs = ReadPorts(from.outputs, from.output_count);
    return graph;
  }

  std::vector<Port> ReadPorts(const NsdkIo* from, uint32_t count) const {
    CheckList(from, count, kMostPorts, "inputs or outputs");
    std::vector<Port> ports;
    for (uint32_t i = 0; i < count; ++i) {
      const NsdkIo io = At(from, i);
      CheckList(io.dims, io.rank, kMostRank, "dimensions");
      Port port;
      port.name = OneLine(io.name, kLongestName + 1);
      port.type = FromNsdk(io.type);
      port.dims.assign(io.dims, io.dims + io.rank);
      uint64_t count_of_elements = 0;
      bool counts = kit::CountElements(port.dims, &count_of_elements);
      for (const int64_t dim : port.dims) counts = counts && dim >= 1;
      port.bytes = counts ? kit::ElementBytes(port.type, count_of_elements) : 0;
      if (port.bytes == 0 || port.bytes != io.size)
        kit::FailWith(EP_STATUS_INVALID_GRAPH, "the NPU's SDK '", sdk_.path(), "' has '", port.name,
                      "' of the blob as ", kit::TypeName(port.type), kit::ShapeText(port.dims), " of ", io.size,
                      " bytes, which can't be; compile the model again");
      ports.push_back(std::move(port));
    }
    return ports;
  }

  const Sdk& sdk_;
};

}  // namespace

uint32_t ToNsdk(EpElementType type) {
  for (const auto& [here, there] : kTypes)
    if (here == type) return there;
  return NSDK_TYPE_NONE;
}

EpElementType FromNsdk(uint32_t type) {
  for (const auto& [here, there] : kTypes)
    if (there == type) return here;
  return EP_TYPE_UNDEFINED;
}

int32_t BlobInfo::Find(std::string_view name) const {
  if (name.empty() && graphs.size() == 1) return 0;
  for (size_t i = 0; i < graphs.size(); ++i)
    if (graphs[i].name == name) return static_cast<int32_t>(i);
  return -1;
}

BlobInfo ReadBlobInfo(const Sdk& sdk, std::span<const std::byte> blob) {
  const NsdkBlobInfo* found = nullptr;
  sdk.Call("blob_info", [&](const NsdkApi& api, NsdkReason* reason) {
    return api.blob_info(blob.data(), blob.size(), &found, reason);
  });
  if (found == nullptr) sdk.Fail("gave no blob_info and called that NSDK_OK");
  struct Held {
    const Sdk& sdk;
    const NsdkBlobInfo* info;
    ~Held() {
      sdk.Release([this](const NsdkApi& api) { api.blob_info_release(info); });
    }
  } const held{sdk, found};
  return Reader(sdk).Read(*found);
}

}  // namespace epiphyte::npu
