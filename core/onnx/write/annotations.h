// Annotations: descriptive data of a model that doesn't affect its computation: doc strings, denotations of types and
// dimensions, metadata of graphs, nodes and values, and quantization annotations. The graph IR doesn't store them. Code
// that writes a model made from another model passes the first model's annotations to the writer.
//
//   WriteOptions options;
//   const GraphAnnotations annotations = ReadAnnotations(source_bytes);
//   options.annotations = &annotations;
//   WriteModel(model, options, sink);
//
// Annotations refer to a value by its name and to a node by the name of its first output, because these names survive
// transforms. An annotation of a removed value or node is dropped.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace epiphyte::core {

struct NodeAnnotation {
  std::string doc_string;
  std::vector<std::string> metadata;  // StringStringEntryProto each
};

struct ValueAnnotation {
  std::string doc_string;
  std::vector<std::string> metadata;    // StringStringEntryProto each
  std::string denotation;               // denotation of the type
  std::vector<std::string> dimensions;  // denotations, by axis
  std::string tensor_doc_string;        // doc_string of the initializer
};

// Names of the tensors that hold a tensor's scale, zero point and so on. ONNX defines the parameter names.
struct QuantizationAnnotation {
  struct Parameter {
    std::string key;     // ONNX's name for it, such as SCALE_TENSOR
    std::string tensor;  // name of the initializer
    // TensorProto of the initializer, for a graph in which nothing else uses it. Empty when it is large or not in the
    // model's file.
    std::string proto;
  };
  std::string tensor;
  std::vector<Parameter> parameters;
};

struct GraphAnnotations {
  std::string doc_string;
  std::vector<std::string> metadata;  // StringStringEntryProto each
  std::vector<QuantizationAnnotation> quantization;
  std::map<std::string, ValueAnnotation> values;
  std::map<std::string, NodeAnnotation> nodes;
  // Annotations of nested graphs, by BodyKey.
  std::map<std::string, GraphAnnotations> bodies;

  bool empty() const {
    return doc_string.empty() && metadata.empty() && quantization.empty() && values.empty() && nodes.empty() &&
           bodies.empty();
  }
};

// `output` is the node's first output; `index` is the graph's index in its attribute.
std::string BodyKey(std::string_view output, std::string_view attribute, size_t index);

// Reads the annotations of a model's graph and its nested graphs. Throws INVALID_PROTOBUF, and INVALID_GRAPH for graphs
// that are nested too deep.
GraphAnnotations ReadAnnotations(std::string_view model);

// Adds annotations of a graph that became part of another. `name_of` maps a value's old name to its new one. The doc
// string of `to` stays, if it has one.
void AddRenamed(const GraphAnnotations& from, const std::function<std::string(const std::string&)>& name_of,
                GraphAnnotations* to);

}  // namespace epiphyte::core
