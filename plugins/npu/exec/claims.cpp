#include "plugins/npu/exec/claims.h"

#include <optional>
#include <unordered_map>

#include "epiphyte/kit/qdq/host_units.hpp"
#include "epiphyte/kit/qdq/rules.hpp"
#include "plugins/npu/graph/lower.h"

namespace epiphyte::npu {
namespace {

constexpr const char* kAdvice =
    "; the NPU computes on quantised numbers: quantise the model to 8 bits (QuantizeLinear and DequantizeLinear around "
    "each operator), and it can run here";

class Claimer {
 public:
  Claimer(const EpHostInfo& host, const SdkContext& context, const kit::GraphView& graph, kit::Claims& claims)
      : host_(host), context_(context), claims_(claims) {
    qdq::Options options = UnitOptions();
    options.refuse = [this](const ir::Editor& editor, const qdq::Unit& unit) { return Refuse(editor, unit); };
    units_ = qdq::FindHostUnits(host, graph.handle(), options);
  }

  void Claim() {
    for (const qdq::Group& group : units_.groups) claims_.Together(group.nodes, group.name);
    const ir::Editor editor(units_.graph);
    if (!meanings_) meanings_.emplace(editor);
    done_.assign(units_.graph.nodes.size(), false);
    for (const qdq::Unit& unit : units_.found.units)
      if (!unit.IsQdq() && !IsPlaced(unit.target)) ClaimNode(editor, unit.target);
    for (const qdq::Unit& unit : units_.found.units)
      if (!unit.IsQdq() && !IsPlaced(unit.target) && !done_[static_cast<size_t>(unit.target)])
        claims_.Decline(units_.HandleOf(unit.target), ReasonOf(unit.target));
  }

 private:
  bool IsPlaced(int32_t node) const { return kit::NodeView(host_, units_.HandleOf(node)).placed(); }

  // Answers are cached, because FindHostUnits asks more than once about units that share nodes.
  std::string Refuse(const ir::Editor& editor, const qdq::Unit& unit) {
    const auto [answer, is_new] = answers_.try_emplace(unit.target);
    if (is_new) {
      if (!meanings_) meanings_.emplace(editor);
      answer->second = WhyNot(context_, editor, *meanings_, OpOfUnit(editor, unit));
    }
    return answer->second;
  }

  void ClaimNode(const ir::Editor& editor, int32_t node) {
    std::string why;
    const std::vector<QuantizedOp> works = OpsOfNode(editor, *meanings_, node, &why);
    std::vector<const EpNode*> nodes;
    for (const QuantizedOp& work : works) {
      if (why.empty()) why = WhyNot(context_, editor, *meanings_, work);
      for (const int32_t each : work.nodes) {
        if (IsPlaced(each)) why = "another provider has a node that it is computed with";
        if (nodes.empty() || each != node) nodes.push_back(units_.HandleOf(each));
      }
    }
    if (works.empty() || !why.empty()) {
      if (!why.empty()) reasons_[node] = why;
      return;
    }
    for (const QuantizedOp& work : works)
      for (const int32_t each : work.nodes) done_[static_cast<size_t>(each)] = true;
    if (nodes.size() == 1) {
      claims_.Support(nodes[0]);
    } else {
      claims_.Together(nodes, "Rescale");
    }
  }

  std::string ReasonOf(int32_t node) const {
    if (const auto found = reasons_.find(node); found != reasons_.end()) return found->second;
    const std::string& reason = units_.found.reasons[static_cast<size_t>(node)];
    const ir::Node& declined = units_.graph.nodes[static_cast<size_t>(node)];
    const bool asked = answers_.contains(node);
    const bool is_end = qdq::IsQuantize(declined) || qdq::IsDequantize(declined);
    return asked || is_end || qdq::FindRule(declined) == nullptr ? reason : reason + kAdvice;
  }

  const EpHostInfo& host_;
  const SdkContext& context_;
  kit::Claims& claims_;
  std::optional<Meanings> meanings_;
  std::unordered_map<int32_t, std::string> answers_, reasons_;  // by node
  std::vector<bool> done_;
  qdq::HostUnits units_;
};

}  // namespace

qdq::Options UnitOptions() {
  qdq::Options options;
  options.narrowest_bits = 8;
  options.widest_bits = 8;
  options.any_weight_sign = true;  // the SDK decides
  return options;
}

std::string WhyNot(const SdkContext& context, const ir::Editor& editor, const Meanings& meanings,
                   const QuantizedOp& work) {
  try {
    FlatGraph graph("question");
    Lowering lowering(editor, meanings, context.target(), ConstantData::kLeftOut, graph);
    lowering.Add(work);
    graph.SetPortsOfOps();
    const NsdkGraph& flat = graph.Get();
    for (uint32_t op = 0; op < graph.op_count(); ++op) {
      const std::string why = context.WhyNot(flat, op);
      if (!why.empty()) return why;
    }
    return {};
  } catch (const Refused& refused) {
    return refused.what();
  }
}

void ClaimNodes(const EpHostInfo& host, const SdkContext& context, const kit::GraphView& graph, kit::Claims& claims) {
  Claimer(host, context, graph, claims).Claim();
}

}  // namespace epiphyte::npu
