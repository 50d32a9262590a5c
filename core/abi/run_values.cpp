#include "core/abi/run_values.h"

#include <algorithm>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// Number of searches through an input's elements that cost less than a table of all elements.
constexpr uint32_t kSearchesBeforeTable = 8;

void AddElements(const Value& value, std::unordered_set<const Value*>* all) {
  for (const ValuePtr& element : value.elements()) {
    if (all->insert(element.get()).second) AddElements(*element, all);
  }
}

Value* FindElement(const Value& value, const EpValueView* view) {
  for (const ValuePtr& element : value.elements()) {
    if (element->abi() == view) return element.get();
    if (element->IsTensor()) continue;
    if (Value* found = FindElement(*element, view)) return found;
  }
  return nullptr;
}

}  // namespace

void RunValues::RequireThread() const {
  if (std::this_thread::get_id() == thread_) return;
  Fail(StatusCode::kInvalidArgument, "a value was made or used on another thread than the one that runs Execute");
}

EpValue* RunValues::Give(ValuePtr value) {
  RequireThread();
  if (!open_) open_.emplace(this);
  if (few_count_ < kFew) {
    few_[few_count_++] = value.get();
  } else {
    if (!many_) many_ = std::make_unique<std::unordered_map<Value*, uint64_t>>();
    ++(*many_)[value.get()];
  }
  return reinterpret_cast<EpValue*>(value.Detach());
}

bool RunValues::Holds(const Value* value) const {
  const auto end = few_.begin() + few_count_;
  return std::find(few_.begin(), end, value) != end || (many_ && many_->contains(const_cast<Value*>(value)));
}

Value* RunValues::Get(const EpValue* handle) const {
  RequireThread();
  auto* value = reinterpret_cast<Value*>(const_cast<EpValue*>(handle));
  if (!Holds(value)) {
    Fail(StatusCode::kInvalidArgument,
         "a handle is no value that this Execute made or shared, or the value was released before");
  }
  return value;
}

Value* RunValues::Viewed(const EpValueView* view) {
  RequireThread();
  const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                  [view](const Value* value) { return value != nullptr && value->abi() == view; });
  if (input != inputs_.end()) return *input;
  if (Value* nested = FindNested(view)) return nested;
  Fail(StatusCode::kInvalidArgument, "a view belongs to no input of this Execute and to no element of one");
}

Value* RunValues::FindNested(const EpValueView* view) {
  if (!nested_ && ++nested_searches_ > kSearchesBeforeTable) {
    nested_ = std::make_unique<std::unordered_set<const Value*>>();
    for (const Value* input : inputs_) {
      if (input != nullptr) AddElements(*input, nested_.get());
    }
  }
  if (nested_) {
    Value* value = Value::FromAbi(view);
    return nested_->contains(value) ? value : nullptr;
  }
  for (const Value* input : inputs_) {
    if (input == nullptr || input->IsTensor()) continue;
    if (Value* found = FindElement(*input, view)) return found;
  }
  return nullptr;
}

bool RunValues::Drop(Value* value) {
  const auto end = few_.begin() + few_count_;
  const auto found = std::find(few_.begin(), end, value);
  if (found != end) {
    *found = few_[--few_count_];
  } else {
    if (!many_) return false;
    const auto counted = many_->find(value);
    if (counted == many_->end()) return false;
    if (--counted->second == 0) many_->erase(counted);
  }
  ValuePtr::Adopt(value);
  return true;
}

bool RunValues::Release(const EpValue* handle) {
  auto* value = reinterpret_cast<Value*>(const_cast<EpValue*>(handle));
  RunValues* run = CallScopedHandle<RunValues>::FindIf([value](const RunValues& open) { return open.Holds(value); });
  return run != nullptr && run->Drop(value);
}

void RunValues::ReleaseAll() noexcept {
  while (few_count_ > 0) ValuePtr::Adopt(few_[--few_count_]);
  if (!many_) return;
  for (const auto& [value, count] : *many_) {
    for (uint64_t i = 0; i < count; ++i) ValuePtr::Adopt(value);
  }
}

}  // namespace epiphyte::core
