#include "core/runtime/if_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/schema/schema.h"
#include "core/runtime/stack.h"

namespace epiphyte::core {
namespace {

const Graph& RequiredBody(const Node& node, std::string_view attribute) {
  const Attribute* body = node.FindAttribute(attribute);
  if (body == nullptr || body->type() != AttributeType::kGraph) {
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' is missing or no graph", NodeLabel(node), attribute);
  }
  return body->g();
}

// Checks a condition or a count: it must be one element of `type`.
void CheckOne(const Value& value, DataType type, std::string_view node, std::string_view what) {
  if (value.IsTensor() && value.type() == type && value.element_count() == 1) return;
  const std::string found =
      value.IsTensor() ? fmt::format("{} of shape [{}]", DataTypeName(value.type()), fmt::join(value.dims(), ","))
                       : "no tensor";
  Fail(StatusCode::kInvalidArgument, "{}: the {} is {}; one element of {} expected", node, what, found,
       DataTypeName(type));
}

bool ReadCondition(const Value& value, std::string_view node) {
  CheckOne(value, DataType::kBool, node, "condition");
  return *value.data_as<uint8_t>() != 0;
}

// Dims of the single number that a body gets: one dimension if the body declares it so, else none.
std::vector<int64_t> DimsOfOne(const Graph& body, size_t input) {
  const TypePtr& type = body.inputs().at(input)->type();
  const bool is_vector = type && type->shape() && type->shape()->size() == 1;
  return std::vector<int64_t>(is_vector ? 1 : 0, 1);
}

Value* InputOrNull(std::span<Value* const> inputs, size_t index) {
  return index < inputs.size() ? inputs[index] : nullptr;
}

}  // namespace

IfNode::IfNode(const Node& node, const PlanTools& tools) : name_(NodeLabel(node)) {
  node_inputs_ = node.inputs().size();
  then_branch_ = BuildBody(RequiredBody(node, "then_branch"), tools);
  else_branch_ = BuildBody(RequiredBody(node, "else_branch"), tools);
  for (const Body* body : {&then_branch_, &else_branch_}) {
    if (CountWithoutTrailingNulls(node.inputs()) != 1 || body->plan->input_count() != 0 ||
        body->plan->output_count() != node.outputs().size()) {
      Fail(StatusCode::kInvalidGraph, "{}: it has {} inputs and {} outputs, a branch has {} and {}", NodeLabel(node),
           node_inputs_, node.outputs().size(), body->plan->input_count(), body->plan->output_count());
    }
  }
}

void IfNode::Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const {
  if (inputs[0] == nullptr) Fail(StatusCode::kInvalidArgument, "{}: the condition is absent", name_);
  const Body& body = ReadCondition(*inputs[0], name_) ? then_branch_ : else_branch_;
  body.plan->Run({}, OuterOf(body, inputs.subspan(node_inputs_)), outputs, run);
}

LoopNode::LoopNode(const Node& node, const PlanTools& tools) : name_(NodeLabel(node)) {
  node_inputs_ = node.inputs().size();
  const Graph& graph = RequiredBody(node, "body");
  body_ = BuildBody(graph, tools);
  // Trip count and condition may be left out, at the end too.
  const size_t given = std::max<size_t>(CountWithoutTrailingNulls(node.inputs()), 2);
  carried_ = given - 2;
  if (body_.plan->input_count() != given || body_.plan->output_count() < carried_ + 1 ||
      body_.plan->output_count() != node.outputs().size() + 1) {
    Fail(StatusCode::kInvalidGraph, "{}: it has {} inputs and {} outputs, its body has {} and {}; expected {} and {}",
         NodeLabel(node), node_inputs_, node.outputs().size(), body_.plan->input_count(), body_.plan->output_count(),
         given, node.outputs().size() + 1);
  }
  counter_dims_ = DimsOfOne(graph, 0);
  condition_dims_ = DimsOfOne(graph, 1);
  for (size_t i = carried_ + 1; i < graph.outputs().size(); ++i) scan_types_.push_back(graph.outputs()[i]->type());
}

void LoopNode::Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const {
  int64_t trips = INT64_MAX;
  const std::span<Value* const> own = inputs.first(node_inputs_);
  if (const Value* const most = InputOrNull(own, 0)) {
    CheckOne(*most, DataType::kInt64, name_, "trip count");
    trips = *most->data_as<int64_t>();
  }
  const Value* const condition_before = InputOrNull(own, 1);
  bool go_on = condition_before == nullptr || ReadCondition(*condition_before, name_);
  std::vector<Value*> outer = OuterOf(body_, inputs.subspan(node_inputs_));
  std::vector<ValuePtr> carried;
  for (size_t i = 0; i < carried_; ++i) carried.push_back(ValuePtr::Share(inputs[2 + i]));
  std::vector<std::vector<ValuePtr>> scans(scan_types_.size());
  std::vector<uint64_t> stacked(scan_types_.size(), 0);  // bytes of each scan output
  std::vector<ValuePtr> results(body_.plan->output_count());
  std::vector<Value*> arguments(carried_ + 2);
  ValuePtr condition = Value::Tensor(DataType::kBool, condition_dims_);
  for (int64_t trip = 0; trip < trips && go_on; ++trip) {
    ValuePtr counter = Value::Tensor(DataType::kInt64, counter_dims_);
    *static_cast<int64_t*>(counter->mutable_data()) = trip;
    *static_cast<uint8_t*>(condition->mutable_data()) = 1;
    arguments[0] = counter.get();
    arguments[1] = condition.get();
    for (size_t i = 0; i < carried_; ++i) arguments[2 + i] = carried[i].get();
    run.CheckStop();  // checked here because the body may have no step that does
    body_.plan->Run(arguments, outer, results, run);
    go_on = ReadCondition(*results[0], name_);
    run.Drop(results[0]);
    for (size_t i = 0; i < carried_; ++i) {
      run.Drop(carried[i]);
      carried[i] = std::move(results[1 + i]);
    }
    for (size_t i = 0; i < scans.size(); ++i) {
      ValuePtr& slice = scans[i].emplace_back(std::move(results[1 + carried_ + i]));
      // Checked here, before the slices fill the memory that the run may have.
      if (slice->IsTensor()) NamingErrors(name_, [&] { run.CheckValue(stacked[i] += slice->byte_size()); });
    }
  }
  for (size_t i = 0; i < carried_; ++i) outputs[i] = std::move(carried[i]);
  for (size_t i = 0; i < scans.size(); ++i) {
    outputs[carried_ + i] = StackSlices(scans[i], 0, scan_types_[i].get(), name_, run);
  }
}

}  // namespace epiphyte::core
