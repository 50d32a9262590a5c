#include "plugins/vulkan/program/host_tensor.h"

#include <cstring>
#include <type_traits>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::vulkan {
namespace {

// Calls visit(T()) with the C++ type of the elements.
template <typename Visit>
void WithType(EpElementType type, Visit&& visit) {
  switch (type) {
    case EP_TYPE_FLOAT: return visit(float());
    case EP_TYPE_DOUBLE: return visit(double());
    case EP_TYPE_FLOAT16: return visit(kit::Float16());
    case EP_TYPE_BFLOAT16: return visit(kit::BFloat16());
    case EP_TYPE_INT8: return visit(int8_t());
    case EP_TYPE_INT16: return visit(int16_t());
    case EP_TYPE_INT32: return visit(int32_t());
    case EP_TYPE_INT64: return visit(int64_t());
    case EP_TYPE_BOOL:
    case EP_TYPE_UINT8: return visit(uint8_t());
    case EP_TYPE_UINT16: return visit(uint16_t());
    case EP_TYPE_UINT32: return visit(uint32_t());
    case EP_TYPE_UINT64: return visit(uint64_t());
    default:
      kit::FailArgument("elements of type ", kit::TypeName(type), " can't be computed with on the host; numbers expected");
  }
}

template <typename T>
constexpr bool kIsSmallFloat = std::is_same_v<T, kit::Float16> || std::is_same_v<T, kit::BFloat16>;

}  // namespace

bool IsHostType(EpElementType type) {
  switch (type) {
    case EP_TYPE_FLOAT:
    case EP_TYPE_DOUBLE:
    case EP_TYPE_FLOAT16:
    case EP_TYPE_BFLOAT16:
    case EP_TYPE_INT8:
    case EP_TYPE_INT16:
    case EP_TYPE_INT32:
    case EP_TYPE_INT64:
    case EP_TYPE_BOOL:
    case EP_TYPE_UINT8:
    case EP_TYPE_UINT16:
    case EP_TYPE_UINT32:
    case EP_TYPE_UINT64: return true;
    default: return false;
  }
}

HostTensor ReadHostTensor(EpElementType type, const kit::Dims& dims, const void* data) {
  HostTensor tensor;
  tensor.type = type;
  tensor.dims = dims;
  const auto count = static_cast<size_t>(dims.Count());
  WithType(type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, static_cast<const std::byte*>(data) + i * sizeof(T), sizeof(T));
      if constexpr (kIsSmallFloat<T>) {
        tensor.floats.push_back(static_cast<float>(element));
      } else if constexpr (std::is_floating_point_v<T>) {
        tensor.floats.push_back(static_cast<double>(element));
      } else {
        tensor.ints.push_back(static_cast<int64_t>(element));
      }
    }
  });
  return tensor;
}

std::vector<std::byte> BytesOf(const HostTensor& tensor) {
  const auto count = static_cast<size_t>(tensor.Count());
  if ((tensor.IsFloat() ? tensor.floats.size() : tensor.ints.size()) != count)
    kit::FailWith(EP_STATUS_FAIL, "a tensor of shape ", kit::ShapeText(tensor.dims), " was made with ",
                  tensor.IsFloat() ? tensor.floats.size() : tensor.ints.size(), " elements");
  std::vector<std::byte> bytes(static_cast<size_t>(kit::ElementBytes(tensor.type, count)));
  WithType(tensor.type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      T element;
      if constexpr (kIsSmallFloat<T>) {
        element = T(static_cast<float>(tensor.floats[i]));
      } else if constexpr (std::is_floating_point_v<T>) {
        element = static_cast<T>(tensor.floats[i]);
      } else {
        element = static_cast<T>(tensor.ints[i]);
      }
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return bytes;
}

}  // namespace epiphyte::vulkan
