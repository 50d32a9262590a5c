#include "core/context/context_model.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kAdvice = "compile the source model again";

// Name of an attribute type that an EPContext node may have; all other types share one name.
std::string_view TypeName(AttributeType type) {
  switch (type) {
    case AttributeType::kInt: return "INT";
    case AttributeType::kFloat: return "FLOAT";
    case AttributeType::kString: return "STRING";
    case AttributeType::kTensor: return "TENSOR";
    default: return "another type";
  }
}

const Attribute* Typed(const Node& node, std::string_view name, AttributeType type) {
  const Attribute* attribute = node.FindAttribute(name);
  if (attribute != nullptr && attribute->type() != type) {
    Fail(StatusCode::kInvalidGraph,
         "{}: attribute '{}' is {}, expected {}; the model was not written by a conforming tool: {}",
         ContextNodeLabel(node), name, TypeName(attribute->type()), TypeName(type), kAdvice);
  }
  return attribute;
}

int64_t Int(const Node& node, std::string_view name, int64_t fallback) {
  const Attribute* attribute = Typed(node, name, AttributeType::kInt);
  return attribute == nullptr ? fallback : attribute->i();
}

std::string Text(const Node& node, std::string_view name) {
  const Attribute* attribute = Typed(node, name, AttributeType::kString);
  return attribute == nullptr ? std::string() : attribute->s();
}

}  // namespace

std::string NodePath(const Node& node) {
  std::string path = node.name();
  const Graph* graph = &node.graph();
  for (const Node* parent = graph->parent(); parent != nullptr; parent = graph->parent()) {
    for (const auto& attribute : parent->attributes()) {
      for (const auto& body : attribute->graphs()) {
        if (body.get() == graph) path = parent->name() + "/" + attribute->name() + "/" + path;
      }
    }
    graph = &parent->graph();
  }
  return path;
}

std::string ContextNodeLabel(const Node& node) {
  const bool has_source = node.FindAttribute("source") != nullptr;
  const std::string file = node.IntAttribute("embed_mode", 1) == 0 ? node.StringAttribute("ep_cache_context") : "";
  return fmt::format("EPContext node '{}' ({}{})", NodePath(node),
                     has_source ? "source '" + PrintableLine(node.StringAttribute("source"), 200) + "'" : "no source",
                     file.empty() ? "" : ", file '" + PrintableLine(file, 200) + "'");
}

ContextAttributes ReadContextAttributes(const Node& node) {
  ContextAttributes read;
  read.main_context = Int(node, "main_context", 1);
  read.embed_mode = Int(node, "embed_mode", 1);
  read.max_size = Int(node, "max_size", 0);
  read.source = Text(node, "source");
  read.partition_name = Text(node, "partition_name");
  if (read.partition_name.empty()) read.partition_name = node.name();
  read.ep_sdk_version = Text(node, "ep_sdk_version");
  read.hardware_architecture = Text(node, "hardware_architecture");
  read.notes = Text(node, "notes");
  read.onnx_model_filename = Text(node, "onnx_model_filename");
  for (const auto& attribute : node.attributes()) {
    if (attribute->type() != AttributeType::kString || IsContextAttribute(attribute->name())) continue;
    read.extras.emplace_back(attribute->name(), attribute->s());
  }
  for (auto [name, value] : {std::pair{"main_context", read.main_context}, {"embed_mode", read.embed_mode}}) {
    if (value != 0 && value != 1) {
      Fail(StatusCode::kInvalidGraph, "{}: {} is {}, expected 0 or 1; {}", ContextNodeLabel(node), name, value,
           kAdvice);
    }
  }
  const Attribute* cache = node.FindAttribute("ep_cache_context");
  if (cache != nullptr && cache->type() == AttributeType::kTensor) {
    // Large payloads arrive in the reader's tensor form and are viewed in place.
    ConstantPtr bytes = cache->t();
    if (bytes->type() != DataType::kUint8) {
      Fail(StatusCode::kInvalidGraph, "{}: ep_cache_context is a tensor of {}, expected STRING; {}",
           ContextNodeLabel(node), DataTypeName(bytes->type()), kAdvice);
    }
    read.embedded = {bytes->data(), bytes->byte_size(), bytes};
  } else if (cache != nullptr) {
    read.ep_cache_context = Typed(node, "ep_cache_context", AttributeType::kString)->s();
    auto bytes = std::make_shared<const std::string>(read.ep_cache_context);
    read.embedded = {bytes->data(), bytes->size(), bytes};
  }
  if (read.embed_mode == 0 && cache != nullptr && cache->type() == AttributeType::kTensor) {
    Fail(StatusCode::kInvalidGraph,
         "{}: ep_cache_context holds {} bytes where a file name is expected (embed_mode 0); {}", ContextNodeLabel(node),
         read.embedded.size, kAdvice);
  }
  if (read.main_context == 1 && (read.embed_mode == 1 ? read.embedded.size == 0 : read.ep_cache_context.empty())) {
    Fail(StatusCode::kInvalidGraph, "{}: main_context is 1 but ep_cache_context is {}, expected {}; {}",
         ContextNodeLabel(node), cache == nullptr ? "missing" : "empty",
         read.embed_mode == 1 ? "the payload (embed_mode 1)" : "the payload's file name (embed_mode 0)", kAdvice);
  }
  return read;
}

std::vector<Attribute> WriteContextAttributes(const ContextAttributes& attributes) {
  std::vector<Attribute> written;
  written.push_back(Attribute::Int("main_context", attributes.main_context));
  written.push_back(Attribute::Int("embed_mode", attributes.embed_mode));
  const ContextBlob& bytes = attributes.embedded;
  if (attributes.embed_mode == 0) {
    if (attributes.HasPayload()) written.push_back(Attribute::String("ep_cache_context", attributes.ep_cache_context));
  } else if (bytes.owner != nullptr) {
    written.push_back(Attribute::Tensor(
        "ep_cache_context",
        Constant::View(DataType::kUint8, {static_cast<int64_t>(bytes.size)}, bytes.data, bytes.size, bytes.owner)));
  }
  written.push_back(Attribute::String("source", attributes.source));
  written.push_back(Attribute::String("partition_name", attributes.partition_name));
  for (auto& [name, value] : {std::pair<const char*, const std::string&>{"ep_sdk_version", attributes.ep_sdk_version},
                              {"hardware_architecture", attributes.hardware_architecture},
                              {"notes", attributes.notes},
                              {"onnx_model_filename", attributes.onnx_model_filename}}) {
    if (!value.empty()) written.push_back(Attribute::String(name, value));
  }
  for (const auto& [name, value] : attributes.extras) written.push_back(Attribute::String(name, value));
  if (attributes.max_size != 0) written.push_back(Attribute::Int("max_size", attributes.max_size));
  return written;
}

namespace {

void Collect(Graph& graph, std::vector<Node*>* found) {
  for (const auto& node : graph.nodes()) {
    if (!node) continue;
    if (IsContextNode(*node)) found->push_back(node.get());
    for (Graph* body : node->subgraphs()) Collect(*body, found);
  }
}

}  // namespace

std::vector<Node*> FindContextNodes(Graph& graph) {
  std::vector<Node*> found;
  Collect(graph, &found);
  return found;
}

bool HasContextNodes(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const std::unique_ptr<Node>& node) { return node != nullptr && HoldsContextNode(*node); });
}

}  // namespace epiphyte::core
