#include "core/abi/output_check.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/log.h"

namespace epiphyte::core {
namespace {

std::string Describe(const EpValueView& value) {
  const auto name = [](EpElementType type) { return DataTypeName(static_cast<DataType>(type)); };
  switch (value.kind) {
    case EP_KIND_TENSOR:
      return fmt::format("tensor({})[{}]", name(value.tensor->element_type),
                         fmt::join(value.tensor->dims, value.tensor->dims + value.tensor->rank, ","));
    case EP_KIND_SEQUENCE: return fmt::format("a sequence of {} values", value.element_count);
    case EP_KIND_MAP: return "a map";
    default: return "an empty optional";
  }
}

}  // namespace

bool DeclaredOutput::OtherFits(const EpValueView& value, const EpTypeInfo& type) {
  switch (type.kind) {
    case EP_KIND_SPARSE_TENSOR: return value.kind == EP_KIND_TENSOR && TensorFits(*value.tensor, type);
    case EP_KIND_OPTIONAL:
      return value.kind == EP_KIND_UNKNOWN || type.element == nullptr || Fits(value, *type.element);
    case EP_KIND_SEQUENCE: {
      if (value.kind != EP_KIND_SEQUENCE) return false;
      if (type.element == nullptr) return true;
      const EpTypeInfo& element_type = *type.element;
      const bool of_tensors = element_type.kind == EP_KIND_TENSOR && element_type.element_type != EP_TYPE_UNDEFINED;
      // Readers of an empty sequence go by its element type.
      if (of_tensors && value.element_type != element_type.element_type) return false;
      // Elements may differ in shape, so models declare any shape there, mostly scalars.
      return std::all_of(value.elements, value.elements + value.element_count, [&](const EpValueView* element) {
        if (element_type.kind != EP_KIND_TENSOR) return Fits(*element, element_type);
        return element->kind == EP_KIND_TENSOR &&
               (!of_tensors || element->tensor->element_type == element_type.element_type);
      });
    }
    case EP_KIND_MAP: {
      if (value.kind != EP_KIND_MAP) return false;
      const EpTensorView& keys = *value.elements[0]->tensor;
      const EpTensorView& values = *value.elements[1]->tensor;
      if (type.element_type != EP_TYPE_UNDEFINED && keys.element_type != type.element_type) return false;
      return type.element == nullptr || type.element->kind != EP_KIND_TENSOR ||
             type.element->element_type == EP_TYPE_UNDEFINED || values.element_type == type.element->element_type;
    }
    case EP_KIND_TENSOR: return false;  // the value isn't a tensor
    default: return true;               // nothing is known of the type
  }
}

std::string DeclaredOutput::Complaint(const Value& value) const {
  return fmt::format("is {}, but the model says {}", Describe(*value.abi()),
                     type_.type ? type_.type->ToString() : "nothing");
}

bool DeclaredOutput::IsModelsMistake(const Value& value) const {
  if (type_.returned_as.empty()) return false;
  // Kind and element type must fit both the declared and the inferred type.
  if (type_.type && !Fits(*value.abi(), *WithoutShape(type_.type)->abi())) return false;
  if (type_.inferred && !Fits(*value.abi(), *type_.inferred->abi())) return false;
  if (!warned_.exchange(true, std::memory_order_relaxed)) {
    Log(LogLevel::kWarning, "session", "output '{}' {}; what was computed counts, the declaration is wrong",
        type_.returned_as, Complaint(value));
  }
  return true;
}

OutputType OutputType::Of(const ValueDef* value) {
  if (value == nullptr) return {};
  const bool is_returned = value->IsOutput() && value->graph().parent() == nullptr && value->consumers().empty();
  if (!is_returned) return {value->type()};
  return {value->type(), value->name(), value->inferred_type()};
}

}  // namespace epiphyte::core
