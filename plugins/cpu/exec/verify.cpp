#include "plugins/cpu/exec/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/graph/check.hpp"

namespace epiphyte::cpu {
namespace {

template <typename... Args>
[[noreturn]] void Refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw kit::Error(EP_STATUS_INVALID_GRAPH, FormatText(format, std::forward<Args>(args)...));
}

class Verifier {
 public:
  Verifier(const ir::Graph& plan, const KernelRegistry& registry) : plan_(plan), registry_(registry) {}

  std::vector<KernelRegistry::Choice> Run(std::span<const kit::PackedData> packed) {
    ir::Check(plan_);
    std::vector<KernelRegistry::Choice> choices;
    choices.reserve(plan_.nodes.size());
    for (const ir::Node& node : plan_.nodes) choices.push_back(CheckNode(node));
    CheckPacked(packed);
    CheckDropped(packed);
    return choices;
  }

 private:
  KernelRegistry::Choice CheckNode(const ir::Node& node) {
    try {
      DescribeArguments(node.inputs, plan_.values, &inputs_);
      DescribeArguments(node.outputs, plan_.values, &outputs_);
      std::string why;
      const KernelRegistry::Choice choice =
          registry_.Find(node.domain, node.op_type, node.since_version, inputs_, outputs_, &why);
      if (choice.entry == nullptr)
        throw kit::Error(choice.signature == nullptr ? EP_STATUS_NOT_IMPLEMENTED : EP_STATUS_INVALID_GRAPH, why);
      attributes_.clear();
      for (const ir::Attribute& attribute : node.attributes)
        attributes_.push_back({attribute.name, attribute.type, attribute.ints});
      if (!MatchAttributes(*choice.signature, attributes_, &why)) throw kit::Error(EP_STATUS_INVALID_GRAPH, why);
      if (node.domain == kit::fuse::kDomain && node.op_type == kit::fuse::kElementwise)
        kit::fuse::ReadElementwiseProgram(node);
      return choice;
    } catch (const kit::Error& error) {
      throw kit::Error(error.code(), FormatText("node '{}' ({}): {}", node.name, node.op_type, error.what()));
    }
  }

  void CheckPacked(std::span<const kit::PackedData> packed) const {
    std::set<std::pair<int32_t, std::string_view>> known;
    for (const kit::PackedData& entry : packed) {
      if (entry.node < 0 || static_cast<size_t>(entry.node) >= plan_.nodes.size())
        Refuse("packed data belongs to node {} of {}", entry.node, plan_.nodes.size());
      if (entry.data == nullptr && entry.bytes != 0) Refuse("packed data '{}' is not there", entry.key);
      if (!known.emplace(entry.node, entry.key).second)
        Refuse("packed data '{}' of node '{}' is there twice", entry.key,
               plan_.nodes[static_cast<size_t>(entry.node)].name);
    }
  }

  // The readers of a constant without bytes have packed it, so its size is bounded by their packed data. The bound is
  // loose, because packed numbers may be narrower than plain ones.
  void CheckDropped(std::span<const kit::PackedData> packed) const {
    std::vector<uint64_t> packed_by_node(plan_.nodes.size(), 0);
    for (const kit::PackedData& entry : packed) packed_by_node[static_cast<size_t>(entry.node)] += entry.bytes;
    std::vector<uint64_t> packed_of_constant(plan_.constants.size(), 0);
    std::vector<bool> is_read(plan_.constants.size(), false);
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      for (int32_t input : plan_.nodes[n].inputs) {
        const int32_t constant = input < 0 ? -1 : plan_.constant_of_value[static_cast<size_t>(input)];
        if (constant < 0) continue;
        packed_of_constant[static_cast<size_t>(constant)] += packed_by_node[n];
        is_read[static_cast<size_t>(constant)] = true;
      }
    }
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      const ir::Constant& constant = plan_.constants[i];
      if (constant.storage != ir::Constant::Storage::kDropped || !is_read[i] ||
          constant.tensor.Bytes() / 8 <= packed_of_constant[i])
        continue;
      Refuse("constant '{}' has {} bytes, of which its readers packed no more than {}",
             plan_.values[static_cast<size_t>(constant.value)].name, constant.tensor.Bytes(), packed_of_constant[i]);
    }
  }

  const ir::Graph& plan_;
  const KernelRegistry& registry_;
  std::vector<ArgumentType> inputs_;
  std::vector<ArgumentType> outputs_;
  std::vector<AttributeContent> attributes_;
};

}  // namespace

std::vector<KernelRegistry::Choice> VerifyPlan(const ir::Graph& plan, std::span<const kit::PackedData> packed,
                                               const KernelRegistry& registry, PlanOrigin origin) {
  try {
    return Verifier(plan, registry).Run(packed);
  } catch (const kit::Error& error) {
    if (origin == PlanOrigin::kMadeNow) throw;
    Refuse("the cpu context is damaged: partition '{}': {}; compile the model again", plan.name, error.what());
  }
}

}  // namespace epiphyte::cpu
