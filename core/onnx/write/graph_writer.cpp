#include "core/onnx/write/graph_writer.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/graph/context_node.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/write/annotations.h"

namespace epiphyte::core {
namespace {

// Before this version initializers must also be listed as inputs.
constexpr int64_t kFirstIrVersionWithPlainInitializers = 4;

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPageAlignment = 4096;
constexpr uint64_t kLarge = uint64_t{1} << 20;

// Embedded tensors of at least this many bytes are aligned, so that the reader can view them in place. For smaller ones
// alignment isn't worthwhile.
constexpr uint64_t kAlignedFrom = 4096;

// `value` supplies the denotations of the dimensions; null: there are none.
void WriteShape(const Shape& shape, const ValueAnnotation* value, WireWriter& out) {
  const bool has_denotations = value != nullptr && value->dimensions.size() == shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim& dim = shape[i];
    out.Message(proto::type::kShapeDim, [&] {
      if (dim.known())
        out.Int(proto::type::kDimValue, dim.value);
      else if (!dim.symbol.empty())
        out.Bytes(proto::type::kDimParam, dim.symbol);
      if (has_denotations && !value->dimensions[i].empty())
        out.Bytes(proto::type::kDimDenotation, value->dimensions[i]);
    });
  }
}

void WriteText(uint32_t field, const std::string& text, WireWriter& out) {
  if (!text.empty()) out.Bytes(field, text);
}

void WriteMessages(uint32_t field, const std::vector<std::string>& messages, WireWriter& out) {
  for (const std::string& message : messages) out.Bytes(field, message);
}

template <typename Map>
auto* FindIn(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The key of a node's annotations: the name of its first output, or "".
std::string KeyOf(const Node& node) {
  return node.outputs().empty() || node.outputs()[0] == nullptr ? std::string() : node.outputs()[0]->name();
}

void WriteTensorHead(const Constant& constant, std::string_view name, WireWriter& out) {
  out.PackedInts(proto::tensor::kDims, constant.dims());
  out.Int(proto::tensor::kDataType, static_cast<int64_t>(constant.type()));
  if (!name.empty()) out.Bytes(proto::tensor::kName, name);
}

void WriteEntry(uint32_t field, std::string_view key, std::string_view value, WireWriter& out) {
  out.Message(field, [&] {
    out.Bytes(proto::entry::kKey, key);
    out.Bytes(proto::entry::kValue, value);
  });
}

// A TensorProto under another name: of a field that occurs twice, protobuf takes the last.
std::string Renamed(std::string_view tensor, std::string_view name) {
  std::string bytes(tensor);
  bytes.push_back(static_cast<char>(proto::tensor::kName << 3 | 2));
  size_t size = name.size();
  for (; size >= 0x80; size >>= 7) bytes.push_back(static_cast<char>(size | 0x80));
  bytes.push_back(static_cast<char>(size));
  return bytes.append(name);
}

// True for a long EPContext payload. The reader keeps it as a tensor; in the file it is a string.
bool IsPayload(const Node& node, const Attribute& attribute) {
  return attribute.type() == AttributeType::kTensor && attribute.name() == "ep_cache_context" && IsContextNode(node) &&
         attribute.t()->type() == DataType::kUint8;
}

}  // namespace

void WriteType(const Type& type, WireWriter& out) { WriteType(type, nullptr, out); }

void WriteType(const Type& type, const ValueAnnotation* value, WireWriter& out) {
  if (value != nullptr) WriteText(proto::type::kDenotation, value->denotation, out);
  const auto tensor = [&] {
    out.Int(proto::type::kElementType, static_cast<int64_t>(type.element_type()));
    if (type.shape()) out.Message(proto::type::kShape, [&] { WriteShape(*type.shape(), value, out); });
  };
  const auto element = [&] {
    if (!type.element()) return;
    out.Message(proto::type::kElementType, [&] { WriteType(*type.element(), out); });
  };
  switch (type.kind()) {
    case EP_KIND_TENSOR: return out.Message(proto::type::kTensor, tensor);
    case EP_KIND_SPARSE_TENSOR: return out.Message(proto::type::kSparseTensor, tensor);
    case EP_KIND_SEQUENCE: return out.Message(proto::type::kSequence, element);
    case EP_KIND_OPTIONAL: return out.Message(proto::type::kOptional, element);
    case EP_KIND_MAP:
      return out.Message(proto::type::kMap, [&] {
        out.Int(proto::type::kMapKey, static_cast<int64_t>(type.element_type()));
        if (type.element()) out.Message(proto::type::kMapValue, [&] { WriteType(*type.element(), out); });
      });
    default: return;
  }
}

void WriteTensor(const Constant& constant, std::string_view name, WireWriter& out) {
  WriteTensorHead(constant, name, out);
  if (constant.type() == DataType::kString) {
    for (const std::string& text : constant.strings()) out.Bytes(proto::tensor::kStringData, text);
  } else if (constant.byte_size() >= kAlignedFrom) {
    out.AlignedBytes(proto::tensor::kRawData, proto::kPadding, constant.bytes(), constant.byte_size());
  } else {
    out.Bytes(proto::tensor::kRawData, constant.bytes(), constant.byte_size());
  }
}

void GraphWriter::Write(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node) out_.Message(proto::graph::kNode, [&] { WriteNode(*node); });
  }
  out_.Bytes(proto::graph::kName, graph.name());
  for (const auto& value : graph.values()) {
    if (!value) continue;
    const ConstantPtr& data = value->IsConstant() ? value->constant() : value->default_value();
    if (data) out_.Message(proto::graph::kInitializer, [&] { WriteInitializer(value->name(), *data); });
  }
  for (const ValueDef* input : graph.inputs()) WriteValueInfo(proto::graph::kInput, *input);
  if (ir_version_ < kFirstIrVersionWithPlainInitializers) {
    for (const auto& value : graph.values()) {
      if (value && value->IsConstant()) WriteValueInfo(proto::graph::kInput, *value);
    }
  }
  for (const ValueDef* output : graph.outputs()) WriteValueInfo(proto::graph::kOutput, *output);
  for (const auto& value : graph.values()) {
    if (!value || value->producer() == nullptr || value->IsOutput() || !value->type()) continue;
    if (value->type()->kind() != EP_KIND_UNKNOWN) WriteValueInfo(proto::graph::kValueInfo, *value);
  }
  if (annotations_ != nullptr) WriteAnnotations(graph);
}

void GraphWriter::WriteAnnotations(const Graph& graph) {
  WriteText(proto::graph::kDocString, annotations_->doc_string, out_);
  WriteMessages(proto::graph::kMetadata, annotations_->metadata, out_);
  if (annotations_->quantization.empty()) return;
  std::set<std::string_view> names;
  for (const auto& value : graph.values()) {
    if (value) names.insert(value->name());
  }
  // The annotation of a tensor that no longer exists (compiled or folded) is dropped. Its parameters are written again
  // when only they are gone.
  for (const QuantizationAnnotation& annotation : annotations_->quantization) {
    const auto& parameters = annotation.parameters;
    const bool is_complete = names.contains(annotation.tensor) &&
                             std::all_of(parameters.begin(), parameters.end(), [&](const auto& parameter) {
                               return names.contains(parameter.tensor) || !parameter.proto.empty();
                             });
    if (!is_complete) continue;
    out_.Message(proto::graph::kQuantization, [&] {
      out_.Bytes(proto::annotation::kTensorName, annotation.tensor);
      for (const QuantizationAnnotation::Parameter& parameter : parameters) {
        WriteEntry(proto::annotation::kParameters, parameter.key, parameter.tensor, out_);
      }
    });
    for (const QuantizationAnnotation::Parameter& parameter : parameters) {
      if (!names.insert(parameter.tensor).second) continue;
      out_.Bytes(proto::graph::kInitializer, Renamed(parameter.proto, parameter.tensor));
    }
  }
}

void GraphWriter::WriteValueInfo(uint32_t field, const ValueDef& value) {
  const ValueAnnotation* said = annotations_ == nullptr ? nullptr : FindIn(annotations_->values, value.name());
  out_.Message(field, [&] {
    out_.Bytes(proto::value_info::kName, value.name());
    if (said != nullptr) {
      WriteText(proto::value_info::kDocString, said->doc_string, out_);
      WriteMessages(proto::value_info::kMetadata, said->metadata, out_);
    }
    if (!value.type() || value.type()->kind() == EP_KIND_UNKNOWN) return;
    out_.Message(proto::value_info::kType, [&] { WriteType(*value.type(), said, out_); });
  });
}

void GraphWriter::WriteInitializer(std::string_view name, const Constant& constant) {
  const bool outside = !options_.external_file_name.empty() && constant.type() != DataType::kString &&
                       constant.byte_size() > 0 && constant.byte_size() >= options_.external_threshold;
  if (annotations_ != nullptr) {
    const ValueAnnotation* said = FindIn(annotations_->values, std::string(name));
    if (said != nullptr) WriteText(proto::tensor::kDocString, said->tensor_doc_string, out_);
  }
  if (!outside) return WriteTensor(constant, name, out_);
  const ExternalLocation location = PlaceOutside(constant);
  WriteTensorHead(constant, name, out_);
  WriteEntry(proto::tensor::kExternalData, "location", location.file, out_);
  WriteEntry(proto::tensor::kExternalData, "offset", std::to_string(location.offset), out_);
  WriteEntry(proto::tensor::kExternalData, "length", std::to_string(location.length), out_);
  out_.Int(proto::tensor::kDataLocation, 1);
}

ExternalLocation GraphWriter::PlaceOutside(const Constant& constant) {
  const auto known = placed_.find(constant.bytes());
  if (known != placed_.end() && known->second.length == constant.byte_size()) return known->second;
  const uint64_t alignment = constant.byte_size() >= kLarge ? kPageAlignment : kAlignment;
  const uint64_t padding = (alignment - external_size_ % alignment) % alignment;
  const ExternalLocation location{options_.external_file_name, external_size_ + padding, constant.byte_size()};
  if (!out_.IsCounting()) {
    static constexpr char kZeros[kPageAlignment] = {};
    if (padding > 0) options_.external_sink(kZeros, padding);
    options_.external_sink(constant.bytes(), constant.byte_size());
  }
  external_size_ = location.offset + location.length;
  placed_.insert_or_assign(constant.bytes(), location);
  return location;
}

void GraphWriter::WriteNode(const Node& node) {
  for (const ValueDef* value : node.inputs()) out_.Bytes(proto::node::kInput, value ? value->name() : "");
  for (const ValueDef* value : node.outputs()) out_.Bytes(proto::node::kOutput, value ? value->name() : "");
  if (!node.name().empty()) out_.Bytes(proto::node::kName, node.name());
  const std::string_view op_type = node.op_type();
  const size_t colon = op_type.find(':');  // see QualifiedOpType
  out_.Bytes(proto::node::kOpType, op_type.substr(0, colon));
  for (const auto& attribute : node.attributes()) {
    out_.Message(proto::node::kAttribute, [&] { WriteAttribute(node, *attribute); });
  }
  if (!node.domain().empty()) out_.Bytes(proto::node::kDomain, node.domain());
  if (colon != std::string_view::npos) out_.Bytes(proto::node::kOverload, op_type.substr(colon + 1));
  if (annotations_ == nullptr || IsContextNode(node)) return;
  if (const NodeAnnotation* said = FindIn(annotations_->nodes, KeyOf(node))) {
    WriteText(proto::node::kDocString, said->doc_string, out_);
    WriteMessages(proto::node::kMetadata, said->metadata, out_);
  }
}

void GraphWriter::WriteBody(const Node& node, const Attribute& attribute, size_t index, const Graph& body) {
  const GraphAnnotations* const outer = annotations_;
  if (outer != nullptr) annotations_ = FindIn(outer->bodies, BodyKey(KeyOf(node), attribute.name(), index));
  Write(body);
  annotations_ = outer;
}

void GraphWriter::WriteAttribute(const Node& node, const Attribute& attribute) {
  out_.Bytes(proto::attribute::kName, attribute.name());
  const bool payload = IsPayload(node, attribute);
  switch (attribute.type()) {
    case AttributeType::kFloat: out_.Float(proto::attribute::kFloat, attribute.f()); break;
    case AttributeType::kInt: out_.Int(proto::attribute::kInt, attribute.i()); break;
    case AttributeType::kString: out_.Bytes(proto::attribute::kString, attribute.s()); break;
    case AttributeType::kTensor:
      if (payload) {
        out_.AlignedBytes(proto::attribute::kString, proto::kPadding, attribute.t()->data(),
                          attribute.t()->byte_size());
      } else {
        out_.Message(proto::attribute::kTensor, [&] { WriteTensor(*attribute.t(), "", out_); });
      }
      break;
    case AttributeType::kGraph:
      out_.Message(proto::attribute::kGraph, [&] { WriteBody(node, attribute, 0, attribute.g()); });
      break;
    case AttributeType::kFloats: out_.PackedFloats(proto::attribute::kFloats, attribute.floats()); break;
    case AttributeType::kInts: out_.PackedInts(proto::attribute::kInts, attribute.ints()); break;
    case AttributeType::kStrings:
      for (const std::string& text : attribute.strings()) out_.Bytes(proto::attribute::kStrings, text);
      break;
    case AttributeType::kTensors:
      for (const ConstantPtr& tensor : attribute.tensors()) {
        out_.Message(proto::attribute::kTensors, [&] { WriteTensor(*tensor, "", out_); });
      }
      break;
    case AttributeType::kGraphs:
      for (size_t i = 0; i < attribute.graphs().size(); ++i) {
        out_.Message(proto::attribute::kGraphs, [&] { WriteBody(node, attribute, i, *attribute.graphs()[i]); });
      }
      break;
    case AttributeType::kTypeProto:
    case AttributeType::kTypeProtos: {
      const bool list = attribute.type() == AttributeType::kTypeProtos;
      for (const TypePtr& type : attribute.types()) {
        out_.Message(list ? proto::attribute::kTypeProtos : proto::attribute::kTypeProto,
                     [&] { WriteType(*type, out_); });
      }
      break;
    }
    case AttributeType::kSparseTensor:
    case AttributeType::kSparseTensors:
      Fail(StatusCode::kNotImplemented, "{}: attribute '{}' is a sparse tensor, which can't be saved; make it dense",
           NodeLabel(node), attribute.name());
  }
  out_.Int(proto::attribute::kType, static_cast<int64_t>(payload ? AttributeType::kString : attribute.type()));
}

std::string GraphToBytes(const Graph& graph) {
  const WriteOptions options;
  WireWriter counter;
  GraphWriter(options, kFirstIrVersionWithPlainInitializers, counter).Write(graph);
  std::string bytes;
  bytes.reserve(counter.size());
  const ByteSink sink = [&bytes](const void* data, uint64_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  WireWriter writer(std::move(counter), sink);
  GraphWriter(options, kFirstIrVersionWithPlainInitializers, writer).Write(graph);
  writer.Flush();
  return bytes;
}

}  // namespace epiphyte::core
