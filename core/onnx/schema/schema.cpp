#include "core/onnx/schema/schema.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <functional>

#include "core/base/error.h"
#include "core/base/suggest.h"
#include "core/graph/type.h"
#include "core/onnx/schema/known_operators.h"
#include "core/onnx/schema/libonnx_schemas.h"
#include "core/onnx/schema/operator_schemas.h"

namespace epiphyte::core {
namespace {

// Converts the type strings of a parameter to bits. Types other than plain tensors turn off the check for the
// parameter.
void ReadAllowedTypes(const onnx::DataTypeSet& types, OperatorSchema::Parameter* parameter) {
  constexpr std::string_view kTensor = "tensor(";
  for (const std::string* text : types) {
    std::string_view element = *text;
    bool found = false;
    if (element.starts_with(kTensor) && element.ends_with(')')) {
      element = element.substr(kTensor.size(), element.size() - kTensor.size() - 1);
      for (int32_t type = 1; IsValidDataType(type); ++type) {
        if (element != DataTypeName(static_cast<DataType>(type))) continue;
        parameter->element_types |= uint64_t{1} << type;
        found = true;
      }
    }
    if (!found) parameter->only_tensors = false;
  }
}

std::vector<OperatorSchema::Parameter> ReadParameters(const std::vector<onnx::OpSchema::FormalParameter>& formals,
                                                      std::vector<std::string>* variables) {
  std::vector<OperatorSchema::Parameter> parameters;
  for (const onnx::OpSchema::FormalParameter& formal : formals) {
    OperatorSchema::Parameter& parameter = parameters.emplace_back();
    parameter.name = formal.GetName();
    ReadAllowedTypes(formal.GetTypes(), &parameter);
    const std::string& variable = formal.GetTypeStr();
    if (variable.find('(') != std::string::npos) continue;  // a concrete type such as "tensor(int64)"
    const auto known = std::find(variables->begin(), variables->end(), variable);
    parameter.variable = static_cast<int>(known - variables->begin());
    if (known == variables->end()) variables->push_back(variable);
  }
  return parameters;
}

// The minimum number of inputs that omits no required one. libonnx counts all inputs before a variadic one as required,
// whatever they declare; those of Loop are optional.
uint32_t LeastInputs(const std::vector<onnx::OpSchema::FormalParameter>& inputs) {
  uint32_t least = 0;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].GetOption() == onnx::OpSchema::Single) least = i + 1;
    if (inputs[i].GetOption() == onnx::OpSchema::Variadic && inputs[i].GetMinArity() > 0)
      least = i + static_cast<uint32_t>(inputs[i].GetMinArity());
  }
  return least;
}

void ReadSchema(const onnx::OpSchema& schema, OperatorSchema* out) {
  std::vector<std::string> variables;
  out->libonnx = &schema;
  out->min_inputs = std::min(static_cast<uint32_t>(schema.min_input()), LeastInputs(schema.inputs()));
  out->max_inputs = static_cast<uint32_t>(schema.max_input());
  out->min_outputs = static_cast<uint32_t>(schema.min_output());
  out->max_outputs = static_cast<uint32_t>(schema.max_output());
  out->deprecated = schema.deprecated();
  out->inputs = ReadParameters(schema.inputs(), &variables);
  out->outputs = ReadParameters(schema.outputs(), &variables);
  if (!schema.inputs().empty() && schema.inputs().back().GetOption() == onnx::OpSchema::Variadic) {
    out->variadic_inputs = true;
    out->homogeneous = schema.inputs().back().GetIsHomogeneous();
  }
}

void ApplyOverlay(const OverlayOperator& overlay, OperatorSchema* out) {
  const auto apply = [](int from, uint32_t* to) {
    if (from != kAsBefore) *to = static_cast<uint32_t>(from);
  };
  apply(overlay.min_inputs, &out->min_inputs);
  apply(overlay.max_inputs, &out->max_inputs);
  apply(overlay.min_outputs, &out->min_outputs);
  apply(overlay.max_outputs, &out->max_outputs);
  out->infer = overlay.infer;
  out->inference_of = overlay.inference_of;
}

}  // namespace

struct SchemaTable::Entry {
  std::string domain;
  std::string op_type;
  bool known = false;
  OperatorSchema schema;
};

SchemaTable::SchemaTable() = default;
SchemaTable::~SchemaTable() = default;

size_t SchemaTable::KeyHash::operator()(const Key& key) const {
  const std::hash<std::string_view> hash;
  return hash(key.op_type) * 31 + hash(key.domain) * 7 + static_cast<size_t>(key.opset);
}

const OperatorSchema* SchemaTable::Find(std::string_view domain, std::string_view op_type, int64_t opset) {
  domain = NormalDomain(domain);
  if (MaxOpset(domain) == 0 || opset <= 0) return nullptr;
  const auto found = entries_.find({domain, op_type, opset});
  if (found != entries_.end()) return found->second->known ? &found->second->schema : nullptr;

  auto entry = std::make_unique<Entry>();
  entry->domain = domain;
  entry->op_type = op_type;
  OperatorSchema& schema = entry->schema;
  schema.domain = domain;
  schema.op_type = op_type;
  if (const onnx::OpSchema* libonnx = FindLibonnxSchema(domain, op_type, opset)) {
    ReadSchema(*libonnx, &schema);
    schema.since_version = libonnx->since_version();
    schema.exact = true;
  }
  const int64_t overlay_version = OverlaySinceVersion(domain, op_type, opset);
  if (overlay_version > schema.since_version) {
    schema.since_version = overlay_version;
    schema.exact = false;
  }
  if (!schema.exact) schema.attributes = OverlayAttributes(domain, op_type, schema.since_version);
  entry->known = schema.since_version > 0;
  if (const OverlayOperator* overlay = FindOverlayOperator(domain, op_type, schema.since_version);
      overlay && entry->known) {
    ApplyOverlay(*overlay, &schema);
  }
  const Key key{entry->domain, entry->op_type, opset};
  const Entry& kept = *entries_.emplace(key, std::move(entry)).first->second;
  return kept.known ? &kept.schema : nullptr;
}

std::string_view NormalDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

int64_t MaxOpset(std::string_view domain) {
  domain = NormalDomain(domain);
  if (domain.empty()) return kMaxOnnxOpset;
  if (domain == kMlDomain) return 5;
  return domain == kPreviewTrainingDomain ? 1 : 0;
}

int64_t SinceVersion(std::string_view domain, std::string_view op_type, int64_t opset) {
  domain = NormalDomain(domain);
  if (MaxOpset(domain) == 0 || opset <= 0) return 0;
  return std::max(LibonnxSinceVersion(domain, op_type, opset), OverlaySinceVersion(domain, op_type, opset));
}

int64_t VersionInModel(std::string_view domain, std::string_view op_type, int64_t opset) {
  const int64_t since = SinceVersion(domain, op_type, opset);
  if (since != 0 || opset <= 0) return since;
  // A linear search suffices: the table is short, and it is searched once for each operator of a model.
  for (int64_t later = opset + 1; later <= MaxOpset(domain); ++later) {
    if (const int64_t first = SinceVersion(domain, op_type, later)) return first;
  }
  return 0;
}

int64_t UnknownSince(std::string_view domain, std::string_view op_type, int64_t opset) {
  if (opset <= MaxOpset(domain) || !NormalDomain(domain).empty()) return 0;
  for (const OverlayVersion& version : VersionsToCome()) {
    if (version.op_type == op_type && version.since_version <= opset) return version.since_version;
  }
  return 0;
}

bool IsKnownOperator(std::string_view domain, std::string_view op_type, int64_t opset) {
  return SinceVersion(domain, op_type, opset) > 0;
}

bool IsCustomOperator(std::string_view domain, std::string_view op_type) {
  domain = NormalDomain(domain);
  if (domain.empty() || domain.starts_with("ai.onnx.")) return false;
  return domain != "com.microsoft" || op_type != "EPContext";
}

const CustomOperator* FindCustomOperator(const OperatorSchemas* schemas, std::string_view domain,
                                         std::string_view op_type, int64_t opset) {
  if (schemas == nullptr || !IsCustomOperator(domain, op_type)) return nullptr;
  return schemas->Find(domain, op_type, opset);
}

std::string NearestOperator(std::string_view domain, std::string_view op_type) {
  domain = NormalDomain(domain);
  std::vector<std::string_view> names = LibonnxOperators(domain);
  for (const OverlayVersion& version : OverlayVersions()) {
    if (version.domain == domain) names.push_back(version.op_type);
  }
  return std::string(Nearest(op_type, names));
}

}  // namespace epiphyte::core
