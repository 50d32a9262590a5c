#include "core/runtime/scan.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/schema/schema.h"
#include "core/runtime/stack.h"

namespace epiphyte::core {
namespace {

const Graph& BodyOf(const Node& node) {
  const Attribute* body = node.FindAttribute("body");
  if (body == nullptr || body->type() != AttributeType::kGraph) {
    Fail(StatusCode::kInvalidGraph, "{}: attribute 'body' is missing or no graph", NodeLabel(node));
  }
  return body->g();
}

// Reads an attribute with one number for each scan input or output; a missing attribute is all zero.
std::vector<int64_t> PerScan(const Node& node, std::string_view name, size_t count) {
  const Attribute* attribute = node.FindAttribute(name);
  if (attribute == nullptr) return std::vector<int64_t>(count, 0);
  if (attribute->type() != AttributeType::kInts || attribute->ints().size() != count) {
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' must hold {} integers", NodeLabel(node), name, count);
  }
  return attribute->ints();
}

// Same as PerScan, for directions: 0 is forward, 1 is backward.
std::vector<int64_t> Directions(const Node& node, std::string_view name, size_t count) {
  std::vector<int64_t> directions = PerScan(node, name, count);
  for (const int64_t direction : directions) {
    if (direction == 0 || direction == 1) continue;
    Fail(StatusCode::kInvalidGraph, "{}: attribute '{}' holds {}, 0 (forward) or 1 (backward) expected",
         NodeLabel(node), name, direction);
  }
  return directions;
}

size_t ScanInputCount(const Node& node) {
  int64_t count = node.IntAttribute("num_scan_inputs", -1);
  if (count < 1 || static_cast<uint64_t>(count) > node.inputs().size()) {
    Fail(StatusCode::kInvalidGraph, "{}: num_scan_inputs is {}, expected 1 to {}", NodeLabel(node), count,
         node.inputs().size());
  }
  return static_cast<size_t>(count);
}

void CheckCounts(const Node& node, const Plan& body, size_t states, size_t scans) {
  if (body.input_count() != states + scans || body.output_count() != node.outputs().size() ||
      body.output_count() < states) {
    Fail(StatusCode::kInvalidGraph, "{}: its body has {} inputs and {} outputs; expected {} and {}", NodeLabel(node),
         body.input_count(), body.output_count(), states + scans, node.outputs().size());
  }
}

// `what`: "scan input" or "state".
const Value& TensorInput(Value* value, std::string_view node, std::string_view what, size_t index, size_t least_rank) {
  if (value == nullptr || !value->IsTensor() || value->dims().size() < least_rank) {
    Fail(StatusCode::kInvalidArgument, "{}: {} {} must be a tensor of rank {} or more", node, what, index, least_rank);
  }
  return *value;
}

// Stacks the results of the batches, `longest` steps each, into one tensor. A batch without steps is null and becomes
// zeros, with the shape of the others or else the one that the body declares.
ValuePtr StackBatches(std::vector<ValuePtr>& batches, int64_t longest, const Type* step_type, std::string_view what,
                      RunState& run) {
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  const auto take_after = [&](const Value& like) {
    type = like.type();
    dims.assign(like.dims().begin(), like.dims().end());
    dims[0] = longest;
  };
  const auto made = std::find_if(batches.begin(), batches.end(), [](const ValuePtr& batch) { return bool(batch); });
  if (made != batches.end()) {
    take_after(**made);
  } else {
    std::vector<ValuePtr> none;
    ValuePtr nothing = StackSlices(none, 0, step_type, what, run);
    take_after(*nothing);
    run.Drop(nothing);
  }
  if (batches.empty()) {
    dims.insert(dims.begin(), 0);
    return Zeros(type, dims, run);
  }
  for (ValuePtr& batch : batches) {
    if (!batch) batch = Zeros(type, dims, run);
  }
  return StackSlices(batches, 0, nullptr, what, run);
}

}  // namespace

ScanNode::ScanNode(const Node& node, const PlanTools& tools) : name_(NodeLabel(node)) {
  node_inputs_ = node.inputs().size();
  scan_inputs_ = ScanInputCount(node);
  states_ = node_inputs_ - scan_inputs_;
  const Graph& graph = BodyOf(node);
  body_ = BuildBody(graph, tools);
  CheckCounts(node, *body_.plan, states_, scan_inputs_);
  scan_outputs_ = body_.plan->output_count() - states_;
  input_axes_ = PerScan(node, "scan_input_axes", scan_inputs_);
  input_directions_ = Directions(node, "scan_input_directions", scan_inputs_);
  output_axes_ = PerScan(node, "scan_output_axes", scan_outputs_);
  output_directions_ = Directions(node, "scan_output_directions", scan_outputs_);
  for (size_t i = states_; i < graph.outputs().size(); ++i) scan_types_.push_back(graph.outputs()[i]->type());
}

void ScanNode::Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const {
  int64_t length = -1;
  for (size_t i = 0; i < scan_inputs_; ++i) {
    const Value& input = TensorInput(inputs[states_ + i], name_, "scan input", i, 1);
    int64_t rank = static_cast<int64_t>(input.dims().size());
    int64_t axis = input_axes_[i] < 0 ? input_axes_[i] + rank : input_axes_[i];
    if (axis < 0 || axis >= rank) {
      Fail(StatusCode::kInvalidArgument, "{}: scan_input_axes[{}] is {}, outside rank {}", name_, i, input_axes_[i],
           rank);
    }
    int64_t size = input.dims()[static_cast<size_t>(axis)];
    if (length >= 0 && size != length) {
      Fail(StatusCode::kInvalidArgument, "{}: scan inputs have lengths {} and {}; they must be equal", name_, length,
           size);
    }
    length = size;
  }
  std::vector<Value*> outer = OuterOf(body_, inputs.subspan(node_inputs_));
  std::vector<ValuePtr> arguments(states_ + scan_inputs_);
  for (size_t i = 0; i < states_; ++i) {
    if (inputs[i] == nullptr) Fail(StatusCode::kInvalidArgument, "{}: state {} is absent", name_, i);
    arguments[i] = ValuePtr::Share(inputs[i]);
  }
  std::vector<Value*> argument_pointers(arguments.size());
  std::vector<ValuePtr> results(body_.plan->output_count());
  std::vector<std::vector<ValuePtr>> scans(scan_outputs_);
  for (int64_t step = 0; step < length; ++step) {
    for (size_t i = 0; i < scan_inputs_; ++i) {
      int64_t index = input_directions_[i] == 0 ? step : length - 1 - step;
      run.Drop(arguments[states_ + i]);
      arguments[states_ + i] = TakeSlice(*inputs[states_ + i], input_axes_[i], index, run);
    }
    std::transform(arguments.begin(), arguments.end(), argument_pointers.begin(),
                   [](const ValuePtr& value) { return value.get(); });
    run.CheckStop();
    body_.plan->Run(argument_pointers, outer, results, run);
    for (size_t i = 0; i < states_; ++i) {
      run.Drop(arguments[i]);
      arguments[i] = std::move(results[i]);
    }
    for (size_t i = 0; i < scan_outputs_; ++i) scans[i].push_back(std::move(results[states_ + i]));
  }
  for (size_t i = 0; i < states_; ++i) outputs[i] = std::move(arguments[i]);
  for (size_t i = 0; i < scan_outputs_; ++i) {
    if (output_directions_[i] != 0) std::reverse(scans[i].begin(), scans[i].end());
    outputs[states_ + i] = StackSlices(scans[i], output_axes_[i], scan_types_[i].get(), name_, run);
  }
}

Scan8Node::Scan8Node(const Node& node, const PlanTools& tools) : name_(NodeLabel(node)) {
  node_inputs_ = node.inputs().size();
  scan_inputs_ = ScanInputCount(node);
  if (node_inputs_ < scan_inputs_ + 1) {
    Fail(StatusCode::kInvalidGraph, "{}: {} inputs can't hold sequence_lens and {} scan inputs", NodeLabel(node),
         node_inputs_, scan_inputs_);
  }
  states_ = node_inputs_ - scan_inputs_ - 1;
  const Graph& graph = BodyOf(node);
  body_ = BuildBody(graph, tools);
  CheckCounts(node, *body_.plan, states_, scan_inputs_);
  scan_outputs_ = body_.plan->output_count() - states_;
  directions_ = Directions(node, "directions", scan_inputs_);
  for (size_t i = states_; i < graph.outputs().size(); ++i) scan_types_.push_back(graph.outputs()[i]->type());
}

// Batches are independent, and each may have its own length; steps beyond it are zero.
void Scan8Node::Run(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState& run) const {
  const Value& first = TensorInput(inputs[1 + states_], name_, "scan input", 0, 2);
  int64_t batches = first.dims()[0];
  int64_t longest = first.dims()[1];
  for (size_t i = 0; i < states_ + scan_inputs_; ++i) {
    const Value& input = i < states_ ? TensorInput(inputs[1 + i], name_, "state", i, 1)
                                     : TensorInput(inputs[1 + i], name_, "scan input", i - states_, 2);
    if (input.dims()[0] != batches || (i >= states_ && input.dims()[1] != longest)) {
      Fail(StatusCode::kInvalidArgument, "{}: inputs disagree about the batch or sequence size", name_);
    }
  }
  std::vector<Value*> outer = OuterOf(body_, inputs.subspan(node_inputs_));
  std::vector<std::vector<ValuePtr>> batch_results(states_ + scan_outputs_);
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t length = longest;
    if (inputs[0] != nullptr) {
      if (inputs[0]->type() != DataType::kInt64 || inputs[0]->element_count() != static_cast<uint64_t>(batches)) {
        Fail(StatusCode::kInvalidArgument, "{}: sequence_lens must be {} int64", name_, batches);
      }
      length = inputs[0]->data_as<int64_t>()[batch];
      if (length < 0 || length > longest) {
        Fail(StatusCode::kInvalidArgument, "{}: sequence length {} is outside 0 to {}", name_, length, longest);
      }
    }
    std::vector<ValuePtr> arguments(states_ + scan_inputs_);
    std::vector<ValuePtr> sequences(scan_inputs_);
    for (size_t i = 0; i < states_; ++i) arguments[i] = TakeSlice(*inputs[1 + i], 0, batch, run);
    for (size_t i = 0; i < scan_inputs_; ++i) sequences[i] = TakeSlice(*inputs[1 + states_ + i], 0, batch, run);
    std::vector<Value*> argument_pointers(arguments.size());
    std::vector<ValuePtr> results(body_.plan->output_count());
    std::vector<std::vector<ValuePtr>> scans(scan_outputs_);
    for (int64_t step = 0; step < length; ++step) {
      for (size_t i = 0; i < scan_inputs_; ++i) {
        run.Drop(arguments[states_ + i]);
        arguments[states_ + i] = TakeSlice(*sequences[i], 0, directions_[i] == 0 ? step : length - 1 - step, run);
      }
      std::transform(arguments.begin(), arguments.end(), argument_pointers.begin(),
                     [](const ValuePtr& value) { return value.get(); });
      run.CheckStop();
      body_.plan->Run(argument_pointers, outer, results, run);
      for (size_t i = 0; i < states_; ++i) {
        run.Drop(arguments[i]);
        arguments[i] = std::move(results[i]);
      }
      for (size_t i = 0; i < scan_outputs_; ++i) scans[i].push_back(std::move(results[states_ + i]));
    }
    for (size_t i = 0; i < states_; ++i) batch_results[i].push_back(std::move(arguments[i]));
    for (size_t i = 0; i < scan_outputs_; ++i) {
      ValuePtr& result = batch_results[states_ + i].emplace_back();
      if (scans[i].empty()) continue;
      const Value& step = *scans[i].front();
      if (!step.IsTensor()) Fail(StatusCode::kInvalidGraph, "{}: only tensors can be stacked", name_);
      if (length < longest)
        scans[i].resize(static_cast<size_t>(longest),
                        Zeros(step.type(), {step.dims().begin(), step.dims().end()}, run));
      result = StackSlices(scans[i], 0, nullptr, name_, run);
    }
  }
  for (size_t i = 0; i < states_; ++i) {
    outputs[i] = batches == 0 ? ValuePtr::Share(inputs[1 + i]) : StackSlices(batch_results[i], 0, nullptr, name_, run);
  }
  for (size_t i = 0; i < scan_outputs_; ++i) {
    outputs[states_ + i] = StackBatches(batch_results[states_ + i], longest, scan_types_[i].get(), name_, run);
  }
}

}  // namespace epiphyte::core
