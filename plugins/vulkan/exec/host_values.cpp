#include "plugins/vulkan/exec/host_values.h"

#include <algorithm>

#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::vulkan {
namespace {

class Finder {
 public:
  Finder(const ir::Graph& graph, const OperatorTable& operators, const std::vector<bool>& foreign)
      : graph_(graph), foreign_(foreign), required_(graph.values.size(), false) {
    for (const ir::Node& node : graph.nodes) operators_.push_back(OperatorOf(operators, node));
  }

  HostValues Find() {
    HostValues values;
    values.could_know = Spread([&](int32_t value) { return MayBeRead(value); });
    Require();
    values.known = Spread([&](int32_t value) { return required_[static_cast<size_t>(value)] && MayBeRead(value); });
    for (const int32_t input : graph_.inputs)
      values.reads_inputs.push_back(values.known[static_cast<size_t>(input)]);
    return values;
  }

 private:
  bool IsForeign(size_t node) const { return !foreign_.empty() && foreign_[node]; }

  const Operator* OperatorOf(const OperatorTable& operators, const ir::Node& node) const {
    EpElementType type = EP_TYPE_UNDEFINED;
    if (node.HasInput(0)) {
      type = graph_.values[static_cast<size_t>(node.inputs[0])].type;
    } else if (node.HasOutput(0)) {
      type = graph_.values[static_cast<size_t>(node.outputs[0])].type;
    }
    return operators.Find(node.domain, node.op_type, node.since_version, type);
  }

  // Whether the host can compute with the value: its element type is a host type, and it isn't known to have more than
  // kMostHostElements elements.
  bool IsSmall(int32_t value) const {
    const ir::Value& info = graph_.values[static_cast<size_t>(value)];
    uint64_t count = 0;
    if (info.kind != EP_KIND_TENSOR || !IsHostType(info.type)) return false;
    return !info.IsStatic() || (kit::CountElements(info.dims, &count) && count <= uint64_t{kMostHostElements});
  }
  // Whether the host may read this value as an input. Shapes and axes have at most one dimension. A value of higher
  // rank and unknown size counts as data and stays on the device, because a run would fail if it were large. Nodes that
  // would need it on the host are left to another provider.
  bool MayBeRead(int32_t value) const {
    const ir::Value& info = graph_.values[static_cast<size_t>(value)];
    return IsSmall(value) && (info.rank <= 1 || info.IsStatic());
  }

  // By value: whether the host knows it, given the inputs for which `reads` is true.
  template <typename Reads>
  std::vector<bool> Spread(const Reads& reads) const {
    std::vector<bool> known(graph_.values.size(), false);
    const auto is_known = [&](int32_t value) { return value < 0 || known[static_cast<size_t>(value)]; };
    for (const ir::Constant& constant : graph_.constants)
      known[static_cast<size_t>(constant.value)] =
          ir::IsThere(constant) && IsHostType(constant.tensor.type) && constant.tensor.Count() <= kMostHostElements;
    for (const int32_t input : graph_.inputs) known[static_cast<size_t>(input)] = reads(input);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const ir::Node& node = graph_.nodes[n];
      const Operator* op = operators_[n];
      const bool on_host =
          op != nullptr && (op->of_shapes || (op->on_host != nullptr &&
                                              std::all_of(node.inputs.begin(), node.inputs.end(), is_known)));
      for (const int32_t output : node.outputs)
        if (output >= 0)
          known[static_cast<size_t>(output)] = IsForeign(n) ? reads(output) : on_host && IsSmall(output);
    }
    return known;
  }

  // Marks the values that must be on the host, from the nodes that need elements there back to the values that these
  // are computed from.
  void Require() {
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const ir::Node& node = graph_.nodes[n];
      const Operator* op = operators_[n];
      if (op == nullptr || IsForeign(n)) continue;
      for (size_t i = 0; i < node.inputs.size() && i < 32; ++i)
        if (node.HasInput(i) && (op->host_inputs >> i & 1) != 0) required_[static_cast<size_t>(node.inputs[i])] = true;
      const bool any = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int32_t output) {
        return output >= 0 && required_[static_cast<size_t>(output)];
      });
      if (!any || op->of_shapes || op->on_host == nullptr) continue;
      for (const int32_t input : node.inputs)
        if (input >= 0) required_[static_cast<size_t>(input)] = true;
    }
  }

  const ir::Graph& graph_;
  const std::vector<bool>& foreign_;
  std::vector<const Operator*> operators_;
  std::vector<bool> required_;
};

}  // namespace

HostValues FindHostValues(const ir::Graph& graph, const OperatorTable& operators, const std::vector<bool>& foreign) {
  return Finder(graph, operators, foreign).Find();
}

}  // namespace epiphyte::vulkan
