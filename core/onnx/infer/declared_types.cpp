#include "core/onnx/infer/declared_types.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/onnx/schema/schema.h"

namespace epiphyte::core {
namespace {

bool IsModelOutput(const ValueDef& value) { return value.IsOutput() && value.graph().parent() == nullptr; }

// `declared` without the sizes that inference doesn't confirm. Dimension names stay, because they claim no size.
TypePtr WithoutUnprovenSizes(const TypePtr& declared, const TypePtr& inferred) {
  if (!declared || !inferred || !declared->IsTensor() || !inferred->IsTensor() || !declared->shape()) return declared;
  if (!inferred->shape()) return WithoutShape(declared);
  if (inferred->shape()->size() != declared->shape()->size()) return declared;
  Shape shape = *declared->shape();
  bool changed = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].known() || (*inferred->shape())[i].known()) continue;
    shape[i] = Dim();
    changed = true;
  }
  return changed ? Type::Tensor(declared->element_type(), std::move(shape)) : declared;
}

}  // namespace

void DeclaredTypes::Merge(const Node& node, ValueDef& value, const TypePtr& inferred, bool depends_on_data) {
  const bool is_model_output = IsModelOutput(value);
  if (is_model_output) value.set_inferred_type(inferred);
  TypePtr declared = value.type();
  if (declared == inferred) return;
  // An output that no node reads keeps the model's declared sizes; the run reports to the application if they are
  // wrong.
  const bool is_read = !is_model_output || !value.consumers().empty();
  if (depends_on_data && is_read) declared = WithoutUnprovenSizes(declared, inferred);
  if (TypePtr merged = MergeTypes(declared, inferred)) return value.set_type(std::move(merged));
  TypePtr corrected = MergeTypes(WithoutShape(declared), inferred);
  if (!corrected) {
    Fail(StatusCode::kInvalidGraph, "{}: output '{}' is declared as {}, but is {}", NodeLabel(node), value.name(),
         declared->ToString(), inferred->ToString());
  }
  Ignore(value, fmt::format("{}: output '{}' is declared as {}, but is {}", NodeLabel(node), value.name(),
                            declared->ToString(), inferred->ToString()));
  value.set_type(std::move(corrected));
}

void DeclaredTypes::MergeBodyInput(ValueDef& input, const TypePtr& given) {
  const TypePtr declared = input.type();
  if (TypePtr merged = MergeTypes(declared, given)) return input.set_type(std::move(merged));
  TypePtr corrected = MergeTypes(WithoutShape(declared), given);
  if (!corrected) {
    Fail(StatusCode::kInvalidGraph, "input '{}' of the body '{}' is declared as {}, but gets {}", input.name(),
         input.graph().name(), declared->ToString(), given->ToString());
  }
  Ignore(input, fmt::format("input '{}' of the body '{}' is declared as {}, but gets {}", input.name(),
                            input.graph().name(), declared->ToString(), given->ToString()));
  input.set_type(std::move(corrected));
}

void DeclaredTypes::Ignore(const ValueDef& value, std::string what) {
  if (!ignored_.insert(&value).second) return;
  Log(LogLevel::kInfo, "onnx", "{}; the declaration is ignored", what);
  if (first_.empty()) first_ = std::move(what);
}

void DeclaredTypes::Report() const {
  if (ignored_.empty()) return;
  Log(LogLevel::kWarning, "onnx",
      "the model declares shapes of {} values that its operators don't give them, which are ignored; the first: {}. "
      "EPIPHYTE_LOG=info lists all; export the model again, or infer its shapes anew",
      ignored_.size(), first_);
}

}  // namespace epiphyte::core
