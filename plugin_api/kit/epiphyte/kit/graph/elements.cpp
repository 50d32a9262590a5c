#include "epiphyte/kit/graph/elements.hpp"

#include <cstring>

#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::kit::ir {
namespace {

template <typename T>
double LoadNumber(const void* data, size_t index) {
  T element;
  std::memcpy(&element, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return static_cast<double>(element);
}

template <typename T>
double LoadSmall(const void* data, size_t index) {
  T element;
  std::memcpy(&element, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return static_cast<double>(static_cast<float>(element));
}

}  // namespace

bool IsThere(const Constant& constant) {
  if (constant.storage == Constant::Storage::kDropped) return false;
  return constant.tensor.data != nullptr || constant.tensor.strings != nullptr || constant.tensor.Count() == 0;
}

const Tensor* ElementsOf(const Graph& graph, int32_t value) {
  const Constant* constant = graph.FindConstant(value);
  return constant == nullptr || !IsThere(*constant) ? nullptr : &constant->tensor;
}

bool NumberAt(const Tensor& tensor, size_t index, double* number) {
  if (tensor.data == nullptr || index >= static_cast<uint64_t>(tensor.Count())) return false;
  const void* const data = tensor.data;
  const auto* const packed = static_cast<const uint8_t*>(data);
  switch (tensor.type) {
    case EP_TYPE_FLOAT: *number = LoadNumber<float>(data, index); return true;
    case EP_TYPE_DOUBLE: *number = LoadNumber<double>(data, index); return true;
    case EP_TYPE_FLOAT16: *number = LoadSmall<Float16>(data, index); return true;
    case EP_TYPE_BFLOAT16: *number = LoadSmall<BFloat16>(data, index); return true;
    case EP_TYPE_FLOAT8E4M3FN: *number = LoadSmall<Float8E4M3FN>(data, index); return true;
    case EP_TYPE_FLOAT8E4M3FNUZ: *number = LoadSmall<Float8E4M3FNUZ>(data, index); return true;
    case EP_TYPE_FLOAT8E5M2: *number = LoadSmall<Float8E5M2>(data, index); return true;
    case EP_TYPE_FLOAT8E5M2FNUZ: *number = LoadSmall<Float8E5M2FNUZ>(data, index); return true;
    case EP_TYPE_FLOAT8E8M0: *number = LoadSmall<Float8E8M0>(data, index); return true;
    case EP_TYPE_FLOAT4E2M1: {
      Float4E2M1 element;
      element.bits = static_cast<uint8_t>(LoadPacked<4>(packed, index));
      *number = static_cast<double>(static_cast<float>(element));
      return true;
    }
    case EP_TYPE_INT8: *number = LoadNumber<int8_t>(data, index); return true;
    case EP_TYPE_INT16: *number = LoadNumber<int16_t>(data, index); return true;
    case EP_TYPE_INT32: *number = LoadNumber<int32_t>(data, index); return true;
    case EP_TYPE_INT64: *number = LoadNumber<int64_t>(data, index); return true;
    case EP_TYPE_UINT8: *number = LoadNumber<uint8_t>(data, index); return true;
    case EP_TYPE_UINT16: *number = LoadNumber<uint16_t>(data, index); return true;
    case EP_TYPE_UINT32: *number = LoadNumber<uint32_t>(data, index); return true;
    case EP_TYPE_UINT64: *number = LoadNumber<uint64_t>(data, index); return true;
    case EP_TYPE_INT4: *number = LoadPackedSigned<4>(packed, index); return true;
    case EP_TYPE_UINT4: *number = LoadPacked<4>(packed, index); return true;
    case EP_TYPE_INT2: *number = LoadPackedSigned<2>(packed, index); return true;
    case EP_TYPE_UINT2: *number = LoadPacked<2>(packed, index); return true;
    default: return false;
  }
}

}  // namespace epiphyte::kit::ir
