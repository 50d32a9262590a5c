#include "tests/models/quantizer/qdq_writer.h"

#include <algorithm>
#include <limits>

namespace epiphyte::test {
namespace {

using kit::qdq::Input;
using kit::qdq::Output;

bool IsNumbers(Input kind) { return kind == Input::kNumbers || kind == Input::kWeights; }

std::vector<int64_t> DimsOf(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

}  // namespace

QdqWriter::QdqWriter(const ModelFile& file, const GraphIndex& index, const QuantizedPlacement& placement,
                     const QuantizedRanges& ranges, const QuantizeOptions& options)
    : file_(file), index_(index), placement_(placement), ranges_(ranges), options_(options) {
  const onnx::GraphProto& graph = index.graph();
  for (const onnx::TensorProto& tensor : graph.initializer()) names_.insert(tensor.name());
  for (const onnx::ValueInfoProto& input : graph.input()) names_.insert(input.name());
  for (const onnx::NodeProto& node : graph.node()) names_.insert(node.output().begin(), node.output().end());
}

onnx::GraphProto QdqWriter::Write() {
  const onnx::GraphProto& source = index_.graph();
  graph_.set_name(source.name());
  *graph_.mutable_input() = source.input();
  *graph_.mutable_output() = source.output();
  for (int n = 0; n < source.node_size(); ++n) {
    if (placement_.IsClampOfUnit(n)) continue;
    if (placement_.IsQuantized(n)) {
      WriteUnit(n);
    } else {
      *graph_.add_node() = source.node(n);
    }
  }
  KeepUsedInitializers();
  return std::move(graph_);
}

// --- names and initializers

std::string QdqWriter::Fresh(const std::string& name) {
  std::string fresh = name;
  for (int i = 1; !names_.insert(fresh).second; ++i) fresh = name + "_" + std::to_string(i);
  return fresh;
}

template <typename T>
std::string QdqWriter::AddTensor(const std::string& name, onnx::TensorProto::DataType type,
                                 const std::vector<int64_t>& dims, const std::vector<T>& values) {
  onnx::TensorProto* tensor = graph_.add_initializer();
  tensor->set_name(Fresh(name));
  tensor->set_data_type(type);
  tensor->mutable_dims()->Add(dims.begin(), dims.end());
  tensor->set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return tensor->name();
}

// Adds a scale or zero point of an activation. Values that only move elements share the parameters of their source.
std::string QdqWriter::AddParameter(const std::string& name, const Linear& linear, bool is_scale) {
  std::string& known = parameters_[name];
  if (!known.empty()) return known;
  if (is_scale) return known = AddTensor<float>(name, onnx::TensorProto::FLOAT, {}, {linear.scale});
  return known = AddTensor<uint8_t>(name, linear.type, {}, {static_cast<uint8_t>(linear.zero_point)});
}

void QdqWriter::KeepUsedInitializers() {
  const GraphIndex written(graph_);
  std::vector<const onnx::TensorProto*> kept;
  for (const onnx::TensorProto& tensor : index_.graph().initializer()) {
    const std::string& name = tensor.name();
    if (!written.Readers(name).empty() || written.IsOutput(name) || written.IsCaptured(name)) kept.push_back(&tensor);
  }
  for (const onnx::TensorProto* tensor : kept) {
    onnx::TensorProto* copy = graph_.add_initializer();
    *copy = *tensor;
    if (tensor->data_location() != onnx::TensorProto::EXTERNAL) continue;
    copy->set_raw_data(file_.Bytes(*tensor));
    copy->clear_external_data();
    copy->clear_data_location();
  }
}

// --- activations

bool QdqWriter::IsQuantizedRead(int reader, const std::string& value) const {
  if (!placement_.IsQuantized(reader)) return false;
  const onnx::NodeProto& node = index_.node(reader);
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i) == value && !IsNumbers(placement_.RuleOf(reader).InputAt(static_cast<size_t>(i)))) return false;
  }
  return true;
}

bool QdqWriter::IsReadInFloat(const std::string& value) const {
  const std::vector<int>& readers = index_.Readers(value);
  return index_.IsOutput(value) || index_.IsCaptured(value) ||
         std::any_of(readers.begin(), readers.end(), [&](int reader) { return !IsQuantizedRead(reader, value); });
}

const QdqWriter::Stored& QdqWriter::Quantize(const std::string& value, const std::string& real) {
  const auto known = activations_.find(value);
  if (known != activations_.end()) return known->second;
  const Linear& linear = ranges_.Of(value);
  const std::string& source = ranges_.SourceOf(value);
  Stored stored;
  stored.scale = AddParameter(source + "_scale", linear, true);
  stored.zero_point = AddParameter(source + "_zero_point", linear, false);
  stored.scales = {linear.scale};
  stored.numbers = Fresh(value + "_QuantizeLinear_Output");
  onnx::NodeProto* node = graph_.add_node();
  node->set_op_type("QuantizeLinear");
  node->set_name(value + "_QuantizeLinear");
  for (const std::string& input : {real, stored.scale, stored.zero_point}) node->add_input(input);
  node->add_output(stored.numbers);
  return activations_.emplace(value, std::move(stored)).first->second;
}

void QdqWriter::AddDequantize(const std::string& name, const Stored& stored, const std::string& output) {
  onnx::NodeProto* node = graph_.add_node();
  node->set_op_type("DequantizeLinear");
  node->set_name(Fresh(name));
  for (const std::string& input : {stored.numbers, stored.scale, stored.zero_point}) node->add_input(input);
  node->add_output(output);
  if (stored.axis < 0) return;
  onnx::AttributeProto* axis = node->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(stored.axis);
}

// Adds a DequantizeLinear for one reader, or returns the one that all readers share.
std::string QdqWriter::Dequantize(const std::string& value, const Stored& stored) {
  std::string& shared = shared_dequantize_[stored.numbers];
  if (!options_.dedicated_dequantize && !shared.empty()) return shared;
  shared = Fresh(value + "_DequantizeLinear_Output");
  AddDequantize(shared.substr(0, shared.rfind("_Output")) + shared.substr(shared.rfind("_Output") + 7), stored, shared);
  return shared;
}

// --- constants

QdqWriter::Stored QdqWriter::QuantizeNumbers(const onnx::TensorProto& constant) {
  const auto [known, added] = constants_.try_emplace({constant.name(), -2, {}});
  if (!added) return known->second;
  const std::vector<float> values = file_.Floats(constant);
  ActivationStatistics statistics(false);
  statistics.Add(values);
  const Linear linear = ChooseLinear(statistics.MinMax(), options_.activations);
  std::vector<uint8_t> numbers;
  for (const float value : values) numbers.push_back(static_cast<uint8_t>(linear.Quantize(double{value})));
  Stored& stored = known->second;
  stored.numbers = AddTensor(constant.name() + "_quantized", linear.type, DimsOf(constant), numbers);
  stored.scale = AddTensor<float>(constant.name() + "_scale", onnx::TensorProto::FLOAT, {}, {linear.scale});
  stored.zero_point =
      AddTensor<uint8_t>(constant.name() + "_zero_point", linear.type, {}, {static_cast<uint8_t>(linear.zero_point)});
  stored.scales = {linear.scale};
  return stored;
}

QdqWriter::Stored QdqWriter::QuantizeWeightsOf(int n, int input, float input_scale) {
  const onnx::NodeProto& node = index_.node(n);
  const kit::qdq::Rule& rule = placement_.RuleOf(n);
  const onnx::TensorProto& constant = *index_.Initializer(node.input(input));
  const std::vector<int64_t> dims = DimsOf(constant);
  // ONNX's axis of a grouped ConvTranspose has the channels of one group, while its bias has those of all groups.
  const bool grouped = node.op_type() == "ConvTranspose" && IntAttribute(node, "group", 1) != 1;
  int64_t axis = -1;
  if (options_.per_channel && rule.signed_weights && !grouped) {
    axis = kit::qdq::ChannelAxis(rule, ToKitNode(node), constant.dims_size(), -1);
  }
  const size_t channels = axis < 0 ? 1 : static_cast<size_t>(dims[static_cast<size_t>(axis)]);

  std::vector<float> least(channels, 0);
  const bool has_bias = node.input_size() > input + 1 && rule.InputAt(static_cast<size_t>(input) + 1) == Input::kBias;
  const onnx::TensorProto* bias = has_bias ? index_.Initializer(node.input(input + 1)) : nullptr;
  if (bias != nullptr) {
    const std::vector<float> values = file_.Floats(*bias);
    for (size_t i = 0; i < values.size() && (channels == 1 || values.size() == channels); ++i) {
      float& scale = least[channels == 1 ? 0 : i];
      scale = std::max(scale, LeastWeightScale(values[i], input_scale));
    }
  }
  const std::vector<float> floats = file_.Floats(constant);
  QuantizedWeights weights = QuantizeWeights(floats, dims, axis, {});
  // The least scales count only if the bias needs a larger scale; otherwise the weights depend on nothing else.
  if (std::equal(least.begin(), least.end(), weights.scales.begin(), std::less_equal<>())) {
    least.clear();
  } else {
    weights = QuantizeWeights(floats, dims, axis, least);
  }
  const auto [known, added] = constants_.try_emplace({constant.name(), axis, least});
  Stored& stored = known->second;
  if (!added) return stored;
  const std::vector<int64_t> scale_dims =
      axis < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{dims[static_cast<size_t>(axis)]};
  stored.axis = axis;
  stored.numbers = AddTensor(constant.name() + "_quantized", onnx::TensorProto::INT8, dims, weights.numbers);
  stored.scale = AddTensor(constant.name() + "_scale", onnx::TensorProto::FLOAT, scale_dims, weights.scales);
  stored.zero_point =
      AddTensor(constant.name() + "_zero_point", onnx::TensorProto::INT8, scale_dims, std::vector<int8_t>(channels, 0));
  stored.scales = std::move(weights.scales);
  return stored;
}

// A bias that isn't constant or isn't one-dimensional stays float.
void QdqWriter::WriteBias(int n, onnx::NodeProto* node, const Stored& weights) {
  const kit::qdq::Rule& rule = placement_.RuleOf(n);
  for (int i = 0; i < node->input_size(); ++i) {
    if (rule.InputAt(static_cast<size_t>(i)) != Input::kBias) continue;
    const onnx::TensorProto* constant = index_.Initializer(node->input(i));
    if (constant == nullptr || constant->dims_size() != 1) continue;
    const auto count = static_cast<size_t>(constant->dims(0));
    if (weights.scales.size() != 1 && weights.scales.size() != count) continue;
    const float input_scale = ranges_.Of(index_.node(n).input(0)).scale;
    const std::vector<int32_t> numbers = QuantizeBias(file_.Floats(*constant), input_scale, weights.scales);
    std::vector<float> scales;
    for (const float scale : weights.scales) scales.push_back(input_scale * scale);
    const std::vector<int64_t> scale_dims = scales.size() == 1 ? std::vector<int64_t>{} : DimsOf(*constant);

    Stored stored;
    stored.axis = scales.size() == 1 ? -1 : 0;
    const std::string& name = constant->name();
    stored.numbers = AddTensor(name + "_quantized", onnx::TensorProto::INT32, DimsOf(*constant), numbers);
    stored.scale = AddTensor(name + "_quantized_scale", onnx::TensorProto::FLOAT, scale_dims, scales);
    stored.zero_point = AddTensor(name + "_quantized_zero_point", onnx::TensorProto::INT32, scale_dims,
                                  std::vector<int32_t>(scales.size(), 0));
    node->set_input(i, Dequantize(name, stored));
  }
}

// --- nodes

void QdqWriter::WriteInputs(int n, onnx::NodeProto* node) {
  const kit::qdq::Rule& rule = placement_.RuleOf(n);
  Stored weights;
  for (int i = 0; i < node->input_size(); ++i) {
    const std::string name = node->input(i);
    const Input kind = rule.InputAt(static_cast<size_t>(i));
    if (name.empty() || !IsNumbers(kind)) continue;
    const onnx::TensorProto* constant = index_.Initializer(name);
    if (constant == nullptr) {
      const Stored stored = Quantize(name, name);
      if (kind == Input::kWeights) weights = stored;
      node->set_input(i, Dequantize(name, stored));
    } else if (kind == Input::kWeights) {
      const std::string& x = index_.node(n).input(0);
      weights = QuantizeWeightsOf(n, i, index_.Initializer(x) == nullptr ? ranges_.Of(x).scale : 1);
      node->set_input(i, Dequantize(name, weights));
    } else {
      node->set_input(i, Dequantize(name, QuantizeNumbers(*constant)));
    }
  }
  if (!weights.scales.empty() && index_.Initializer(index_.node(n).input(0)) == nullptr) WriteBias(n, node, weights);
}

bool QdqWriter::IsIdle(int clamp, const Linear& linear) const {
  const onnx::NodeProto& node = index_.node(clamp);
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  if (node.op_type() == "Clip") {
    double* bounds[] = {&low, &high};
    low = -high;
    for (int i = 1; i < node.input_size(); ++i) {
      if (node.input(i).empty()) continue;
      *bounds[i - 1] = double{file_.Floats(*index_.Initializer(node.input(i))).at(0)};
    }
  }
  return linear.Quantize(low) == linear.lowest() && linear.Quantize(high) == linear.highest();
}

void QdqWriter::WriteUnit(int n) {
  onnx::NodeProto node = index_.node(n);
  WriteInputs(n, &node);
  const int clamp = placement_.ClampOf(n);
  const bool clamps = clamp >= 0 && !IsIdle(clamp, ranges_.Of(index_.node(clamp).output(0)));
  if (clamp >= 0 && !clamps) node.set_output(0, index_.node(clamp).output(0));

  // Readers in float read the dequantized value under the value's original name.
  onnx::NodeProto* last = graph_.add_node();
  *last = std::move(node);
  if (clamps) {
    last = graph_.add_node();
    *last = index_.node(clamp);
  }
  std::vector<std::pair<std::string, std::string>> made;  // value, and its name in front of QuantizeLinear
  for (int i = 0; i < last->output_size(); ++i) {
    const std::string value = last->output(i);
    if (value.empty() || placement_.RuleOf(n).OutputAt(static_cast<size_t>(i)) == Output::kPlain) continue;
    if (IsReadInFloat(value)) last->set_output(i, Fresh(value + "_QuantizeLinear_Input"));
    made.emplace_back(value, last->output(i));
  }
  for (const auto& [value, real] : made) {
    const Stored& stored = Quantize(value, real);
    if (IsReadInFloat(value)) AddDequantize(value + "_DequantizeLinear", stored, value);
  }
}

}  // namespace epiphyte::test
