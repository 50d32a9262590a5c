#include "core/onnx/read/model_functions.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/schema/schema.h"
#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_reader.h"

namespace epiphyte::core {
namespace {

// Nested calls multiply: thirty functions that each call the next one twice produce a billion nodes.
constexpr uint64_t kMaxUnfoldedNodes = uint64_t{1} << 20;

// Operators, with the number of occurrences of each.
using Calls = std::map<std::pair<std::string, std::string>, uint64_t>;

// Collects the operators of a node and of the graphs in its attributes.
void CollectCalls(std::string_view node_proto, int depth, Calls* calls) {
  if (depth > kMaxNesting) Fail(StatusCode::kInvalidGraph, "graphs are nested more than {} levels deep", kMaxNesting);
  std::string_view op_type, domain, overload;
  const auto graph_calls = [&](std::string_view graph_proto) {
    WireReader reader(graph_proto, "GraphProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::graph::kNode) CollectCalls(field.Bytes(), depth + 1, calls);
    }
  };
  const auto attribute_calls = [&](std::string_view attribute_proto) {
    WireReader reader(attribute_proto, "AttributeProto");
    for (WireField field; reader.Next(&field);) {
      if (field.number == proto::attribute::kGraph || field.number == proto::attribute::kGraphs)
        graph_calls(field.Bytes());
    }
  };
  WireReader reader(node_proto, "NodeProto");
  for (WireField field; reader.Next(&field);) {
    if (field.number == proto::node::kOpType) op_type = field.Bytes();
    if (field.number == proto::node::kDomain) domain = NormalDomain(field.Bytes());
    if (field.number == proto::node::kOverload) overload = field.Bytes();
    if (field.number == proto::node::kAttribute) attribute_calls(field.Bytes());
  }
  ++(*calls)[{std::string(domain), QualifiedOpType(op_type, overload)}];
}

}  // namespace

ModelFunctions::ModelFunctions(const std::vector<std::string_view>& function_protos, std::shared_ptr<const void> owner,
                               std::shared_ptr<ExternalData> external)
    : owner_(std::move(owner)), external_(std::move(external)), tensors_(owner_, external_.get()) {
  if (!owner_) copies_.reserve(function_protos.size());
  for (const std::string_view bytes : function_protos) {
    protos_.push_back(owner_ ? bytes : std::string_view(copies_.emplace_back(bytes)));
    FunctionBody body = ReadFunction(protos_.back());
    if (body.name.empty()) Fail(StatusCode::kInvalidGraph, "the model has a function without a name");
    Key key{std::string(body.domain), QualifiedOpType(body.name, body.overload)};
    const auto [added, is_new] = bodies_.emplace(std::move(key), std::move(body));
    if (!is_new) {
      Fail(StatusCode::kInvalidGraph, "function '{}' of domain '{}' is defined twice", added->first.second,
           added->first.first);
    }
  }
  CheckCalls();
}

const FunctionBody* ModelFunctions::Find(std::string_view domain, std::string_view op_type) const {
  const auto found = bodies_.find({std::string(domain), std::string(op_type)});
  return found == bodies_.end() ? nullptr : &found->second;
}

void ModelFunctions::CheckCalls() const {
  // Depth-first search. Reaching a function that is still open means recursion. A closed one has its unfolded extent.
  struct Extent {
    uint64_t nodes = 0;
    int depth = 1;
  };
  struct Frame {
    const Key* key;
    Calls calls;
    Calls::const_iterator next;
    Extent extent;
  };
  std::map<Key, std::optional<Extent>> extents;  // nullopt: open
  std::vector<std::unique_ptr<Frame>> stack;
  const auto open = [&](const Key& key) {
    extents.emplace(key, std::nullopt);
    auto frame = std::make_unique<Frame>();
    frame->key = &key;
    for (const std::string_view node : bodies_.at(key).nodes) CollectCalls(node, 1, &frame->calls);
    frame->next = frame->calls.begin();
    stack.push_back(std::move(frame));
  };
  for (const auto& [root, unused] : bodies_) {
    if (!extents.contains(root)) open(root);
    while (!stack.empty()) {
      Frame& frame = *stack.back();
      if (frame.next == frame.calls.end()) {
        extents[*frame.key] = frame.extent;
        stack.pop_back();
        continue;
      }
      const auto& [call, count] = *frame.next;
      const auto callee = bodies_.find(call);
      const auto known = extents.find(call);
      if (callee != bodies_.end() && known == extents.end()) {
        open(callee->first);
        continue;
      }
      if (callee != bodies_.end() && !known->second) {
        Fail(StatusCode::kInvalidGraph, "function '{}' of domain '{}' calls itself; functions must not be recursive",
             call.second, call.first);
      }
      const Extent each = callee == bodies_.end() ? Extent{1, 0} : *known->second;
      frame.extent.nodes += count * each.nodes;
      frame.extent.depth = std::max(frame.extent.depth, each.depth + 1);
      if (count > kMaxUnfoldedNodes || frame.extent.nodes > kMaxUnfoldedNodes || frame.extent.depth > kMaxNesting) {
        Fail(StatusCode::kInvalidGraph, "function '{}' of domain '{}' unfolds to more than {} nodes or {} levels",
             frame.key->second, frame.key->first, kMaxUnfoldedNodes, kMaxNesting);
      }
      ++frame.next;
    }
  }
}

}  // namespace epiphyte::core
