#include "core/onnx/infer/libonnx_inference.h"

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include <deque>
#include <memory>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/onnx/infer/libonnx_guard.h"
#include "core/onnx/infer/proto_convert.h"
#include "core/onnx/schema/libonnx_schemas.h"

namespace epiphyte::core {
namespace {

// Infers a nested graph through libonnx's interface.
class BodyInferencer : public onnx::GraphInferencer {
 public:
  BodyInferencer(Graph& body, const InferBody& infer) : body_(body), infer_(infer) {}

  std::vector<const onnx::TypeProto*> doInferencing(const std::vector<const onnx::TypeProto*>& input_types,
                                                    const std::vector<const onnx::TensorProto*>&) override {
    std::vector<TypePtr> inputs;
    for (const onnx::TypeProto* type : input_types) inputs.push_back(type == nullptr ? nullptr : FromTypeProto(*type));
    std::vector<const onnx::TypeProto*> outputs;
    for (const TypePtr& type : infer_(body_, inputs)) {
      onnx::TypeProto& proto = results_.emplace_back();
      if (type) ToTypeProto(*type, &proto);
      outputs.push_back(&proto);
    }
    return outputs;
  }

 private:
  Graph& body_;
  const InferBody& infer_;
  std::deque<onnx::TypeProto> results_;
};

class Context : public onnx::InferenceContext {
 public:
  Context(const NodeInference& node, const onnx::OpSchema& source, const InferBody& infer_body)
      : node_(node),
        source_(source),
        infer_body_(infer_body),
        input_types_(CountWithoutTrailingNulls(node.node().inputs())),
        input_data_(input_types_.size()),
        symbolic_(input_types_.size()),
        outputs_(node.node().outputs().size()) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const onnx::AttributeProto& made : attributes_) {
      if (made.name() == name) return &made;
    }
    const Attribute* attribute = node_.node().FindAttribute(name);
    if (attribute == nullptr) return nullptr;
    ToAttributeProto(*attribute, Graphs::kLeaveOut, &attributes_.emplace_back());
    return &attributes_.back();
  }

  size_t getNumInputs() const override { return input_types_.size(); }
  size_t getNumOutputs() const override { return outputs_.size(); }

  const onnx::TypeProto* getInputType(size_t index) const override {
    CheckInput(index);
    if (node_.node().input(index) == nullptr && IsOptionalInput(source_, index)) return nullptr;
    // libonnx's functions read the type of a required input without checking that it is known. An empty type is safe to
    // read.
    if (!input_types_[index]) {
      input_types_[index] = std::make_unique<onnx::TypeProto>();
      if (const Type* type = node_.type(index)) ToTypeProto(*type, input_types_[index].get());
    }
    return input_types_[index].get();
  }

  const onnx::TensorProto* getInputData(size_t index) const override {
    CheckInput(index);
    if (input_data_[index]) return input_data_[index].get();
    const ValueDef* value = node_.node().input(index);
    if (const ConstantPtr constant = ValueData::ConstantOf(value)) {
      if (constant->element_count() > ValueData::kMaxElements) return nullptr;
      input_data_[index] = std::make_unique<onnx::TensorProto>();
      ToTensorProto(*constant, input_data_[index].get());
      return input_data_[index].get();
    }
    // Elements that propagation found are as good as a constant.
    const auto ints = node_.ints(index);
    if (!ints || node_.element(index) != DataType::kInt64 || node_.shape(index) == nullptr) return nullptr;
    input_data_[index] = std::make_unique<onnx::TensorProto>();
    input_data_[index]->set_data_type(onnx::TensorProto::INT64);
    if (!node_.shape(index)->empty()) input_data_[index]->add_dims(static_cast<int64_t>(ints->size()));
    input_data_[index]->set_raw_data(ints->data(), ints->size() * sizeof(int64_t));
    return input_data_[index].get();
  }

  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }

  const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override {
    CheckInput(index);
    const ValueData::Elements* elements = node_.data().Find(node_.node().input(index));
    if (elements == nullptr) return nullptr;
    if (!symbolic_[index]) {
      symbolic_[index] = std::make_unique<onnx::TensorShapeProto>();
      for (const ValueData::Element& element : *elements) {
        onnx::TensorShapeProto_Dimension* dim = symbolic_[index]->add_dim();
        if (element.value)
          dim->set_dim_value(*element.value);
        else if (!element.symbol.empty())
          dim->set_dim_param(element.symbol);
      }
    }
    return symbolic_[index].get();
  }

  onnx::TypeProto* getOutputType(size_t index) override {
    if (index >= outputs_.size()) throw std::out_of_range("output");
    return &outputs_[index];
  }

  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
    const Attribute* attribute = node_.node().FindAttribute(name);
    if (attribute == nullptr || attribute->type() != AttributeType::kGraph) {
      throw onnx::InferenceError("[TypeInferenceError] attribute " + name + " holds no graph");
    }
    return &bodies_.emplace_back(attribute->g(), infer_body_);
  }

  const onnx::TypeProto& output(size_t index) const { return outputs_[index]; }

 private:
  void CheckInput(size_t index) const {
    if (index >= input_types_.size()) throw std::out_of_range("input");
  }

  const NodeInference& node_;
  const onnx::OpSchema& source_;
  const InferBody& infer_body_;
  mutable std::deque<onnx::AttributeProto> attributes_;
  mutable std::vector<std::unique_ptr<onnx::TypeProto>> input_types_;
  mutable std::vector<std::unique_ptr<onnx::TensorProto>> input_data_;
  mutable std::vector<std::unique_ptr<onnx::TensorShapeProto>> symbolic_;
  std::vector<onnx::TypeProto> outputs_;
  std::deque<BodyInferencer> bodies_;
};

// libonnx's errors are meaningless if an input is unknown, or if libonnx doesn't know the version or an element type.
bool IsTrusted(const NodeInference& node, const OperatorSchema& schema) {
  if (!schema.exact) return false;
  for (size_t i = 0; i < node.node().inputs().size(); ++i) {
    if (node.node().input(i) == nullptr) continue;
    const Type* type = node.type(i);
    if (type == nullptr || (type->IsTensor() && type->element_type() == DataType::kUndefined)) return false;
    if (type->element_type() > DataType::kBfloat16) return false;
  }
  return true;
}

std::string FirstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

void InferWithLibonnx(NodeInference& node, const OperatorSchema& schema, const InferBody& infer_body) {
  const onnx::OpSchema* source = schema.libonnx;
  if (!schema.inference_of.empty()) {
    source = FindLibonnxSchema(schema.domain, schema.inference_of, schema.since_version);
  }
  if (source == nullptr || !source->has_type_and_shape_inference_function()) return;
  if (!MeetsLibonnxPreconditions(node, schema, *source)) return;
  Context context(node, *source, infer_body);
  try {
    source->GetTypeAndShapeInferenceFunction()(context);
  } catch (const Error&) {
    throw;
  } catch (const onnx::InferenceError& error) {
    if (IsTrusted(node, schema)) node.Reject("{}", FirstLine(error.what()));
    Log(LogLevel::kDebug, "onnx", "{}: types not inferred: {}", NodeLabel(node.node()), FirstLine(error.what()));
  } catch (const std::exception& error) {
    Log(LogLevel::kDebug, "onnx", "{}: types not inferred: {}", NodeLabel(node.node()), FirstLine(error.what()));
    return;
  }
  for (size_t i = 0; i < context.getNumOutputs(); ++i) {
    TypePtr type = FromTypeProto(context.output(i));
    if (type->kind() == EP_KIND_UNKNOWN || (type->IsTensor() && type->element_type() == DataType::kUndefined)) continue;
    node.Set(i, std::move(type));
  }
}

}  // namespace epiphyte::core
