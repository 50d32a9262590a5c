// Annotations: what a model says of itself beside what it computes: doc strings, denotations of types and dimensions,
// metadata of graphs, nodes and values, quantization annotations. The graph IR has no place for them, so who writes a
// model that was made of another gives the writer those of the first.
//
//   WriteOptions options;
//   const GraphAnnotations annotations = ReadAnnotations(source_bytes);
//   options.annotations = &annotations;
//   WriteModel(model, options, sink);
//
// What they are about is known by names that last: a value's, a node's first output. What is gone has lost its own.
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
  std::string denotation;               // of the type
  std::vector<std::string> dimensions;  // denotations, by axis
  std::string tensor_doc_string;        // of the initializer
};

// How a tensor is quantised: the names of the tensors that hold its scale, its zero point and the like, by the names
// that ONNX gives these parameters.
struct QuantizationAnnotation {
  std::string tensor;
  std::vector<std::pair<std::string, std::string>> parameters;
};

struct GraphAnnotations {
  std::string doc_string;
  std::vector<std::string> metadata;  // StringStringEntryProto each
  std::vector<QuantizationAnnotation> quantization;
  std::map<std::string, ValueAnnotation> values;
  std::map<std::string, NodeAnnotation> nodes;
  // Of nested graphs, by BodyKey.
  std::map<std::string, GraphAnnotations> bodies;

  bool empty() const {
    return doc_string.empty() && metadata.empty() && quantization.empty() && values.empty() && nodes.empty() &&
           bodies.empty();
  }
};

// `output`: the first of the node; `index`: of the graph in its attribute.
std::string BodyKey(std::string_view output, std::string_view attribute, size_t index);

// Of a model's graph and the graphs nested in it. Throws INVALID_PROTOBUF, and INVALID_GRAPH for graphs that are nested
// too deep.
GraphAnnotations ReadAnnotations(std::string_view model);

// Adds to `to` what `from` says of a graph that became part of another, in which a value is called what `name_of` gives
// for its name. The doc string of `to` stays, if it has one.
void AddRenamed(const GraphAnnotations& from, const std::function<std::string(const std::string&)>& name_of,
                GraphAnnotations* to);

}  // namespace epiphyte::core
