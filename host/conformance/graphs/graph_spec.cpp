#include "host/conformance/graphs/graph_spec.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace epiphyte::conformance {
namespace {

uint64_t BitsOf(EpElementType type) {
  switch (type) {
    case EP_TYPE_UINT2:
    case EP_TYPE_INT2: return 2;
    case EP_TYPE_UINT4:
    case EP_TYPE_INT4:
    case EP_TYPE_FLOAT4E2M1: return 4;
    case EP_TYPE_UINT16:
    case EP_TYPE_INT16:
    case EP_TYPE_FLOAT16:
    case EP_TYPE_BFLOAT16: return 16;
    case EP_TYPE_FLOAT:
    case EP_TYPE_INT32:
    case EP_TYPE_UINT32: return 32;
    case EP_TYPE_INT64:
    case EP_TYPE_UINT64:
    case EP_TYPE_DOUBLE:
    case EP_TYPE_COMPLEX64: return 64;
    case EP_TYPE_COMPLEX128: return 128;
    case EP_TYPE_STRING: return 8 * sizeof(EpString);
    default: return 8;
  }
}

}  // namespace

std::string OperatorsIn(std::span<const GraphSpec> graphs) {
  constexpr size_t kMost = 16;
  std::vector<std::string> names;
  for (const GraphSpec& graph : graphs) {
    for (const NodeSpec& node : graph.nodes) {
      const std::string name = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

uint64_t ByteSize(EpElementType type, std::span<const int64_t> dims) {
  uint64_t count = 1;
  for (const int64_t dim : dims) count *= dim < 0 ? 0 : static_cast<uint64_t>(dim);
  return (count * BitsOf(type) + 7) / 8;
}

int GraphSpec::AddValue(std::string value_name, EpElementType type, std::vector<int64_t> dims) {
  ValueSpec value;
  value.name = std::move(value_name);
  value.type = type;
  value.dims = std::move(dims);
  values.push_back(std::move(value));
  return static_cast<int>(values.size()) - 1;
}

int GraphSpec::AddInput(std::string value_name, EpElementType type, std::vector<int64_t> dims) {
  inputs.push_back(AddValue(std::move(value_name), type, std::move(dims)));
  return inputs.back();
}

int GraphSpec::AddOutput(std::string value_name, EpElementType type, std::vector<int64_t> dims) {
  outputs.push_back(AddValue(std::move(value_name), type, std::move(dims)));
  return outputs.back();
}

int GraphSpec::AddConstant(std::string value_name, std::vector<int64_t> dims, std::span<const float> data) {
  const int index = AddValue(std::move(value_name), EP_TYPE_FLOAT, std::move(dims));
  ValueSpec& value = values[static_cast<size_t>(index)];
  value.is_constant = true;
  value.data.resize(data.size_bytes());
  std::memcpy(value.data.data(), data.data(), data.size_bytes());
  return index;
}

NodeSpec& GraphSpec::AddNode(std::string op_type, std::vector<int> node_inputs, std::vector<int> node_outputs,
                             int64_t since_version) {
  NodeSpec node;
  node.name = op_type + "_" + std::to_string(nodes.size());
  node.op_type = std::move(op_type);
  node.inputs = std::move(node_inputs);
  node.outputs = std::move(node_outputs);
  node.since_version = since_version;
  nodes.push_back(std::move(node));
  return nodes.back();
}

GraphSpec GraphSpec::Part(std::span<const size_t> members, std::string part_name) const {
  GraphSpec part;
  part.name = std::move(part_name);
  part.opset = opset;
  std::map<int, int> moved;  // from the index in this graph to the index in the part
  const auto move = [&](int value) {
    if (value < 0) return -1;
    const auto [at, is_new] = moved.emplace(value, static_cast<int>(part.values.size()));
    if (is_new) part.values.push_back(values[static_cast<size_t>(value)]);
    return at->second;
  };
  std::set<int> made;
  std::set<int> used_outside(outputs.begin(), outputs.end());
  std::vector<size_t> sorted(members.begin(), members.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool inside = std::binary_search(sorted.begin(), sorted.end(), i);
    if (inside) {
      made.insert(nodes[i].outputs.begin(), nodes[i].outputs.end());
    } else {
      used_outside.insert(nodes[i].inputs.begin(), nodes[i].inputs.end());
    }
  }
  std::set<int> given;
  for (const size_t member : sorted) {
    NodeSpec node = nodes[member];
    for (int& value : node.inputs) {
      const int old = value;
      value = move(old);
      const bool comes_from_outside = old >= 0 && !made.contains(old) && !values[static_cast<size_t>(old)].is_constant;
      if (comes_from_outside && given.insert(old).second) part.inputs.push_back(value);
    }
    for (int& value : node.outputs) {
      const int old = value;
      value = move(old);
      if (old >= 0 && used_outside.contains(old)) part.outputs.push_back(value);
    }
    part.nodes.push_back(std::move(node));
  }
  return part;
}

bool GraphSpec::LeavesAndComesBack(std::span<const size_t> members) const {
  const std::set<size_t> inside(members.begin(), members.end());
  std::set<int> of_members;  // values that members make
  std::set<int> behind;      // values outside that depend on a member
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool member = inside.contains(i);
    const auto reads = [&](const std::set<int>& some) {
      return std::any_of(nodes[i].inputs.begin(), nodes[i].inputs.end(),
                         [&](int value) { return some.contains(value); });
    };
    if (member && reads(behind)) return true;
    if (!member && (reads(of_members) || reads(behind))) {
      behind.insert(nodes[i].outputs.begin(), nodes[i].outputs.end());
    }
    if (member) of_members.insert(nodes[i].outputs.begin(), nodes[i].outputs.end());
  }
  return false;
}

}  // namespace epiphyte::conformance
