#include "core/runtime/run_outputs.h"

#include <utility>

#include "core/device/transfer.h"
#include "core/runtime/stack.h"

namespace epiphyte::core {
namespace {

// Whether no other value shares the memory of this tensor.
bool HasOwnMemory(const Value& tensor) {
  return !tensor.IsReadOnly() && (!tensor.IsOnDevice() || tensor.storage().use_count() == 1);
}

}  // namespace

void RunOutputs::TakeOver(std::span<ValuePtr> outputs, const RunBindings* bindings,
                          const std::vector<ValueSpec>& specs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    ValuePtr& output = outputs[i];
    if (!output) continue;  // an output that is an optional input which was left out
    if (bindings != nullptr && bindings->outputs[i].value) continue;
    if (output->IsTensor() && output->IsUnique() && HasOwnMemory(*output)) [[likely]]
      continue;
    output = OwnedBy(output, true, specs[i].name);
  }
}

ValuePtr RunOutputs::OwnedBy(const ValuePtr& value, bool is_only_way, std::string_view output) {
  const bool is_only_owner = is_only_way && value->IsUnique();
  if (value->IsTensor()) {
    // Strings need no copy, because the API can't write to them.
    if (value->type() == DataType::kString || (is_only_owner && HasOwnMemory(*value))) return value;
    return IsGiven(*value) ? value : CopyOf(*value, output);
  }
  if (value->elements().empty() || IsGiven(*value)) return value;
  bool is_changed = false;
  std::vector<ValuePtr> elements;
  elements.reserve(value->elements().size());
  for (const ValuePtr& element : value->elements()) {
    elements.push_back(OwnedBy(element, is_only_owner, output));
    is_changed = is_changed || elements.back().get() != element.get();
  }
  if (!is_changed) return value;
  if (value->kind() == EP_KIND_MAP) return Value::Map(std::move(elements[0]), std::move(elements[1]));
  return Value::Sequence(static_cast<DataType>(value->abi()->element_type), std::move(elements));
}

ValuePtr RunOutputs::CopyOf(const Value& tensor, std::string_view output) {
  const std::string what = fmt::format("output '{}'", output);
  if (const DeviceAllocation* piece = PieceOf(tensor)) {
    return ToDevice(tensor, *piece->pool(), devices_, piece->account(), what);
  }
  return NamingErrors(what, [&] { return Value::CopyOf(tensor, &run_); });
}

bool RunOutputs::IsGiven(const Value& value) {
  if (!std::exchange(has_given_, true)) {
    for (const ValuePtr& input : inputs_) {
      if (input) AddGiven(*input);
    }
  }
  return given_.contains(&value);
}

void RunOutputs::AddGiven(const Value& value) {
  if (!given_.insert(&value).second) return;
  for (const ValuePtr& element : value.elements()) AddGiven(*element);
}

}  // namespace epiphyte::core
