// Moving elements without looking at them: what the operators that only rearrange data share.
//
// Such an operator needs the size of an element, not its type, so its loops are written once as a template and run for
// six element representations: 1, 2, 4, 8 and 16 bytes, and std::string. Types that pack several elements into a byte
// are unpacked to one a byte before and packed again afterwards.
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

// Several elements to a byte.
inline bool IsPacked(ElementType type) {
  return type == EP_TYPE_UINT4 || type == EP_TYPE_INT4 || type == EP_TYPE_FLOAT4E2M1 || type == EP_TYPE_UINT2 ||
         type == EP_TYPE_INT2;
}
// Bytes that an element takes once unpacked; throws for a type without elements.
uint32_t UnitBytes(ElementType type);

// One element a byte, in the low bits, and back.
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

// The elements of a tensor as T, which WithUnit chose.
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

// Output `index` as T; packed types are packed when this goes out of scope.
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

// What copies of a text take beside the elements that they are in; short ones lie in these.
inline uint64_t TextBytes(const std::string& text, int64_t copies = 1) {
  constexpr size_t kShort = 15;
  const uint64_t bytes = text.size() > kShort ? text.size() + 1 : 0;
  uint64_t all = 0;
  return __builtin_mul_overflow(bytes, static_cast<uint64_t>(copies), &all) ? UINT64_MAX : all;
}

// Counts what texts take, before they are copied: text(i) is the i-th of `count`. Elements of other types lie in the
// output, which is counted already.
template <typename T, typename Text>
void CountTexts(OpContext& context, int64_t count, const Text& text) {
  if constexpr (std::is_same_v<T, std::string>) {
    uint64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) bytes += TextBytes(text(i));
    context.CountMemory(bytes);
  }
}

// context.ParallelFor without the cost of a std::function where one thread will do. Bodies must not throw.
template <typename Body>
void Parallel(OpContext& context, int64_t count, int64_t grain, const Body& body) {
  if (count <= grain) {
    if (count > 0) body(int64_t{0}, count);
  } else {
    context.ParallelFor(count, grain, std::cref(body));
  }
}
// How many items of that many bytes make a share worth a thread.
inline int64_t MoveGrain(int64_t bytes_an_item) {
  constexpr int64_t kShareBytes = 64 << 10;
  return bytes_an_item >= kShareBytes ? 1 : kShareBytes / (bytes_an_item > 0 ? bytes_an_item : 1);
}

// The integers of a tensor of any integer type and rank 0 or 1: shapes, axes, pads.
Dims IntegersOf(const Tensor& tensor, std::string_view name);
// The integers of a tensor of any rank; they live in `tensor` itself when it is int64, else in scratch memory.
const int64_t* Int64Data(OpContext& context, const Tensor& tensor, std::string_view name);
// The same, each in [-limit, limit-1], as numbers from the front.
const int64_t* IndicesOf(OpContext& context, const Tensor& tensor, int64_t limit, std::string_view name);

}  // namespace epiphyte::cpu
