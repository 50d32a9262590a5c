#include "tests/onnx/inference_sweep/inference_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/onnx/inference_sweep/value_pools.h"

namespace epiphyte::test {
namespace {

using core::DataType;
using core::Dim;
using core::Graph;
using core::OperatorSchema;
using core::Type;
using core::TypePtr;
using core::ValueDef;

constexpr size_t kMostInputs = 9;
constexpr size_t kMostOutputs = 6;
constexpr int kMostRank = 6;
constexpr int kUnknownRank = -1;

DataType FirstAllowed(const OperatorSchema::Parameter* parameter) {
  if (parameter == nullptr || parameter->element_types == 0) return DataType::kFloat;
  constexpr DataType kPreferred[] = {DataType::kFloat, DataType::kInt64, DataType::kUint8, DataType::kBool};
  for (const DataType type : kPreferred)
    if ((parameter->element_types >> static_cast<int>(type) & 1) != 0) return type;
  for (int32_t type = 1; core::IsValidDataType(type); ++type)
    if ((parameter->element_types >> type & 1) != 0) return static_cast<DataType>(type);
  return DataType::kFloat;
}

InferenceCase Without(InferenceCase c, const std::string& attribute) {
  std::erase_if(c.attributes, [&](const CaseAttribute& one) { return one.text.starts_with(attribute + "="); });
  return c;
}

CaseInput OfType(TypePtr type) { return {CaseInput::Source::kGraphInput, std::move(type), nullptr}; }

}  // namespace

std::string CaseInput::Describe() const {
  switch (source) {
    case Source::kLeftOut: return "left out";
    case Source::kGraphInput: return type ? type->ToString() : "unknown";
    case Source::kShapeNode: return "shape of " + type->ToString();
    case Source::kConstant: {
      std::string text =
          fmt::format("constant {}[{}]", core::DataTypeName(constant->type()), fmt::join(constant->dims(), ","));
      if (constant->type() != DataType::kInt64 || constant->element_count() > 8) return text;
      std::vector<int64_t> values(constant->element_count());
      if (!values.empty()) std::memcpy(values.data(), constant->bytes(), constant->byte_size());
      return text + fmt::format("={{{}}}", fmt::join(values, ","));
    }
  }
  return "?";
}

std::string InferenceCase::Describe() const {
  std::string text = fmt::format("{}{}{}-{}(", domain, domain.empty() ? "" : ".", op_type, version);
  for (size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? "" : ", ") + inputs[i].Describe();
  text += ") <";
  for (size_t i = 0; i < attributes.size(); ++i) text += (i == 0 ? "" : ", ") + attributes[i].text;
  text += "> ->";
  for (const bool output : outputs) text += output ? " y" : " _";
  return text;
}

CaseMaker::CaseMaker(const OperatorSchema& schema, int64_t version, SweepDepth depth)
    : schema_(schema), version_(version), depth_(depth), input_pool_(InputPool()) {
  const auto bounded = [](uint32_t count, size_t most) { return std::min<size_t>(count, most); };
  most_inputs_ = std::max<size_t>(bounded(schema.max_inputs, kMostInputs), schema.min_inputs);
  plausible_inputs_ = std::max<size_t>(bounded(schema.max_inputs, 3), schema.min_inputs);
  if (!schema.variadic_inputs) plausible_inputs_ = std::max(plausible_inputs_, most_inputs_);
  most_outputs_ = std::max<size_t>(bounded(schema.max_outputs, kMostOutputs), schema.min_outputs);
  plausible_outputs_ = std::max<size_t>(bounded(schema.max_outputs, 3), schema.min_outputs);
  if (schema.libonnx != nullptr) {
    for (const auto& [name, rule] : schema.libonnx->attributes()) {
      const auto type = static_cast<core::AttributeType>(rule.type);
      attributes_.push_back({name, type, AttributePool(name, type)});
      if (rule.required) required_.push_back(attributes_.back().values.front());
    }
  }
  for (int rank = kUnknownRank; rank <= kMostRank; ++rank) systematic_.push_back(Plausible(rank));
  AddInputCounts();
  AddInputs();
  AddAttributes();
  AddBodies();
  AddOutputs();
}

bool CaseMaker::has_graph_attributes() const {
  return std::ranges::any_of(attributes_, [](const Slot& slot) { return slot.type == core::AttributeType::kGraph; });
}

CaseInput CaseMaker::TensorFor(size_t input, int rank) const {
  return OfType(TensorType(FirstAllowed(schema_.input(input)), rank));
}

InferenceCase CaseMaker::Plausible(int rank) const {
  InferenceCase c{
      schema_.domain, schema_.op_type, version_, {}, required_, std::vector<bool>(plausible_outputs_, true)};
  for (size_t i = 0; i < plausible_inputs_; ++i) c.inputs.push_back(TensorFor(i, rank));
  return c;
}

void CaseMaker::AddInputCounts() {
  for (size_t count = 0; count <= most_inputs_ + 2; ++count) {
    for (const int rank : {0, 1, 3, 4}) {
      InferenceCase c = Plausible(rank);
      c.inputs.clear();
      for (size_t i = 0; i < count; ++i) c.inputs.push_back(TensorFor(i, rank));
      systematic_.push_back(c);
      for (CaseInput& input : c.inputs) input = {CaseInput::Source::kLeftOut, nullptr, nullptr};
      systematic_.push_back(c);
      for (CaseInput& input : c.inputs) input = OfType(nullptr);
      systematic_.push_back(std::move(c));
    }
  }
}

void CaseMaker::AddInputs() {
  for (size_t i = 0; i < plausible_inputs_; ++i) {
    for (const int rank : {1, 2, 3, 4}) {
      for (int other = kUnknownRank; other <= kMostRank; ++other) {
        InferenceCase c = Plausible(rank);
        c.inputs[i] = TensorFor(i, other);
        systematic_.push_back(std::move(c));
      }
    }
    std::vector<int> ranks = {3};
    if (depth_ == SweepDepth::kThorough) ranks = {kUnknownRank, 0, 1, 2, 3, 4};
    for (const int rank : ranks) {
      for (const CaseInput& input : input_pool_) {
        InferenceCase c = Plausible(rank);
        c.inputs[i] = input;
        systematic_.push_back(std::move(c));
      }
    }
  }
  for (const CaseInput& input : input_pool_) {
    InferenceCase c = Plausible(3);
    for (CaseInput& one : c.inputs) one = input;
    systematic_.push_back(std::move(c));
  }
}

void CaseMaker::AddAttributes() {
  std::vector<int> ranks = {kUnknownRank, 1, 2, 3, 4};
  if (depth_ == SweepDepth::kThorough) ranks = {kUnknownRank, 0, 1, 2, 3, 4, 5};
  for (const Slot& slot : attributes_) {
    for (const int rank : ranks) {
      systematic_.push_back(Without(Plausible(rank), slot.name));
      for (const CaseAttribute& value : slot.values) {
        InferenceCase c = Without(Plausible(rank), slot.name);
        c.attributes.push_back(value);
        systematic_.push_back(std::move(c));
      }
    }
  }
  InferenceCase none = Plausible(3);
  none.attributes.clear();
  systematic_.push_back(std::move(none));
}

// Adds bodies that fit the node's inputs and outputs, and bodies that don't.
void CaseMaker::AddBodies() {
  const std::vector<int> ranks = depth_ == SweepDepth::kThorough ? std::vector<int>{0, 1, 3} : std::vector<int>{2};
  for (const Slot& slot : attributes_) {
    if (slot.type != core::AttributeType::kGraph) continue;
    for (const CaseAttribute& body : slot.values) {
      for (const int rank : ranks) {
        for (size_t inputs = schema_.min_inputs; inputs <= 4; ++inputs) {
          for (size_t outputs = schema_.min_outputs; outputs <= 4; ++outputs) {
            InferenceCase c = Without(Plausible(rank), slot.name);
            c.attributes.push_back(body);
            c.inputs.clear();
            for (size_t i = 0; i < inputs; ++i) c.inputs.push_back(TensorFor(i, rank));
            c.outputs.assign(outputs, true);
            systematic_.push_back(std::move(c));
          }
        }
      }
    }
  }
}

void CaseMaker::AddOutputs() {
  for (size_t count = 0; count <= most_outputs_ + 2; ++count) {
    InferenceCase c = Plausible(3);
    c.outputs.assign(count, true);
    systematic_.push_back(c);
    for (size_t i = 0; i < count; ++i) {
      InferenceCase part = c;
      part.outputs[i] = false;
      systematic_.push_back(std::move(part));
    }
  }
}

InferenceCase CaseMaker::MakeRandom(std::mt19937& random) const {
  InferenceCase c = Plausible(static_cast<int>(random() % (kMostRank + 2)) - 1);
  c.inputs.resize(random() % (most_inputs_ + 2));
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const bool is_plain = random() % 2 == 0;
    c.inputs[i] = is_plain ? TensorFor(i, static_cast<int>(random() % (kMostRank + 2)) - 1)
                           : input_pool_[random() % input_pool_.size()];
  }
  if (random() % 8 == 0) c.attributes.clear();
  for (const Slot& slot : attributes_) {
    if (random() % 2 == 0) continue;
    c = Without(std::move(c), slot.name);
    c.attributes.push_back(slot.values[random() % slot.values.size()]);
  }
  c.outputs.assign(random() % (most_outputs_ + 2), true);
  if (!c.outputs.empty() && random() % 4 == 0) c.outputs[random() % c.outputs.size()] = false;
  return c;
}

std::unique_ptr<Graph> BuildGraph(const InferenceCase& c) {
  auto graph = std::make_unique<Graph>("g");
  graph->SetOpset("", core::kMaxOnnxOpset);
  std::vector<ValueDef*> inputs, outputs;
  for (const CaseInput& input : c.inputs) {
    switch (input.source) {
      case CaseInput::Source::kLeftOut: inputs.push_back(nullptr); break;
      case CaseInput::Source::kGraphInput: inputs.push_back(graph->AddInput("", input.type)); break;
      case CaseInput::Source::kConstant: inputs.push_back(graph->AddConstant("", input.constant)); break;
      case CaseInput::Source::kShapeNode:
        inputs.push_back(graph->AddValue(""));
        graph->AddNode("Shape", "", 13, {graph->AddInput("", input.type)}, {inputs.back()});
        break;
    }
  }
  for (const bool is_there : c.outputs) outputs.push_back(is_there ? graph->AddValue("") : nullptr);
  std::vector<core::Attribute> attributes;
  for (const CaseAttribute& attribute : c.attributes) attributes.push_back(attribute.make());
  graph->AddNode(c.op_type, c.domain, c.version, std::move(inputs), std::move(outputs), std::move(attributes));
  return graph;
}

}  // namespace epiphyte::test
