#include "core/context/context_model.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/context/seal.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kPayloadKey = "epiphyte.context.payload.";
constexpr std::string_view kPlainKey = "epiphyte.context.plain";
constexpr std::string_view kAdvice = "compile the source model again";

// Of the types that an EPContext node may have; the rest is told apart from them, not from each other.
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

EpContextAttributes ReadContextAttributes(const Node& node) {
  EpContextAttributes read;
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
  for (auto [name, value] : {std::pair{"main_context", read.main_context}, {"embed_mode", read.embed_mode}}) {
    if (value != 0 && value != 1) {
      Fail(StatusCode::kInvalidGraph, "{}: {} is {}, expected 0 or 1; {}", ContextNodeLabel(node), name, value,
           kAdvice);
    }
  }
  const Attribute* cache = node.FindAttribute("ep_cache_context");
  if (cache != nullptr && cache->type() == AttributeType::kTensor) {
    // The reader's form of a large payload, viewed in place.
    ConstantPtr bytes = cache->t();
    if (bytes->type() != DataType::kUint8) {
      Fail(StatusCode::kInvalidGraph, "{}: ep_cache_context is a tensor of {}, expected STRING; {}",
           ContextNodeLabel(node), DataTypeName(bytes->type()), kAdvice);
    }
    read.payload = {bytes->data(), bytes->byte_size(), bytes};
  } else if (cache != nullptr) {
    read.ep_cache_context = Typed(node, "ep_cache_context", AttributeType::kString)->s();
    auto bytes = std::make_shared<const std::string>(read.ep_cache_context);
    read.payload = {bytes->data(), bytes->size(), bytes};
  }
  if (read.embed_mode == 0 && cache != nullptr && cache->type() == AttributeType::kTensor) {
    Fail(StatusCode::kInvalidGraph,
         "{}: ep_cache_context holds {} bytes where a file name is expected (embed_mode 0); {}", ContextNodeLabel(node),
         read.payload.size, kAdvice);
  }
  if (read.main_context == 1 && (read.embed_mode == 1 ? read.payload.size == 0 : read.ep_cache_context.empty())) {
    Fail(StatusCode::kInvalidGraph, "{}: main_context is 1 but ep_cache_context is {}, expected {}; {}",
         ContextNodeLabel(node), cache == nullptr ? "missing" : "empty",
         read.embed_mode == 1 ? "the payload (embed_mode 1)" : "the payload's file name (embed_mode 0)", kAdvice);
  }
  return read;
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

std::vector<PayloadRecord> ReadPayloadRecords(const std::map<std::string, std::string>& metadata) {
  std::vector<PayloadRecord> records;
  for (auto entry = metadata.lower_bound(std::string(kPayloadKey));
       entry != metadata.end() && entry->first.starts_with(kPayloadKey); ++entry) {
    // "<size> <xxh128> <provider> <plugin version> <file>": the file comes last, because it may hold spaces.
    std::string_view rest = entry->second;
    auto next = [&rest] {
      size_t space = std::min(rest.find(' '), rest.size());
      std::string_view word = rest.substr(0, space);
      rest.remove_prefix(std::min(space + 1, rest.size()));
      return word;
    };
    PayloadRecord record;
    std::string_view size = next();
    auto parsed = std::from_chars(size.data(), size.data() + size.size(), record.size);
    record.xxh128 = next();
    record.provider = next();
    record.plugin_version = next();
    record.file = rest;
    if (parsed.ec != std::errc() || parsed.ptr != size.data() + size.size() || record.xxh128.size() != 32 ||
        rest.empty()) {
      Fail(StatusCode::kInvalidGraph,
           "metadata '{}' is '{}', expected '<size> <xxh128> <provider> <version> <file>'; compile the model again",
           entry->first, entry->second.substr(0, 128));
    }
    if (record.file == "-") record.file.clear();
    records.push_back(std::move(record));
  }
  return records;
}

namespace {

// A plugin's version may be any text, and a record's words end at spaces.
std::string Word(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  return text.empty() ? "-" : text;
}

}  // namespace

void WritePayloadRecords(const std::vector<PayloadRecord>& records, std::map<std::string, std::string>* metadata) {
  (*metadata)[std::string(kContextVersionKey)] = kContextVersion;
  for (size_t i = 0; i < records.size(); ++i) {
    const PayloadRecord& record = records[i];
    // Zero-padded, so that the map's order is the records' order.
    (*metadata)[fmt::format("{}{:06}", kPayloadKey, i)] =
        fmt::format("{} {} {} {} {}", record.size, record.xxh128, Word(record.provider), Word(record.plugin_version),
                    record.file.empty() ? "-" : record.file);
  }
}

std::string InitializersRecord::ToText() const { return fmt::format("{} {} {}", size, xxh128, file); }

std::optional<InitializersRecord> InitializersRecord::Read(const std::map<std::string, std::string>& metadata) {
  const auto entry = metadata.find(std::string(kInitializersKey));
  if (entry == metadata.end()) return std::nullopt;
  const std::string& text = entry->second;
  InitializersRecord record;
  const size_t first = std::min(text.find(' '), text.size());
  const size_t second = std::min(text.find(' ', std::min(first + 1, text.size())), text.size());
  const auto parsed = std::from_chars(text.data(), text.data() + first, record.size);
  if (first < text.size()) record.xxh128 = text.substr(first + 1, second - first - 1);
  if (second < text.size()) record.file = text.substr(second + 1);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + first || record.xxh128.size() != 32 ||
      record.file.empty()) {
    Fail(StatusCode::kInvalidGraph, "metadata '{}' is '{}', expected '<size> <xxh128> <file>'; compile the model again",
         kInitializersKey, text.substr(0, 128));
  }
  return record;
}

std::optional<std::vector<std::string>> ReadPlainProviders(const std::map<std::string, std::string>& metadata) {
  const auto entry = metadata.find(std::string(kPlainKey));
  if (entry == metadata.end()) return std::nullopt;
  std::vector<std::string> providers;
  std::istringstream names(entry->second);
  for (std::string name; std::getline(names, name, ',');) providers.push_back(std::move(name));
  return providers;
}

void WritePlainProviders(const std::vector<std::string>& providers, std::map<std::string, std::string>* metadata) {
  (*metadata)[std::string(kPlainKey)] = fmt::format("{}", fmt::join(providers, ","));
}

}  // namespace epiphyte::core
