#include "core/onnx/write/annotations.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

void ReadShape(std::string_view bytes, ValueAnnotation* value) {
  WireReader reader(bytes, "TensorShapeProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number != proto::type::kShapeDim) continue;
    std::string& denotation = value->dimensions.emplace_back();
    WireReader dimension(field.Bytes(), "Dimension");
    for (WireField inner; dimension.Next(&inner);) {
      if (inner.number == proto::type::kDimDenotation) denotation = inner.Bytes();
    }
  }
  const bool has_any = std::any_of(value->dimensions.begin(), value->dimensions.end(),
                                   [](const std::string& denotation) { return !denotation.empty(); });
  if (!has_any) value->dimensions.clear();
}

void ReadType(std::string_view bytes, ValueAnnotation* value) {
  WireReader reader(bytes, "TypeProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::type::kDenotation) value->denotation = field.Bytes();
    if (field.number != proto::type::kTensor && field.number != proto::type::kSparseTensor) continue;
    WireReader tensor(field.Bytes(), "TypeProto.Tensor");
    for (WireField inner; tensor.Next(&inner);) {
      if (inner.number == proto::type::kShape) ReadShape(inner.Bytes(), value);
    }
  }
}

bool IsEmpty(const ValueAnnotation& value) {
  return value.doc_string.empty() && value.metadata.empty() && value.denotation.empty() && value.dimensions.empty();
}

class AnnotationReader {
 public:
  GraphAnnotations Graph(std::string_view bytes, int depth) {
    if (depth > kMaxNesting) {
      Fail(StatusCode::kInvalidGraph, "graphs are nested deeper than {} levels; export the model again", kMaxNesting);
    }
    GraphAnnotations graph;
    std::map<std::string_view, std::string_view> small_tensors;  // name, TensorProto
    WireReader reader(bytes, "GraphProto");
    for (WireField field; reader.Next(&field);) {
      switch (field.number) {
        case proto::graph::kNode: Node(field.Bytes(), depth, &graph); break;
        case proto::graph::kInitializer: {
          const std::string_view name = Tensor(field.Bytes(), &graph);
          if (!name.empty() && field.Bytes().size() <= kMostKept) small_tensors.emplace(name, field.Bytes());
          break;
        }
        case proto::graph::kDocString: graph.doc_string = field.Bytes(); break;
        case proto::graph::kInput:
        case proto::graph::kOutput:
        case proto::graph::kValueInfo: Value(field.Bytes(), &graph); break;
        case proto::graph::kQuantization: Quantization(field.Bytes(), &graph); break;
        case proto::graph::kMetadata: graph.metadata.emplace_back(field.Bytes()); break;
        default: break;
      }
    }
    for (QuantizationAnnotation& annotation : graph.quantization) {
      for (QuantizationAnnotation::Parameter& parameter : annotation.parameters) {
        const auto tensor = small_tensors.find(parameter.tensor);
        if (tensor != small_tensors.end()) parameter.proto = tensor->second;
      }
    }
    return graph;
  }

 private:
  // Bytes of a scale or a zero point that goes along with its annotation.
  static constexpr size_t kMostKept = 4096;

  static void Quantization(std::string_view bytes, GraphAnnotations* graph) {
    QuantizationAnnotation& annotation = graph->quantization.emplace_back();
    WireReader reader(bytes, "TensorAnnotation");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::annotation::kTensorName) annotation.tensor = field.Bytes();
      if (field.number != proto::annotation::kParameters) continue;
      QuantizationAnnotation::Parameter& parameter = annotation.parameters.emplace_back();
      WireReader entry(field.Bytes(), "StringStringEntryProto");
      for (WireField inner; entry.Next(&inner);) {
        if (inner.number == proto::entry::kKey) parameter.key = inner.Bytes();
        if (inner.number == proto::entry::kValue) parameter.tensor = inner.Bytes();
      }
    }
  }

  static void Value(std::string_view bytes, GraphAnnotations* graph) {
    std::string name;
    ValueAnnotation value;
    WireReader reader(bytes, "ValueInfoProto");
    for (WireField field; reader.Next(&field);) {
      switch (field.number) {
        case proto::value_info::kName: name = field.Bytes(); break;
        case proto::value_info::kType: ReadType(field.Bytes(), &value); break;
        case proto::value_info::kDocString: value.doc_string = field.Bytes(); break;
        case proto::value_info::kMetadata: value.metadata.emplace_back(field.Bytes()); break;
        default: break;
      }
    }
    if (IsEmpty(value)) return;
    ValueAnnotation& known = graph->values[name];
    value.tensor_doc_string = std::move(known.tensor_doc_string);
    known = std::move(value);
  }

  // The name of the initializer, or "" when its data is in another file.
  static std::string_view Tensor(std::string_view bytes, GraphAnnotations* graph) {
    std::string_view name, doc_string;
    bool is_here = true;
    WireReader reader(bytes, "TensorProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::tensor::kName) name = field.Bytes();
      if (field.number == proto::tensor::kDocString) doc_string = field.Bytes();
      if (field.number == proto::tensor::kExternalData) is_here = false;
    }
    if (!doc_string.empty()) graph->values[std::string(name)].tensor_doc_string = doc_string;
    return is_here ? name : std::string_view();
  }

  void Node(std::string_view bytes, int depth, GraphAnnotations* graph) {
    std::vector<std::string_view> attributes;
    std::string_view output;
    bool has_output = false;
    NodeAnnotation node;
    WireReader reader(bytes, "NodeProto");
    for (WireField field; reader.Next(&field);) {
      switch (field.number) {
        case proto::node::kOutput:
          if (!std::exchange(has_output, true)) output = field.Bytes();
          break;
        case proto::node::kAttribute: attributes.push_back(field.Bytes()); break;
        case proto::node::kDocString: node.doc_string = field.Bytes(); break;
        case proto::node::kMetadata: node.metadata.emplace_back(field.Bytes()); break;
        default: break;
      }
    }
    if (output.empty()) return;  // without a name the node can't be found again
    for (const std::string_view attribute : attributes) Attribute(attribute, output, depth, graph);
    if (!node.doc_string.empty() || !node.metadata.empty()) graph->nodes[std::string(output)] = std::move(node);
  }

  void Attribute(std::string_view bytes, std::string_view output, int depth, GraphAnnotations* graph) {
    std::string_view name;
    std::vector<std::string_view> bodies;
    WireReader reader(bytes, "AttributeProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::attribute::kName) name = field.Bytes();
      const bool is_graph = field.number == proto::attribute::kGraph || field.number == proto::attribute::kGraphs;
      if (is_graph) bodies.push_back(field.Bytes());
    }
    for (size_t i = 0; i < bodies.size(); ++i) {
      GraphAnnotations body = Graph(bodies[i], depth + 1);
      if (!body.empty()) graph->bodies[BodyKey(output, name, i)] = std::move(body);
    }
  }
};

}  // namespace

std::string BodyKey(std::string_view output, std::string_view attribute, size_t index) {
  return fmt::format("{}\n{}\n{}", output, attribute, index);
}

GraphAnnotations ReadAnnotations(std::string_view model) {
  GraphAnnotations annotations;
  WireReader reader(model, "ModelProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::model::kGraph) annotations = AnnotationReader().Graph(field.Bytes(), 0);
  }
  return annotations;
}

void AddRenamed(const GraphAnnotations& from, const std::function<std::string(const std::string&)>& name_of,
                GraphAnnotations* to) {
  if (to->doc_string.empty()) to->doc_string = from.doc_string;
  to->metadata.insert(to->metadata.end(), from.metadata.begin(), from.metadata.end());
  for (QuantizationAnnotation annotation : from.quantization) {
    annotation.tensor = name_of(annotation.tensor);
    for (QuantizationAnnotation::Parameter& parameter : annotation.parameters)
      parameter.tensor = name_of(parameter.tensor);
    to->quantization.push_back(std::move(annotation));
  }
  // When two values became one, the first keeps its annotation.
  for (const auto& [name, value] : from.values) to->values.try_emplace(name_of(name), value);
  for (const auto& [output, node] : from.nodes) to->nodes.try_emplace(name_of(output), node);
  for (const auto& [key, body] : from.bodies) {
    const size_t end = key.find('\n');
    to->bodies.try_emplace(name_of(key.substr(0, end)) + key.substr(end), body);
  }
}

}  // namespace epiphyte::core
