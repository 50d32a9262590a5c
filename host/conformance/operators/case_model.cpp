#include "host/conformance/operators/case_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/onnx/wire/proto_fields.h"
#include "core/onnx/wire/wire_writer.h"

namespace epiphyte::operators {
namespace {

namespace proto = core::proto;

core::ValuePtr ToValue(const Array& array) {
  if (array.type == DataType::kString) {
    std::vector<std::string> strings;
    for (Number value : array.values) strings.push_back(TextOf(value));
    return core::Value::Strings(array.dims, std::move(strings));
  }
  core::ValuePtr value = core::Value::Tensor(array.type, array.dims);
  const std::string bytes = Encode(array);
  if (!bytes.empty()) std::memcpy(value->mutable_data(), bytes.data(), bytes.size());
  return value;
}

// How much of an input's shape the model declares.
enum class Told { kAll, kRank, kNothing };

struct NamedArray {
  std::string name;
  Array array;
};
struct ModelNode {
  std::string name, op_type, domain;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, AttributeValue> attributes;
};
struct Model {
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain and version
  std::vector<ModelNode> nodes;
  std::vector<NamedArray> initializers, inputs, outputs;
  Told told = Told::kAll;  // applies to the inputs
};

// Values of AttributeProto.AttributeType.
constexpr int64_t kFloatKind = 1, kIntKind = 2, kStringKind = 3, kTensorKind = 4, kFloatsKind = 6, kIntsKind = 7,
                  kStringsKind = 8;

// Writes the model's messages field by field. Only core/onnx may use libonnx's classes, and these could not hold every
// invalid model.
class ModelWriter {
 public:
  ModelWriter(const Model& model, core::WireWriter& out) : model_(model), out_(out) {}

  void Write() {
    out_.Int(proto::model::kIrVersion, 10);
    for (const auto& [domain, version] : model_.opsets) {
      out_.Message(proto::model::kOpsetImport, [&] {
        out_.Bytes(proto::opset::kDomain, domain);
        out_.Int(proto::opset::kVersion, version);
      });
    }
    out_.Message(proto::model::kGraph, [&] { WriteGraph(); });
  }

 private:
  void WriteGraph() {
    for (const ModelNode& node : model_.nodes) out_.Message(proto::graph::kNode, [&] { WriteNode(node); });
    out_.Bytes(proto::graph::kName, "random_case");
    for (const NamedArray& one : model_.initializers) WriteTensor(proto::graph::kInitializer, one.array, one.name);
    for (const NamedArray& one : model_.inputs) WriteInfo(proto::graph::kInput, one, model_.told);
    for (const NamedArray& one : model_.outputs) WriteInfo(proto::graph::kOutput, one, Told::kNothing);
  }

  void WriteNode(const ModelNode& node) {
    for (const std::string& name : node.inputs) out_.Bytes(proto::node::kInput, name);
    for (const std::string& name : node.outputs) out_.Bytes(proto::node::kOutput, name);
    out_.Bytes(proto::node::kName, node.name);
    out_.Bytes(proto::node::kOpType, node.op_type);
    for (const auto& [name, value] : node.attributes)
      out_.Message(proto::node::kAttribute, [&] { WriteAttribute(name, value); });
    out_.Bytes(proto::node::kDomain, node.domain);
  }

  void WriteAttribute(const std::string& name, const AttributeValue& value) {
    out_.Bytes(proto::attribute::kName, name);
    int64_t kind = kTensorKind;
    if (const auto* i = std::get_if<int64_t>(&value)) {
      kind = kIntKind;
      out_.Int(proto::attribute::kInt, *i);
    } else if (const auto* f = std::get_if<float>(&value)) {
      kind = kFloatKind;
      out_.Float(proto::attribute::kFloat, *f);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      kind = kStringKind;
      out_.Bytes(proto::attribute::kString, *s);
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
      kind = kIntsKind;
      for (const int64_t number : *ints) out_.Int(proto::attribute::kInts, number);
    } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
      kind = kFloatsKind;
      for (const float number : *floats) out_.Float(proto::attribute::kFloats, number);
    } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
      kind = kStringsKind;
      for (const std::string& string : *strings) out_.Bytes(proto::attribute::kStrings, string);
    } else {
      WriteTensor(proto::attribute::kTensor, std::get<Array>(value), "");
    }
    out_.Int(proto::attribute::kType, kind);
  }

  void WriteTensor(uint32_t field, const Array& array, const std::string& name) {
    out_.Message(field, [&] {
      for (const int64_t dim : array.dims) out_.Int(proto::tensor::kDims, dim);
      out_.Int(proto::tensor::kDataType, static_cast<int64_t>(array.type));
      if (array.type == DataType::kString) {
        for (const Number value : array.values) out_.Bytes(proto::tensor::kStringData, TextOf(value));
      }
      out_.Bytes(proto::tensor::kName, name);
      if (array.type != DataType::kString) out_.Bytes(proto::tensor::kRawData, Encode(array));
    });
  }

  // An array of type kUndefined is declared without a type.
  void WriteInfo(uint32_t field, const NamedArray& one, Told told) {
    out_.Message(field, [&] {
      out_.Bytes(proto::value_info::kName, one.name);
      if (one.array.type == DataType::kUndefined) return;
      out_.Message(proto::value_info::kType, [&] {
        out_.Message(proto::type::kTensor, [&] {
          out_.Int(proto::type::kElementType, static_cast<int64_t>(one.array.type));
          if (told != Told::kNothing) out_.Message(proto::type::kShape, [&] { WriteDims(one, told); });
        });
      });
    });
  }
  void WriteDims(const NamedArray& one, Told told) {
    for (size_t axis = 0; axis < one.array.dims.size(); ++axis) {
      out_.Message(proto::type::kShapeDim, [&] {
        if (told == Told::kAll) {
          out_.Int(proto::type::kDimValue, one.array.dims[axis]);
        } else {
          out_.Bytes(proto::type::kDimParam, one.name + "_" + std::to_string(axis));
        }
      });
    }
  }

  const Model& model_;
  core::WireWriter& out_;
};

std::string BytesOf(const Model& model) {
  core::WireWriter counter;
  ModelWriter(model, counter).Write();
  std::string bytes;
  const core::ByteSink sink = [&bytes](const void* data, uint64_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  core::WireWriter writer(std::move(counter), sink);
  ModelWriter(model, writer).Write();
  writer.Flush();
  return bytes;
}

void DropEmptyEnd(std::vector<std::string>* names) {
  while (!names->empty() && names->back().empty()) names->pop_back();
}

Array ListOrScalar(DataType type, const QuantParams& quant, std::vector<Number> numbers) {
  if (quant.axis < 0) return Scalar(type, numbers.at(0));
  const auto count = static_cast<int64_t>(numbers.size());
  return Array(type, {count}, std::move(numbers));
}

// Returns the elements divided by their scale. They lie on the grid, so the quotients are exact.
Array QuantizedArray(const Array& array, const QuantParams& quant) {
  Array quantized(quant.type, array.dims);
  ForEachIndex(array.dims, [&](const Dims& index, int64_t i) {
    const size_t at = quant.axis < 0 ? 0 : static_cast<size_t>(index[static_cast<size_t>(quant.axis)]);
    quantized[i] = std::nearbyint(array[i] / quant.scales[at]) + quant.zero_points[at];
  });
  return quantized;
}

// Adds a DequantizeLinear or QuantizeLinear node, with its parameters as initializers.
void AddConversion(Model* model, const std::string& op_type, const std::string& from, const std::string& to,
                   const QuantParams& quant) {
  ModelNode node;
  node.name = to + "_" + op_type;
  node.op_type = op_type;
  node.inputs = {from, to + "_scale", to + "_zero_point"};
  node.outputs = {to};
  if (quant.axis >= 0) node.attributes["axis"] = quant.axis;
  model->initializers.push_back({to + "_scale", ListOrScalar(DataType::kFloat, quant, quant.scales)});
  model->initializers.push_back({to + "_zero_point", ListOrScalar(quant.type, quant, quant.zero_points)});
  model->nodes.push_back(std::move(node));
}

}  // namespace

CaseModel MakeModel(const Case& c, Random& random) {
  CaseModel made;
  Model model;
  model.opsets.emplace_back(c.domain, c.opset);
  if (!c.domain.empty()) model.opsets.emplace_back("", 21);
  ModelNode node;
  node.name = "the_node";
  node.op_type = c.op_type;
  node.domain = c.domain;
  node.attributes = c.attributes;
  model.told = c.is_static ? Told::kAll : random.Pick({Told::kAll, Told::kAll, Told::kRank, Told::kNothing});
  const int constants = c.is_static ? random.Pick({0, 60, 100, 100}) : random.Pick({0, 0, 40, 70});
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Case::In& input = c.inputs[i];
    if (!input.array) {
      node.inputs.emplace_back();
      continue;
    }
    const std::string name = "input_" + std::to_string(i);
    const bool is_quantized = input.quant.has_value();
    Array array = is_quantized ? QuantizedArray(*input.array, input.quant) : *input.array;
    node.inputs.push_back(is_quantized ? name + "_float" : name);
    if (is_quantized) AddConversion(&model, "DequantizeLinear", name, name + "_float", input.quant);
    const bool is_first_of_static = c.is_static && i == 0;
    if (input.constant || (!is_first_of_static && random.Chance(constants))) {
      model.initializers.push_back({name, std::move(array)});
    } else {
      made.inputs.push_back(ToValue(array));
      model.inputs.push_back({name, std::move(array)});
    }
  }
  DropEmptyEnd(&node.inputs);
  std::vector<const Case::Out*> quantized;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const Case::Out& output = c.outputs[i];
    const std::string name = output.array ? "output_" + std::to_string(i) : "";
    node.outputs.push_back(output.quant.has_value() ? name + "_float" : name);
    if (output.array) model.outputs.push_back({name, Array(output.array->type, {0})});
  }
  DropEmptyEnd(&node.outputs);
  model.nodes.push_back(std::move(node));
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const std::string name = "output_" + std::to_string(i);
    if (c.outputs[i].quant.has_value())
      AddConversion(&model, "QuantizeLinear", name + "_float", name, c.outputs[i].quant);
  }
  made.bytes = BytesOf(model);
  return made;
}

}  // namespace epiphyte::operators
