// Inlines control flow that is decided before the run: an If with a known condition, a Loop that runs never or once.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/context_node.h"
#include "core/onnx/functions/inline_body.h"
#include "core/onnx/schema/schema.h"
#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

constexpr std::string_view kInlineIf = "InlineIf";
constexpr std::string_view kInlineLoop = "InlineLoop";

std::optional<bool> KnownCondition(const Constant* constant) {
  if (constant == nullptr || constant->type() != DataType::kBool || constant->element_count() != 1) return std::nullopt;
  return *static_cast<const uint8_t*>(constant->data()) != 0;
}

const Graph* BodyOf(const Node& node, std::string_view attribute) {
  const Attribute* body = node.FindAttribute(attribute);
  return body != nullptr && body->type() == AttributeType::kGraph ? &body->g() : nullptr;
}

void TellDecided(const TransformContext& context, const Node& node, std::string_view runs) {
  if (context.history != nullptr) context.history->Decided(node, runs);
}

class InlineIf final : public BasicRule {
 public:
  InlineIf() : BasicRule(kInlineIf, {"If"}) {}

  bool Apply(Graph&, Node& node, const TransformContext& context) override {
    const auto condition = KnownCondition(ConstantInput(node, 0));
    if (!condition || HoldsContextNode(node)) return false;
    const std::string_view name = *condition ? "then_branch" : "else_branch";
    const Graph* branch = BodyOf(node, name);
    if (branch == nullptr || !branch->inputs().empty() || branch->outputs().size() != node.outputs().size())
      return false;
    std::vector<BodyResult> results;
    for (size_t i = 0; i < node.outputs().size(); ++i) results.push_back({i});
    if (!CanTakePlace(node, *branch, results)) return false;
    TellDecided(context, node, name);
    TakePlace(node, *branch, {}, results);
    return true;
  }
};

class InlineLoop final : public BasicRule {
 public:
  InlineLoop() : BasicRule(kInlineLoop, {"Loop"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const Graph* body = BodyOf(node, "body");
    const size_t given = CountWithoutTrailingNulls(node.inputs());
    if (body == nullptr || given < 2 || HoldsContextNode(node)) return false;
    const size_t carried = given - 2;
    if (body->inputs().size() != carried + 2 || body->outputs().size() != node.outputs().size() + 1 ||
        node.outputs().size() < carried)
      return false;
    const std::vector<ValueDef*> initial = Carried(node);
    if (std::any_of(initial.begin(), initial.end(), [](const ValueDef* v) { return v == nullptr; })) return false;
    const auto trips = KnownTrips(node, *body);
    if (trips == 0) return Skip(graph, node, *body, carried, context);
    return trips == 1 && RunOnce(graph, node, *body, carried, context);
  }

 private:
  static std::vector<ValueDef*> Carried(const Node& node) {
    const auto end = node.inputs().begin() + static_cast<std::ptrdiff_t>(CountWithoutTrailingNulls(node.inputs()));
    return {node.inputs().begin() + 2, end};
  }

  // Adds a constant with one number, as a scalar or with one dimension as the body declares it.
  template <typename T>
  static ValueDef* AddOne(Graph& graph, const ValueDef& input, std::string_view name, DataType type, T number) {
    const bool is_vector = input.type() != nullptr && input.type()->shape() && input.type()->shape()->size() == 1;
    std::vector<int64_t> dims(is_vector ? 1 : 0, 1);
    return graph.AddConstant(graph.FreshName(name), Constant::Copy(type, std::move(dims), &number, sizeof number));
  }

  // The number of iterations, 0 or 1; nullopt when it is unknown or greater.
  static std::optional<int64_t> KnownTrips(const Node& node, const Graph& body) {
    const auto begins = node.input(1) == nullptr ? true : KnownCondition(ConstantInput(node, 1));
    const Constant* count = ConstantInput(node, 0);
    const auto most = count == nullptr || count->type() != DataType::kInt64 || count->element_count() != 1
                          ? std::nullopt
                          : Integers(count);
    if (begins == false || (most && most->front() <= 0)) return 0;
    if (begins != true) return std::nullopt;
    if (most && most->front() == 1) return 1;
    const bool begins_for_sure = node.input(0) == nullptr || most.has_value();
    const auto goes_on = KnownCondition(body.outputs()[0]->ResolvedConstant().get());
    return begins_for_sure && goes_on == false ? std::optional<int64_t>(1) : std::nullopt;
  }

  // Replaces a Loop that never runs: final values are the initial ones, and scan outputs are empty.
  static bool Skip(Graph& graph, Node& node, const Graph& body, size_t carried, const TransformContext& context) {
    const std::vector<ValueDef*> outputs = node.outputs();
    std::vector<ConstantPtr> empty(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      const ValueDef* slice = i < carried ? node.input(2 + i) : body.outputs()[1 + i];
      if (!MayBecome(*outputs[i], *slice, i < carried)) return false;
      if (i < carried) continue;
      std::vector<int64_t> dims = StaticShape(slice).value();
      dims.insert(dims.begin(), 0);
      empty[i] = Constant::Copy(slice->type()->element_type(), dims, nullptr, 0);
    }
    TellDecided(context, node, "");
    const std::vector<ValueDef*> initial = Carried(node);
    graph.RemoveNode(&node);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      if (i < carried) {
        LeadTo(graph, outputs[i], initial[i]);
      } else if (outputs[i]->IsOutput()) {
        LeadTo(graph, outputs[i], graph.AddConstant(graph.FreshName(outputs[i]->name() + "/empty"), empty[i]));
      } else {
        graph.SetConstant(outputs[i], empty[i]);
      }
    }
    return true;
  }

  // Whether `output` may be replaced: by the value of `source` when it is carried, otherwise by an empty tensor of its
  // type.
  static bool MayBecome(const ValueDef& output, const ValueDef& source, bool carried) {
    const bool is_tensor = source.type() != nullptr && source.type()->IsTensor();
    if (!carried && (!StaticShape(&source) || source.type()->element_type() == DataType::kString)) return false;
    if (!output.IsOutput()) return true;
    if (!is_tensor) return false;
    return !carried || output.type() == nullptr || MergeTypes(output.type(), source.type()) != nullptr;
  }

  static bool RunOnce(Graph& graph, Node& node, const Graph& body, size_t carried, const TransformContext& context) {
    std::vector<BodyResult> results;
    for (size_t i = 0; i < node.outputs().size(); ++i) results.push_back({1 + i, i >= carried});
    if (!CanTakePlace(node, body, results)) return false;
    std::vector<ValueDef*> arguments = {AddOne<int64_t>(graph, *body.inputs()[0], "iteration", DataType::kInt64, 0),
                                        AddOne<uint8_t>(graph, *body.inputs()[1], "condition", DataType::kBool, 1)};
    const std::vector<ValueDef*> initial = Carried(node);
    arguments.insert(arguments.end(), initial.begin(), initial.end());
    TellDecided(context, node, "body");
    TakePlace(node, body, arguments, results);
    return true;
  }
};

}  // namespace

bool InlinesControlFlow(const std::vector<std::string>& changed) {
  return std::any_of(changed.begin(), changed.end(),
                     [](const std::string& name) { return name == kInlineIf || name == kInlineLoop; });
}

std::unique_ptr<RewriteRule> MakeInlineIf() { return std::make_unique<InlineIf>(); }
std::unique_ptr<RewriteRule> MakeInlineLoop() { return std::make_unique<InlineLoop>(); }

}  // namespace epiphyte::core
