#include "core/runtime/stack.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

// Split of a tensor at one axis: `outer` blocks of `size` slices of `inner` elements.
struct Split {
  int64_t outer = 1;
  int64_t inner = 1;
};

Split SplitAt(std::span<const int64_t> dims, size_t axis) {
  Split split;
  for (size_t i = 0; i < axis; ++i) split.outer *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) split.inner *= dims[i];
  return split;
}

int64_t NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    Fail(StatusCode::kInvalidArgument, "axis {} is outside a tensor of rank {}", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

// Bytes that a string tensor counts when it is freed: its elements' references to their texts, each as large as a
// complex128.
uint64_t BytesOfStrings(const std::vector<int64_t>& dims) {
  return DataTypeBytes(DataType::kComplex128, ElementCount(dims));
}

}  // namespace

ValuePtr StackSlices(std::vector<ValuePtr>& slices, int64_t axis, const Type* slice_type, std::string_view what,
                     RunState& run) {
  std::vector<int64_t> dims;
  DataType type = DataType::kUndefined;
  if (slices.empty()) {
    if (slice_type == nullptr || !slice_type->IsTensor()) {
      Fail(StatusCode::kInvalidGraph,
           "{}: nothing was produced and its type is not known; declare the type in the body", what);
    }
    type = slice_type->element_type();
    if (slice_type->shape()) {
      for (const Dim& dim : *slice_type->shape()) dims.push_back(std::max<int64_t>(dim.value, 0));
    }
  } else {
    if (!slices.front()->IsTensor()) Fail(StatusCode::kInvalidGraph, "{}: only tensors can be stacked", what);
    type = slices.front()->type();
    dims.assign(slices.front()->dims().begin(), slices.front()->dims().end());
    for (const ValuePtr& slice : slices) {
      if (!slice->IsTensor() || slice->type() != type ||
          !std::equal(dims.begin(), dims.end(), slice->dims().begin(), slice->dims().end())) {
        Fail(StatusCode::kInvalidArgument,
             "{}: iterations gave tensors of different types or shapes, which can't be stacked", what);
      }
    }
  }
  axis = NormalizeAxis(axis, static_cast<int64_t>(dims.size()) + 1);
  dims.insert(dims.begin() + axis, static_cast<int64_t>(slices.size()));
  Split split = SplitAt(dims, static_cast<size_t>(axis));
  if (type == DataType::kString) {
    NamingErrors(what, [&] { run.TakeTensor(BytesOfStrings(dims)); });
    std::vector<std::string> strings;
    for (int64_t outer = 0; outer < split.outer; ++outer) {
      for (const ValuePtr& slice : slices) {
        for (int64_t i = 0; i < split.inner; ++i)
          strings.push_back(slice->string_at(static_cast<uint64_t>(outer * split.inner + i)));
      }
    }
    for (ValuePtr& slice : slices) run.Drop(slice);
    slices.clear();
    return Value::Strings(dims, std::move(strings));
  }
  ValuePtr result = NamingErrors(what, [&] { return Value::Tensor(type, dims, &run); });
  if (DataTypeBits(type) % 8 != 0 && split.inner % 2 != 0 && slices.size() > 1) {
    Fail(StatusCode::kNotImplemented, "{}: packed {} slices of odd length can't be stacked", what, DataTypeName(type));
  }
  uint64_t row = DataTypeBytes(type, static_cast<uint64_t>(split.inner));
  char* target = static_cast<char*>(result->mutable_data());
  for (int64_t outer = 0; outer < split.outer; ++outer) {
    for (const ValuePtr& slice : slices) {
      if (row != 0) std::memcpy(target, slice->data_as<char>() + static_cast<uint64_t>(outer) * row, row);
      target += row;
    }
  }
  for (ValuePtr& slice : slices) run.Drop(slice);
  slices.clear();
  return result;
}

ValuePtr Zeros(DataType type, const std::vector<int64_t>& dims, RunState& run) {
  if (type == DataType::kString) {
    run.TakeTensor(BytesOfStrings(dims));
    return Value::Strings(dims, std::vector<std::string>(static_cast<size_t>(ElementCount(dims))));
  }
  ValuePtr zeros = Value::Tensor(type, dims, &run);
  std::fill_n(static_cast<char*>(zeros->mutable_data()), zeros->byte_size(), '\0');
  return zeros;
}

ValuePtr TakeSlice(const Value& tensor, int64_t axis, int64_t index, RunState& run) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  axis = NormalizeAxis(axis, static_cast<int64_t>(dims.size()));
  int64_t size = dims[static_cast<size_t>(axis)];
  Split split = SplitAt(dims, static_cast<size_t>(axis));
  dims.erase(dims.begin() + axis);
  if (tensor.type() == DataType::kString) {
    run.TakeTensor(BytesOfStrings(dims));
    std::vector<std::string> strings;
    for (int64_t outer = 0; outer < split.outer; ++outer) {
      for (int64_t i = 0; i < split.inner; ++i) {
        strings.push_back(tensor.string_at(static_cast<uint64_t>((outer * size + index) * split.inner + i)));
      }
    }
    return Value::Strings(dims, std::move(strings));
  }
  if (DataTypeBits(tensor.type()) % 8 != 0 && split.inner % 2 != 0) {
    Fail(StatusCode::kNotImplemented, "packed {} tensors can't be taken apart into slices of odd length",
         DataTypeName(tensor.type()));
  }
  ValuePtr result = Value::Tensor(tensor.type(), dims, &run);
  uint64_t row = DataTypeBytes(tensor.type(), static_cast<uint64_t>(split.inner));
  for (int64_t outer = 0; outer < split.outer && row != 0; ++outer) {
    std::memcpy(static_cast<char*>(result->mutable_data()) + static_cast<uint64_t>(outer) * row,
                tensor.data_as<char>() + static_cast<uint64_t>(outer * size + index) * row, row);
  }
  return result;
}

}  // namespace epiphyte::core
