// Graphs as ONNX. The debug host checks the plugin's requests against the rules, and the core writes the model. The
// bytes are lent: they are read-only, and unmapped when the write function has returned.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/base/error.h"
#include "core/graph/graph.h"
#include "core/onnx/write/graph_model.h"
#include "host/conformance/debug_host/debug_graph.h"
#include "host/conformance/debug_host/debug_host.h"
#include "host/conformance/debug_host/debug_onnx.h"
#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {
namespace {

constexpr size_t kMaxLocationBytes = 255;
std::atomic<bool> was_asked{false};

core::TypePtr TypeOf(const ValueSpec& value) {
  core::Shape shape;
  for (const int64_t dim : value.dims) shape.push_back(dim < 0 ? core::Dim() : core::Dim(dim));
  return core::Type::Tensor(static_cast<core::DataType>(value.type), std::move(shape));
}

core::Attribute AttributeOf(const AttributeSpec& attribute) {
  switch (attribute.type) {
    case EP_ATTRIBUTE_INT: return core::Attribute::Int(attribute.name, attribute.ints.at(0));
    case EP_ATTRIBUTE_INTS: return core::Attribute::Ints(attribute.name, attribute.ints);
    case EP_ATTRIBUTE_FLOAT: return core::Attribute::Float(attribute.name, attribute.floats.at(0));
    case EP_ATTRIBUTE_FLOATS: return core::Attribute::Floats(attribute.name, attribute.floats);
    case EP_ATTRIBUTE_STRING: return core::Attribute::String(attribute.name, attribute.strings.at(0));
    default: return core::Attribute::Strings(attribute.name, attribute.strings);
  }
}

std::unique_ptr<core::Graph> Build(const GraphSpec& spec) {
  auto graph = std::make_unique<core::Graph>(spec.name);
  graph->SetOpset("", spec.opset);
  std::vector<core::ValueDef*> values;
  for (size_t i = 0; i < spec.values.size(); ++i) {
    const ValueSpec& value = spec.values[i];
    const bool is_input = std::count(spec.inputs.begin(), spec.inputs.end(), static_cast<int>(i)) != 0;
    if (value.is_constant) {
      values.push_back(
          graph->AddConstant(value.name, core::Constant::Copy(static_cast<core::DataType>(value.type), value.dims,
                                                              value.data.data(), value.data.size())));
    } else {
      values.push_back(is_input ? graph->AddInput(value.name, TypeOf(value))
                                : graph->AddValue(value.name, TypeOf(value)));
    }
  }
  const auto all = [&](const std::vector<int>& indices) {
    std::vector<core::ValueDef*> found;
    for (const int index : indices) found.push_back(index < 0 ? nullptr : values[static_cast<size_t>(index)]);
    return found;
  };
  for (const NodeSpec& node : spec.nodes) {
    if (!node.domain.empty()) graph->SetOpset(node.domain, 1);
    std::vector<core::Attribute> attributes;
    for (const AttributeSpec& attribute : node.attributes) attributes.push_back(AttributeOf(attribute));
    graph->AddNode(node.op_type, node.domain, node.since_version, all(node.inputs), all(node.outputs),
                   std::move(attributes), node.name);
  }
  graph->SetInputs(all(spec.inputs));
  graph->SetOutputs(all(spec.outputs));
  graph->Finalize();
  return graph;
}

bool IsFileName(const char* text) {
  if (!IsOneLine(text)) return false;
  const std::string_view name(text);
  return !name.empty() && name.size() <= kMaxLocationBytes && name.find_first_of("/\\") == std::string_view::npos &&
         name != "." && name != "..";
}

// The exception with which a plugin's write function stops the writing.
struct Ended {
  EpStatus* status;
};

core::ByteSink SinkOf(EpOnnxWrite write, void* user, const char* name) {
  return [=](const void* data, uint64_t size) {
    if (size == 0) return;
    DebugHost& host = DebugHost::Current();
    LentMemory bytes(static_cast<size_t>(size), {std::string("what ") + name + " gets", Rule::kWrittenBytesEnd,
                                                 Rule::kWrittenBytesEnd, Rule::kWrittenBytesEnd});
    std::memcpy(bytes.data(), data, static_cast<size_t>(size));
    bytes.MakeReadOnly();
    EpStatus* status = nullptr;
    try {
      status = write(user, bytes.data(), size);
    } catch (...) {
      throw Ended{host.Refuse(Rule::kWritesKeepExceptions, std::string(name) + " let an exception escape")};
    }
    if (status != nullptr) throw Ended{status};
  };
}

EpStatus* EP_CALL WriteGraph(const EpGraph* handle, const EpOnnxOptions* given) {
  was_asked = true;
  DebugHost& host = DebugHost::Current();
  const DebugGraph* graph = DebugGraph::Of(handle, "WriteGraph");
  if (graph == nullptr) return host.NewStatus(EP_STATUS_INVALID_ARGUMENT, "WriteGraph: no such graph");
  if (given == nullptr) return host.Refuse(Rule::kOnnxOptionsAreWhole, "WriteGraph was called without options");
  if (given->struct_size < sizeof(EpOnnxOptions) || given->reserved != 0) {
    return host.Refuse(Rule::kOnnxOptionsAreWhole, "WriteGraph: options have struct_size " +
                                                       std::to_string(given->struct_size) + " and " +
                                                       std::to_string(given->reserved) + " in `reserved`, " +
                                                       std::to_string(sizeof(EpOnnxOptions)) + " and 0 are expected");
  }
  if (given->write_model == nullptr)
    return host.Refuse(Rule::kOnnxOptionsAreWhole, "WriteGraph: write_model of the options is null");
  core::WriteOptions options;
  if (given->weights_location != nullptr) {
    if (!IsFileName(given->weights_location))
      return host.Refuse(Rule::kWeightsLocationIsAName, "WriteGraph: weights_location is no file's name");
    options.external_file_name = given->weights_location;
    options.external_threshold = given->weights_threshold;
    options.external_sink = given->write_weights == nullptr
                                ? [](const void*, uint64_t) {}
                                : SinkOf(given->write_weights, given->user, "write_weights");
  }
  try {
    core::WriteGraphAsModel(*Build(graph->spec()), options, SinkOf(given->write_model, given->user, "write_model"));
  } catch (const Ended& ended) {
    return ended.status;
  } catch (const core::Error& error) {
    return host.NewStatus(static_cast<EpStatusCode>(error.code()), error.message());
  }
  return nullptr;
}

}  // namespace

const EpOnnxApi kDebugOnnxApi = {sizeof(EpOnnxApi), 0, WriteGraph};

bool GraphsWereWritten() { return was_asked; }

}  // namespace epiphyte::conformance
