// Moves elements without interpreting them: the common base of the operators that only rearrange data.
//
// Such an operator depends on the size of an element, not on its type. Its loops are templates that are instantiated
// for six element representations: 1, 2, 4, 8 and 16 bytes, and std::string. Types with several elements in a byte are
// unpacked to one element per byte first, and packed again afterwards.
//
//     WithUnit(x.type, [&](auto unit) {
//       using T = typename decltype(unit)::type;
//       MoveSource<T> from(context, x);
//       MoveTarget<T> to(context, 0, x.type, dims);
//       std::copy_n(from.data(), count, to.data());
//     });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

struct Unit16 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Unit16&, const Unit16&) = default;
};

// True for types with several elements in a byte.
inline bool IsPacked(ElementType type) {
  return type == EP_TYPE_UINT4 || type == EP_TYPE_INT4 || type == EP_TYPE_FLOAT4E2M1 || type == EP_TYPE_UINT2 ||
         type == EP_TYPE_INT2;
}
// Bytes of an unpacked element; throws for a type without elements.
uint32_t UnitBytes(ElementType type);

// Convert packed elements to one element per byte, in the low bits, and back.
void UnpackElements(ElementType type, const void* packed, int64_t count, uint8_t* elements);
void PackElements(ElementType type, const uint8_t* elements, int64_t count, void* packed);

template <typename Body>
void WithUnit(ElementType type, Body&& body) {
  if (type == EP_TYPE_STRING) return body(std::type_identity<std::string>());
  switch (UnitBytes(type)) {
    case 1: return body(std::type_identity<uint8_t>());
    case 2: return body(std::type_identity<uint16_t>());
    case 4: return body(std::type_identity<uint32_t>());
    case 8: return body(std::type_identity<uint64_t>());
    default: return body(std::type_identity<Unit16>());
  }
}

// Reads the elements of a tensor as type T, chosen by WithUnit.
template <typename T>
class MoveSource {
 public:
  MoveSource(OpContext& context, const Tensor& tensor) {
    if constexpr (std::is_same_v<T, std::string>) {
      data_ = tensor.strings->data();
    } else if (IsPacked(tensor.type)) {
      const int64_t count = tensor.Count();
      auto* elements = static_cast<uint8_t*>(context.Scratch(static_cast<uint64_t>(count) + 1));
      UnpackElements(tensor.type, tensor.data, count, elements);
      data_ = reinterpret_cast<const T*>(elements);
    } else {
      data_ = tensor.as<T>();
    }
  }
  const T* data() const { return data_; }

 private:
  const T* data_ = nullptr;
};

// Writes output `index` as type T. The destructor packs the elements of packed types.
template <typename T>
class MoveTarget {
 public:
  MoveTarget(OpContext& context, size_t index, ElementType type, std::span<const int64_t> dims)
      : MoveTarget(context, context.Output(index, type, dims)) {}
  MoveTarget(OpContext& context, Tensor& tensor) : tensor_(tensor) {
    if constexpr (std::is_same_v<T, std::string>) {
      data_ = tensor_.strings->data();
    } else if (IsPacked(tensor_.type)) {
      data_ = static_cast<T*>(context.Scratch(static_cast<uint64_t>(tensor_.Count()) + 1));
    } else {
      data_ = tensor_.as<T>();
    }
  }
  ~MoveTarget() {
    if constexpr (std::is_same_v<T, uint8_t>)
      if (IsPacked(tensor_.type)) PackElements(tensor_.type, data_, tensor_.Count(), tensor_.data);
  }
  MoveTarget(const MoveTarget&) = delete;
  MoveTarget& operator=(const MoveTarget&) = delete;
  T* data() { return data_; }
  Tensor& tensor() { return tensor_; }

 private:
  Tensor& tensor_;
  T* data_ = nullptr;
};

// Heap bytes of copies of a text, besides the string objects; short texts need none.
inline uint64_t TextBytes(const std::string& text, int64_t copies = 1) {
  constexpr size_t kShort = 15;
  const uint64_t bytes = text.size() > kShort ? text.size() + 1 : 0;
  uint64_t all = 0;
  return __builtin_mul_overflow(bytes, static_cast<uint64_t>(copies), &all) ? UINT64_MAX : all;
}

// Counts the memory of texts before they are copied: text(i) is the i-th of `count`. Elements of other types lie in the
// output, which is already counted.
template <typename T, typename Text>
void CountTexts(OpContext& context, int64_t count, const Text& text) {
  if constexpr (std::is_same_v<T, std::string>) {
    uint64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) bytes += TextBytes(text(i));
    context.CountMemory(bytes);
  }
}

// Like context.ParallelFor, but without a std::function when one thread suffices. Bodies must not throw.
template <typename Body>
void Parallel(OpContext& context, int64_t count, int64_t grain, const Body& body) {
  if (count <= grain) {
    if (count > 0) body(int64_t{0}, count);
  } else {
    context.ParallelFor(count, grain, std::cref(body));
  }
}
// Number of items of `bytes_an_item` bytes that are worth a thread.
inline int64_t MoveGrain(int64_t bytes_an_item) {
  constexpr int64_t kShareBytes = 64 << 10;
  return bytes_an_item >= kShareBytes ? 1 : kShareBytes / (bytes_an_item > 0 ? bytes_an_item : 1);
}

// The integers of a tensor of any integer type and rank 0 or 1: shapes, axes, pads.
Dims IntegersOf(const Tensor& tensor, std::string_view name);
// The integers of a tensor of any rank: in place for int64, otherwise in scratch memory.
const int64_t* Int64Data(OpContext& context, const Tensor& tensor, std::string_view name);
// Indices in [-limit, limit-1], returned as non-negative indices. Memory as for Int64Data.
const int64_t* IndicesOf(OpContext& context, const Tensor& tensor, int64_t limit, std::string_view name);

}  // namespace epiphyte::cpu
