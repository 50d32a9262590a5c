#include "core/graph/value.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "core/base/error.h"
#include "core/graph/block_cache.h"
#include "core/graph/memory_budget.h"

namespace epiphyte::core {

struct Value::Extras {
  std::unique_ptr<int64_t[]> heap_dims;
  std::function<void()> release;
  ConstantPtr constant;
  std::shared_ptr<DeviceStorage> storage;
  std::vector<std::string> strings;
  std::vector<EpString> string_views;
  std::vector<ValuePtr> elements;
  std::vector<const EpValueView*> element_views;
};

namespace {

constexpr uint64_t kAlignment = 64;

void CheckDims(std::span<const int64_t> dims) {
  for (int64_t dim : dims) {
    if (dim < 0)
      Fail(StatusCode::kInvalidArgument, "a tensor can't have a dimension of {}; give sizes of 0 or more", dim);
  }
}

void CheckType(DataType type) {
  if (!IsValidDataType(static_cast<int32_t>(type))) {
    Fail(StatusCode::kInvalidArgument, "{} is no tensor element type", static_cast<int32_t>(type));
  }
}

}  // namespace

namespace {

// Owner of a value's block; stored in front of the value.
struct BlockOwner {
  std::shared_ptr<BlockCache> cache;  // null: allocated by malloc
  BlockCache::Block block;
};

BlockOwner& OwnerOf(void* value) { return static_cast<BlockOwner*>(value)[-1]; }

}  // namespace

// A value and its data are one block: [BlockOwner][Value, padded to 64 bytes][data]. It uses malloc and aligns by hand
// instead of calling aligned_alloc, because only malloc has the thread-local cache that small outputs rely on.
Value* Value::New(uint64_t data_bytes, const std::shared_ptr<BlockCache>* cache) {
  constexpr uint64_t kHeader = (sizeof(Value) + kAlignment - 1) / kAlignment * kAlignment;
  constexpr uint64_t kBefore = sizeof(BlockOwner) + kAlignment;
  if (data_bytes > std::numeric_limits<size_t>::max() - kHeader - kBefore) {
    Fail(StatusCode::kFail, "a value of {} bytes is more than this machine can address", data_bytes);
  }
  const uint64_t bytes = kBefore + kHeader + data_bytes;
  const bool cached = cache != nullptr && *cache != nullptr && bytes >= BlockCache::kWorthIt;
  const BlockCache::Block block = cached ? (*cache)->Take(bytes) : BlockCache::Block{std::malloc(bytes), bytes};
  if (block.memory == nullptr) {
    Fail(StatusCode::kFail, "no memory for a value of {} bytes; use smaller inputs or free memory", data_bytes);
  }
  static_assert(alignof(Value) <= kAlignment && sizeof(BlockOwner) % alignof(BlockOwner) == 0);
  const auto address =
      (reinterpret_cast<uintptr_t>(block.memory) + sizeof(BlockOwner) + kAlignment - 1) / kAlignment * kAlignment;
  new (&OwnerOf(reinterpret_cast<void*>(address))) BlockOwner{cached ? *cache : nullptr, block};
  Value* value = new (reinterpret_cast<void*>(address)) Value();
  value->view_.struct_size = sizeof(EpValueView);
  value->tensor_.struct_size = sizeof(EpTensorView);
  value->tensor_.data = reinterpret_cast<char*>(address) + kHeader;
  return value;
}

void Value::Delete(Value* value) {
  const BlockOwner owner = std::move(OwnerOf(value));
  value->~Value();
  OwnerOf(value).~BlockOwner();
  if (owner.cache != nullptr) {
    owner.cache->Give(owner.block);
  } else {
    std::free(owner.block.memory);
  }
}

Value::~Value() {
  if (extras_ && extras_->release) extras_->release();
}

Value::Extras& Value::MutableExtras() {
  if (!extras_) extras_ = std::make_unique<Extras>();
  return *extras_;
}

void Value::SetTensor(DataType type, std::span<const int64_t> dims, const void* data, uint64_t bytes) {
  int64_t* stored = inline_dims_.data();
  if (dims.size() > kInlineRank) {
    MutableExtras().heap_dims = std::make_unique<int64_t[]>(dims.size());
    stored = extras_->heap_dims.get();
  }
  if (!dims.empty()) std::memcpy(stored, dims.data(), dims.size_bytes());
  tensor_.element_type = static_cast<EpElementType>(type);
  tensor_.rank = static_cast<uint32_t>(dims.size());
  tensor_.dims = stored;
  tensor_.element_count = ElementCount(dims.data(), dims.size());
  tensor_.byte_size = bytes;
  tensor_.data = data;
  view_.kind = EP_KIND_TENSOR;
  view_.tensor = &tensor_;
  view_.element_type = tensor_.element_type;
}

ValuePtr Value::Tensor(DataType type, std::span<const int64_t> dims, MemoryBudget* budget) {
  CheckDims(dims);
  CheckType(type);
  if (type == DataType::kString) {
    const uint64_t count = ElementCount(dims.data(), dims.size());
    if (budget != nullptr) budget->TakeTensor(DataTypeBytes(DataType::kComplex128, count));
    return Strings(dims, std::vector<std::string>(count));
  }
  uint64_t bytes = DataTypeBytes(type, ElementCount(dims.data(), dims.size()));
  if (budget != nullptr) budget->TakeTensor(bytes);
  ValuePtr value = ValuePtr::Adopt(New(bytes, budget == nullptr ? nullptr : budget->cache()));
  value->SetTensor(type, dims, value->tensor_.data, bytes);
  return value;
}

ValuePtr Value::Wrap(DataType type, std::span<const int64_t> dims, void* data, uint64_t bytes,
                     std::function<void()> release) {
  CheckDims(dims);
  uint64_t needed = DataTypeBytes(type, ElementCount(dims.data(), dims.size()));
  if (type == DataType::kString || bytes < needed || (data == nullptr && needed != 0)) {
    Fail(StatusCode::kInvalidArgument, "memory of {} bytes can't hold a tensor of {} that needs {} bytes",
         data == nullptr ? 0 : bytes, DataTypeName(type), needed);
  }
  ValuePtr value = ValuePtr::Adopt(New(0));
  value->SetTensor(type, dims, data, needed);
  if (release) value->MutableExtras().release = std::move(release);
  return value;
}

ValuePtr Value::Strings(std::span<const int64_t> dims, std::vector<std::string> strings) {
  if (ElementCount(dims.data(), dims.size()) != strings.size()) {
    Fail(StatusCode::kInvalidArgument, "{} strings given for a tensor of {} elements", strings.size(),
         ElementCount(dims.data(), dims.size()));
  }
  ValuePtr value = ValuePtr::Adopt(New(0));
  Extras& extras = value->MutableExtras();
  extras.strings = std::move(strings);
  extras.string_views.reserve(extras.strings.size());
  for (const std::string& text : extras.strings) extras.string_views.push_back({text.data(), text.size()});
  value->SetTensor(DataType::kString, dims, extras.string_views.data(), extras.string_views.size() * sizeof(EpString));
  return value;
}

ValuePtr Value::Sequence(DataType element_type, std::vector<ValuePtr> elements) {
  ValuePtr value = ValuePtr::Adopt(New(0));
  Extras& extras = value->MutableExtras();
  extras.elements = std::move(elements);
  for (const ValuePtr& element : extras.elements) {
    if (!element) Fail(StatusCode::kInvalidArgument, "a sequence can't have an absent element");
    RequireOnHost(*element, "an element of a sequence or a map");
    extras.element_views.push_back(element->abi());
  }
  value->view_.kind = EP_KIND_SEQUENCE;
  value->view_.elements = extras.element_views.data();
  value->view_.element_count = extras.element_views.size();
  value->view_.element_type = static_cast<EpElementType>(element_type);
  return value;
}

ValuePtr Value::Map(ValuePtr keys, ValuePtr values) {
  if (!keys || !values || !keys->IsTensor() || !values->IsTensor() || keys->dims().size() != 1 ||
      values->dims().size() != 1 || keys->element_count() != values->element_count() ||
      (keys->type() != DataType::kInt64 && keys->type() != DataType::kString)) {
    Fail(StatusCode::kInvalidArgument, "a map needs a 1-D tensor of int64 or string keys and as many values");
  }
  DataType value_type = values->type();
  ValuePtr value = Sequence(value_type, {std::move(keys), std::move(values)});
  value->view_.kind = EP_KIND_MAP;
  return value;
}

ValuePtr Value::EmptyOptional() {
  ValuePtr value = ValuePtr::Adopt(New(0));
  value->view_.kind = EP_KIND_UNKNOWN;
  return value;
}

ValuePtr Value::FromConstant(const ConstantPtr& constant) {
  ValuePtr value = ValuePtr::Adopt(New(0));
  value->MutableExtras().constant = constant;
  value->SetTensor(constant->type(), constant->dims(), constant->abi()->data, constant->byte_size());
  return value;
}

ValuePtr Value::CopyOf(const Value& tensor, MemoryBudget* budget) {
  RequireOnHost(tensor, "the tensor to copy");
  if (tensor.type() == DataType::kString) {
    Fail(StatusCode::kInvalidArgument, "a tensor of strings has no plain data to copy; share the value instead");
  }
  ValuePtr copy = Tensor(tensor.type(), tensor.dims(), budget);
  if (tensor.byte_size() != 0) std::memcpy(copy->mutable_data(), tensor.data(), tensor.byte_size());
  return copy;
}

bool Value::IsReadOnly() const { return extras_ != nullptr && extras_->constant != nullptr; }

void* Value::mutable_data() {
  if (IsReadOnly()) {
    Fail(StatusCode::kInvalidArgument,
         "the tensor is a constant of a model, which is read-only; write to a copy of it");
  }
  return const_cast<void*>(tensor_.data);
}

ValuePtr Value::OnDevice(DataType type, std::span<const int64_t> dims, std::shared_ptr<DeviceStorage> storage) {
  CheckDims(dims);
  CheckType(type);
  if (type == DataType::kString) {
    Fail(StatusCode::kInvalidArgument, "a tensor of strings can't be in a device's memory; keep it in host memory");
  }
  const uint64_t bytes = DataTypeBytes(type, ElementCount(dims.data(), dims.size()));
  if (!storage || bytes > storage->size()) {
    Fail(StatusCode::kInvalidArgument, "device memory of {} bytes can't hold a tensor of {} that needs {} bytes",
         storage ? storage->size() : 0, DataTypeName(type), bytes);
  }
  ValuePtr value = ValuePtr::Adopt(New(0));
  value->SetTensor(type, dims, nullptr, bytes);
  value->tensor_.buffer = storage->buffer();
  value->tensor_.offset = storage->offset();
  value->tensor_.device = storage->device();
  value->tensor_.memory = storage->memory();
  value->MutableExtras().storage = std::move(storage);
  return value;
}

const std::shared_ptr<DeviceStorage>& Value::storage() const {
  static const auto* const kNone = new std::shared_ptr<DeviceStorage>();  // never destroyed: values may outlive main
  return extras_ ? extras_->storage : *kNone;
}

std::string Value::string_at(uint64_t index) const {
  const EpString& text = data_as<EpString>()[index];
  return std::string(text.data, text.size);
}

const std::vector<ValuePtr>& Value::elements() const {
  static const auto* const kNone = new std::vector<ValuePtr>();  // never destroyed: values may outlive main
  return extras_ ? extras_->elements : *kNone;
}

Value* Value::FromAbi(const EpValueView* view) { return reinterpret_cast<Value*>(const_cast<EpValueView*>(view)); }

ValuePtr ValuePtr::Adopt(Value* value) {
  ValuePtr pointer;
  pointer.value_ = value;
  return pointer;
}

ValuePtr ValuePtr::Share(Value* value) {
  if (value != nullptr) value->references_.fetch_add(1, std::memory_order_relaxed);
  return Adopt(value);
}

ValuePtr::ValuePtr(const ValuePtr& other) : value_(other.value_) {
  if (value_ != nullptr) value_->references_.fetch_add(1, std::memory_order_relaxed);
}

ValuePtr::~ValuePtr() {
  if (value_ == nullptr || value_->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Value::Delete(value_);
}

void RequireOnHost(const Value& value, std::string_view what) {
  if (!value.IsOnDevice()) return;
  Fail(StatusCode::kInvalidArgument, "{} is in memory {} of device {}, host memory expected; copy it there first", what,
       value.abi()->tensor->memory, value.abi()->tensor->device);
}

ConstantPtr ToConstant(const ValuePtr& tensor) {
  RequireOnHost(*tensor, "the tensor for a constant");
  std::vector<int64_t> dims(tensor->dims().begin(), tensor->dims().end());
  if (tensor->type() != DataType::kString) {
    return Constant::View(tensor->type(), std::move(dims), tensor->data(), tensor->byte_size(),
                          std::make_shared<ValuePtr>(tensor));
  }
  std::vector<std::string> strings;
  for (uint64_t i = 0; i < tensor->element_count(); ++i) strings.push_back(tensor->string_at(i));
  return Constant::Strings(std::move(dims), std::move(strings));
}

}  // namespace epiphyte::core
