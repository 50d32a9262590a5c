#include "plugins/vulkan/ops/host/host_compute.h"

#include <limits>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/float_types.hpp"
#include "epiphyte/kit/shape/strides.hpp"

namespace epiphyte::vulkan {

bool FitsHost(const Dims& dims) { return kit::CheckedCount(dims) <= kMostHostElements; }

int64_t HoldInteger(EpElementType type, int64_t value) {
  switch (type) {
    case EP_TYPE_BOOL: return value != 0 ? 1 : 0;
    case EP_TYPE_INT8: return static_cast<int8_t>(value);
    case EP_TYPE_UINT8: return static_cast<uint8_t>(value);
    case EP_TYPE_INT16: return static_cast<int16_t>(value);
    case EP_TYPE_UINT16: return static_cast<uint16_t>(value);
    case EP_TYPE_INT32: return static_cast<int32_t>(value);
    case EP_TYPE_UINT32: return static_cast<uint32_t>(value);
    default: return value;
  }
}

double HoldFloat(EpElementType type, double value) {
  switch (type) {
    case EP_TYPE_FLOAT: return static_cast<double>(static_cast<float>(value));
    case EP_TYPE_FLOAT16: return static_cast<double>(static_cast<float>(kit::Float16(static_cast<float>(value))));
    case EP_TYPE_BFLOAT16: return static_cast<double>(static_cast<float>(kit::BFloat16(static_cast<float>(value))));
    default: return value;
  }
}

HostTensor HostZeros(EpElementType type, const Dims& dims) {
  HostTensor tensor{.type = type, .dims = dims, .ints = {}, .floats = {}};
  const auto count = static_cast<size_t>(kit::CheckedCount(dims));
  if (tensor.IsFloat())
    tensor.floats.resize(count);
  else
    tensor.ints.resize(count);
  return tensor;
}

HostTensor HostVector(std::span<const int64_t> values) {
  return {.type = EP_TYPE_INT64,
          .dims = Dims{static_cast<int64_t>(values.size())},
          .ints = {values.begin(), values.end()},
          .floats = {}};
}

HostTensor HostScalar(EpElementType type, int64_t value) {
  HostTensor tensor{.type = type, .dims = {}, .ints = {}, .floats = {}};
  HostAppend(tensor, value);
  return tensor;
}

Dims HostDims(const HostTensor& tensor, std::string_view name) {
  if (tensor.IsFloat() || tensor.dims.size() > 1)
    kit::FailArgument(name, " of type ", kit::TypeName(tensor.type), " and shape ", kit::ShapeText(tensor.dims),
                      " found, a vector of integers expected");
  return Dims(std::span<const int64_t>(tensor.ints));
}

int64_t HostInteger(const HostTensor& tensor, std::string_view name) {
  if (tensor.IsFloat() || tensor.ints.size() != 1)
    kit::FailArgument(name, " of type ", kit::TypeName(tensor.type), " and shape ", kit::ShapeText(tensor.dims),
                      " found, one integer expected");
  return tensor.ints[0];
}

std::vector<double> HostNumbers(const HostTensor& tensor) {
  if (tensor.IsFloat()) return tensor.floats;
  return {tensor.ints.begin(), tensor.ints.end()};
}

std::vector<int64_t> StridedPositions(const Dims& dims, const Dims& strides, int64_t offset) {
  const kit::StridedBlock block{dims, strides, strides};
  const int64_t count = kit::CheckedCount(dims);
  std::vector<int64_t> positions;
  positions.reserve(static_cast<size_t>(count));
  if (count == 0) return positions;
  kit::Odometer at(block, dims.size(), 0);
  for (int64_t i = 0; i < count; ++i, at.Next()) positions.push_back(at.from() + offset);
  return positions;
}

std::vector<int64_t> BroadcastPositions(const Dims& shape, const Dims& out) {
  const Dims own = kit::RowMajorStrides(shape);
  Dims strides(out.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) strides[out.size() - shape.size() + i] = own[i];
  return StridedPositions(out, strides);
}

HostTensor HostTake(const HostTensor& x, const Dims& dims, std::span<const int64_t> positions) {
  HostTensor y{.type = x.type, .dims = dims, .ints = {}, .floats = {}};
  for (int64_t at : positions) {
    if (x.IsFloat())
      y.floats.push_back(at < 0 ? 0 : x.floats.at(static_cast<size_t>(at)));
    else
      y.ints.push_back(at < 0 ? 0 : x.ints.at(static_cast<size_t>(at)));
  }
  return y;
}

HostTensor HostReshape(const HostTensor& x, const Dims& dims) {
  HostTensor y = x;
  y.dims = dims;
  return y;
}

}  // namespace epiphyte::vulkan
