#include "plugins/cpu/kernel/move.h"

#include <algorithm>

namespace epiphyte::cpu {
namespace {

template <typename T>
void Widen(const Tensor& tensor, int64_t count, int64_t* out) {
  const T* from = tensor.as<T>();
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, uint64_t>)
      out[i] = from[i] > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(from[i]);
    else
      out[i] = static_cast<int64_t>(from[i]);
  }
}

void WidenIntegers(const Tensor& tensor, std::string_view name, int64_t count, int64_t* out) {
  switch (tensor.type) {
    case EP_TYPE_INT64: return Widen<int64_t>(tensor, count, out);
    case EP_TYPE_INT32: return Widen<int32_t>(tensor, count, out);
    case EP_TYPE_INT16: return Widen<int16_t>(tensor, count, out);
    case EP_TYPE_INT8: return Widen<int8_t>(tensor, count, out);
    case EP_TYPE_UINT64: return Widen<uint64_t>(tensor, count, out);
    case EP_TYPE_UINT32: return Widen<uint32_t>(tensor, count, out);
    case EP_TYPE_UINT16: return Widen<uint16_t>(tensor, count, out);
    case EP_TYPE_UINT8: return Widen<uint8_t>(tensor, count, out);
    default: FailOp("{} of type {} found, integers expected", name, TypeName(tensor.type));
  }
}

}  // namespace

uint32_t UnitBytes(ElementType type) {
  const uint64_t bytes = ElementBytes(type, 1);  // a single packed element takes a whole byte
  if (bytes == 0) NotImplemented("element type {} found, a type with elements of fixed size expected", TypeName(type));
  return static_cast<uint32_t>(bytes);
}

void UnpackElements(ElementType type, const void* packed, int64_t count, uint8_t* elements) {
  const auto* bytes = static_cast<const uint8_t*>(packed);
  const bool quarter = type == EP_TYPE_UINT2 || type == EP_TYPE_INT2;
  if (quarter) {
    for (int64_t i = 0; i < count; ++i) elements[i] = (bytes[i >> 2] >> ((i & 3) * 2)) & 3;
  } else {
    for (int64_t i = 0; i < count; ++i) elements[i] = (bytes[i >> 1] >> ((i & 1) * 4)) & 15;
  }
}

void PackElements(ElementType type, const uint8_t* elements, int64_t count, void* packed) {
  auto* bytes = static_cast<uint8_t*>(packed);
  const int64_t a_byte = type == EP_TYPE_UINT2 || type == EP_TYPE_INT2 ? 4 : 2;
  const int bits = static_cast<int>(8 / a_byte);
  const unsigned mask = (1u << bits) - 1;
  for (int64_t i = 0; i < count; i += a_byte) {
    unsigned byte = 0;
    for (int64_t j = 0; j < std::min(a_byte, count - i); ++j) byte |= (elements[i + j] & mask) << (j * bits);
    bytes[i / a_byte] = static_cast<uint8_t>(byte);
  }
}

Dims IntegersOf(const Tensor& tensor, std::string_view name) {
  if (tensor.rank() > 1) FailOp("{} of shape {} found, a vector expected", name, ShapeText(tensor.dims));
  const int64_t count = tensor.Count();
  Dims integers;
  integers.resize(static_cast<size_t>(count));
  WidenIntegers(tensor, name, count, integers.data());
  return integers;
}

const int64_t* Int64Data(OpContext& context, const Tensor& tensor, std::string_view name) {
  if (tensor.type == EP_TYPE_INT64) return tensor.as<int64_t>();
  const int64_t count = tensor.Count();
  auto* values = static_cast<int64_t*>(context.Scratch((static_cast<uint64_t>(count) + 1) * sizeof(int64_t)));
  WidenIntegers(tensor, name, count, values);
  return values;
}

const int64_t* IndicesOf(OpContext& context, const Tensor& tensor, int64_t limit, std::string_view name) {
  const int64_t count = tensor.Count();
  const int64_t* values = Int64Data(context, tensor, name);
  bool negative = false;
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] < -limit || values[i] >= limit)
      FailOp("{}: index {} found, a value in [{}, {}] expected", name, values[i], -limit, limit - 1);
    negative |= values[i] < 0;
  }
  if (!negative) return values;
  auto* wrapped = static_cast<int64_t*>(context.Scratch((static_cast<uint64_t>(count) + 1) * sizeof(int64_t)));
  for (int64_t i = 0; i < count; ++i) wrapped[i] = values[i] < 0 ? values[i] + limit : values[i];
  return wrapped;
}

}  // namespace epiphyte::cpu
