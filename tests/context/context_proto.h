// Context models as protobuf messages, so that tests can check written models without the core's own reader.
#pragma once

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/framework/temp_dir.h"

namespace epiphyte::test {

inline onnx::ModelProto ParseProto(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) throw std::runtime_error("protobuf can't read the model");
  return model;
}
inline onnx::ModelProto ParseProtoFile(const std::filesystem::path& path) { return ParseProto(ReadFile(path)); }

inline void CollectContextNodes(const onnx::GraphProto& graph, std::vector<onnx::NodeProto>* found) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "EPContext" && node.domain() == "com.microsoft") found->push_back(node);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectContextNodes(attribute.g(), found);
    }
  }
}

// Returns the context nodes in the model's order. Nodes of nested graphs come at the position of their outer node. An
// empty `source` selects all nodes.
inline std::vector<onnx::NodeProto> ContextNodesOf(const onnx::ModelProto& model, const std::string& source = "") {
  std::vector<onnx::NodeProto> found;
  CollectContextNodes(model.graph(), &found);
  auto text = [](const onnx::NodeProto& node, const std::string& name) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == name) return attribute.s();
    }
    return std::string();
  };
  if (!source.empty()) {
    std::erase_if(found, [&](const onnx::NodeProto& node) { return text(node, "source") != source; });
  }
  return found;
}

inline std::optional<std::string> TextOf(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.type() != onnx::AttributeProto::STRING) throw std::runtime_error(name + " is no string");
    return attribute.s();
  }
  return std::nullopt;
}

inline std::optional<int64_t> IntOf(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.type() != onnx::AttributeProto::INT) throw std::runtime_error(name + " is no integer");
    return attribute.i();
  }
  return std::nullopt;
}

inline void RemoveAttribute(onnx::NodeProto* node, const std::string& name) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    if (attributes->Get(i).name() == name) attributes->DeleteSubrange(i, 1);
  }
}

inline void SetText(onnx::NodeProto* node, const std::string& name, const std::string& value) {
  RemoveAttribute(node, name);
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::STRING);
  attribute->set_s(value);
}

inline void SetInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
  RemoveAttribute(node, name);
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

inline std::map<std::string, std::string> MetadataOf(const onnx::ModelProto& model) {
  std::map<std::string, std::string> metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  return metadata;
}

// Removes Epiphyte's own metadata, as if another tool had written the model.
inline void ForgetRecords(onnx::ModelProto* model) {
  auto* entries = model->mutable_metadata_props();
  for (int i = entries->size(); i-- > 0;) {
    if (entries->Get(i).key().rfind("epiphyte.", 0) == 0) entries->DeleteSubrange(i, 1);
  }
}

// Turns Constant nodes into initializers, as exporters write weights.
inline void ConstantsToInitializers(onnx::GraphProto* graph) {
  auto* nodes = graph->mutable_node();
  for (int i = 0; i < nodes->size();) {
    if (nodes->Get(i).op_type() != "Constant") {
      ++i;
      continue;
    }
    onnx::TensorProto* tensor = graph->add_initializer();
    *tensor = nodes->Get(i).attribute(0).t();
    tensor->set_name(nodes->Get(i).output(0));
    nodes->DeleteSubrange(i, 1);
  }
}

// Moves the initializers into a file of external data. `location` is the path in the model; `bytes` gets the content of
// the file.
inline void MakeExternal(onnx::GraphProto* graph, const std::string& location, std::string* bytes) {
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    std::string raw = tensor.raw_data();
    if (raw.empty())
      raw.assign(reinterpret_cast<const char*>(tensor.float_data().data()), tensor.float_data_size() * 4);
    auto add = [&](const std::string& key, const std::string& value) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    add("offset", std::to_string(bytes->size()));
    add("length", std::to_string(raw.size()));
    tensor.clear_raw_data();
    tensor.clear_float_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    *bytes += raw;
  }
}

}  // namespace epiphyte::test
