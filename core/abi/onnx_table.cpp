// The table of ep_onnx.h.
#include <cstring>

#include "core/abi/handles.h"
#include "core/base/text.h"
#include "core/onnx/write/graph_model.h"
#include "epiphyte/ep_onnx.h"

namespace epiphyte::core {
namespace {

constexpr size_t kMaxLocationBytes = 255;

std::string CheckedLocation(const char* text) {
  const std::string_view name(text, strnlen(text, kMaxLocationBytes + 1));
  const bool is_text = FindNonText(name) == name.size() && name.find_first_of("\t\r\n/\\") == std::string_view::npos;
  if (name.empty() || name.size() > kMaxLocationBytes || !is_text || name == "." || name == "..") {
    Fail(StatusCode::kInvalidArgument, "WriteGraph: weights_location is '{}', a file's name of 1 to {} bytes expected",
         PrintableLine(name, 64), kMaxLocationBytes);
  }
  return std::string(name);
}

ByteSink SinkOf(EpOnnxWrite write, void* user, const char* what) {
  return [=](const void* data, uint64_t size) {
    if (size == 0) return;
    EpStatus* status = nullptr;
    try {
      status = write(user, data, size);
    } catch (...) {
      Fail(StatusCode::kEpFail, "WriteGraph: {} let an exception escape; report this to the plugin's vendor", what);
    }
    ThrowIfFailed(status, what);
  };
}

EpStatus* EP_CALL WriteGraph(const EpGraph* graph, const EpOnnxOptions* given) {
  return Guard([&] {
    if (graph == nullptr || given == nullptr) {
      Fail(StatusCode::kInvalidArgument, "WriteGraph: a graph and options are expected, one is null");
    }
    if (!EP_HAS_FIELD(given, EpOnnxOptions, weights_threshold) || given->reserved != 0) {
      Fail(StatusCode::kInvalidArgument,
           "WriteGraph: options have struct_size {} and {} in `reserved`; {} and 0 expected", given->struct_size,
           given->reserved, sizeof(EpOnnxOptions));
    }
    if (given->write_model == nullptr) Fail(StatusCode::kInvalidArgument, "WriteGraph: write_model is null");
    WriteOptions options;
    if (given->weights_location != nullptr) {
      options.external_file_name = CheckedLocation(given->weights_location);
      options.external_threshold = given->weights_threshold;
      options.external_sink = given->write_weights == nullptr
                                  ? [](const void*, uint64_t) {}
                                  : SinkOf(given->write_weights, given->user, "write_weights");
    }
    WriteGraphAsModel(*FromAbi(graph), options, SinkOf(given->write_model, given->user, "write_model"));
  });
}

}  // namespace

const EpOnnxApi kOnnxApi = {sizeof(EpOnnxApi), 0, WriteGraph};

}  // namespace epiphyte::core
