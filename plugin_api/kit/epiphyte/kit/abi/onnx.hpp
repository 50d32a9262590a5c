// A partition as an ONNX model, for SDKs that read ONNX. See epiphyte/ep_onnx.h.
//
//   const kit::OnnxModel model = kit::ToOnnx(host, partition.graph);
//   sdk.Load(model.bytes.data(), model.bytes.size());
//
//   // Weights from 1 KiB on in a file of their own:
//   const kit::OnnxModel model = kit::ToOnnx(host, partition.graph, "weights.bin", 1024);
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "epiphyte/ep_onnx.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/graph_view.hpp"

namespace epiphyte::kit {

struct OnnxModel {
  std::string bytes;
  std::string weights;  // the external data; empty when the weights are inside
};

// `weights_location` null: the weights are inside the model.
inline OnnxModel ToOnnx(const EpHostInfo& host, const GraphView& graph, const char* weights_location = nullptr,
                        uint64_t weights_threshold = 0) {
  const auto* api = static_cast<const EpOnnxApi*>(host.GetExtension(&host, EP_ONNX_EXTENSION));
  if (api == nullptr) throw Error(EP_STATUS_NOT_IMPLEMENTED, "this host doesn't write graphs as ONNX");
  struct Target {
    const EpHostInfo& host;
    OnnxModel model;
  } target{host, {}};
  EpOnnxOptions options = {};
  options.struct_size = sizeof(options);
  options.user = &target;
  options.write_model = [](void* user, const void* data, uint64_t size) {
    auto& to = *static_cast<Target*>(user);
    return Guard(to.host, [&] { to.model.bytes.append(static_cast<const char*>(data), static_cast<size_t>(size)); });
  };
  options.write_weights = [](void* user, const void* data, uint64_t size) {
    auto& to = *static_cast<Target*>(user);
    return Guard(to.host, [&] { to.model.weights.append(static_cast<const char*>(data), static_cast<size_t>(size)); });
  };
  options.weights_location = weights_location;
  options.weights_threshold = weights_threshold;
  ThrowIfFailed(host, api->WriteGraph(graph.handle(), &options));
  return std::move(target.model);
}

}  // namespace epiphyte::kit
