#include "plugins/cpu/onednn/weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/kernel/small_floats.h"
#include "plugins/cpu/onednn/rehearsal.h"

namespace epiphyte::cpu {
namespace {

// Smaller weights are not worth a conversion in each run.
constexpr int64_t kFewestToKeepSmall = 1 << 14;
// Fewer are soon multiplied, in whatever type.
constexpr int64_t kFewestForBfloat16 = 1 << 11;

// What the format of packed weights begins with that become floats, and of those for products in bfloat16.
constexpr std::pair<ElementType, std::string_view> kPrefixes[] = {{EP_TYPE_FLOAT16, "float16 "},
                                                                  {EP_TYPE_BFLOAT16, "bfloat16 "}};
constexpr std::string_view kForBfloat16 = "products-in-bfloat16 ";

bool IsForBfloat16(const MemoryDesc& desc) { return TypeOf(desc) == dnnl::memory::data_type::bf16; }

uint64_t BytesOf(const MemoryDesc& desc, ElementType type) {
  return IsForBfloat16(desc) ? desc.get_size() : ElementBytes(type, desc.get_size() / sizeof(float));
}

template <typename Body>
void DispatchSmall(ElementType type, const Body& body) {
  Dispatch<Float16, BFloat16>(type, "a product with weights", body);
}

// All of the floats from `data` on, which may be at any address, are numbers of format T.
template <typename T>
bool AreAll(const char* data, int64_t count) {
  const SmallFloats<T> small;
  float block[kFloatBlock], again[kFloatBlock];
  T narrow[kFloatBlock];
  for (int64_t at = 0; at < count; at += kFloatBlock) {
    const int64_t n = std::min(kFloatBlock, count - at);
    const size_t bytes = static_cast<size_t>(n) * sizeof(float);
    std::memcpy(block, data + static_cast<size_t>(at) * sizeof(float), bytes);
    small.store(block, narrow, n);
    small.load(narrow, again, n);
    if (std::memcmp(block, again, bytes) != 0) return false;
  }
  return true;
}

ElementType SmallestTypeOf(const char* data, int64_t count) {
  if (count < kFewestToKeepSmall) return EP_TYPE_FLOAT;
  return AreAll<Float16>(data, count)    ? EP_TYPE_FLOAT16
         : AreAll<BFloat16>(data, count) ? EP_TYPE_BFLOAT16
                                         : EP_TYPE_FLOAT;
}

std::string FormatOf(const MemoryDesc& desc, ElementType type) {
  std::string text = DescToText(desc);
  if (IsForBfloat16(desc)) return text.empty() ? text : text.insert(0, kForBfloat16);
  for (const auto& [small, prefix] : kPrefixes)
    if (type == small && !text.empty()) text.insert(0, prefix);
  return text;
}

// The description of what a context holds; false when it can't be read.
bool ParseFormat(std::string_view format, std::span<const int64_t> dims, uint64_t bytes, MemoryDesc* desc,
                 ElementType* type) {
  if (format.starts_with(kForBfloat16)) {
    *type = EP_TYPE_BFLOAT16;
    format.remove_prefix(kForBfloat16.size());
    return ParseDesc(format, EP_TYPE_BFLOAT16, dims, bytes, desc);
  }
  *type = EP_TYPE_FLOAT;
  for (const auto& [small, prefix] : kPrefixes) {
    if (!format.starts_with(prefix)) continue;
    *type = small;
    format.remove_prefix(prefix.size());
    break;
  }
  // As many elements as there are bytes for.
  const uint64_t as_floats = *type == EP_TYPE_FLOAT ? bytes : bytes <= UINT64_MAX / 2 ? bytes * 2 : 0;
  // All of them become floats at once, those included that lie between the elements.
  return ParseDesc(format, EP_TYPE_FLOAT, dims, as_floats, desc) && desc->get_size() <= as_floats;
}

// make(floats) fills memory as `desc` has it; `to` gets that in `type`.
template <typename Make>
void MakeAs(ElementType type, const MemoryDesc& desc, void* to, const Make& make) {
  if (type == EP_TYPE_FLOAT || IsForBfloat16(desc)) return make(to);
  const std::shared_ptr<void> floats(kit::AllocateHeap(desc.get_size()), kit::FreeHeap);
  make(floats.get());
  DispatchSmall(type, [&]<typename T>() {
    simd::ConvertLoop<float, T>()(static_cast<const float*>(floats.get()), static_cast<T*>(to),
                                  static_cast<int64_t>(desc.get_size() / sizeof(float)));
  });
}

void ReorderPacked(const PackedWeights& from, const MemoryDesc& to_desc, void* to) {
  if (from.type == EP_TYPE_FLOAT || from.for_bfloat16()) return Reorder(from.desc, from.data, to_desc, to);
  const std::shared_ptr<void> floats(kit::AllocateHeap(from.desc.get_size()), kit::FreeHeap);
  DispatchSmall(from.type, [&]<typename T>() {
    simd::ConvertLoop<T, float>()(static_cast<const T*>(from.data), static_cast<float*>(floats.get()), from.count());
  });
  Reorder(from.desc, floats.get(), to_desc, to);
}

}  // namespace

bool MayMultiplyBfloat16(const KernelInit& init, size_t input, std::string_view key) {
  const Tensor* constant = init.PeekConstant(input);
  if (constant == nullptr || constant->type != EP_TYPE_FLOAT || constant->Count() < kFewestForBfloat16 ||
      !HasBfloat16Products())
    return false;
  if (init.AllowsBfloat16()) return true;
  std::string format;
  uint64_t bytes = 0;
  return constant->data == nullptr && init.StoredPacked(key, &format, &bytes) != nullptr &&
         format.starts_with(kForBfloat16);
}

std::optional<MemoryDesc> StoredLayout(const KernelInit& init, std::string_view key, std::span<const int64_t> dims) {
  std::string format;
  uint64_t bytes = 0;
  if (init.StoredPacked(key, &format, &bytes) == nullptr) return std::nullopt;
  MemoryDesc desc;
  ElementType type;
  return ParseFormat(format, dims, bytes, &desc, &type) ? std::optional(desc) : std::nullopt;
}

PackedWeights PackWeights(const KernelInit& init, size_t input, std::string_view key, const MemoryDesc& plain,
                          const std::function<MemoryDesc()>& choose, int64_t offset, bool drop) {
  const Tensor* constant = init.PeekConstant(input);
  if (constant == nullptr) return {};
  const std::vector<int64_t> dims = DimsOf(plain);
  // What a context holds, if it can be read.
  PackedWeights stored;
  std::string stored_format;
  uint64_t stored_bytes = 0;
  if (constant->data == nullptr) {
    const void* data = init.StoredPacked(key, &stored_format, &stored_bytes);
    if (data != nullptr && ParseFormat(stored_format, dims, stored_bytes, &stored.desc, &stored.type))
      stored.data = data;
    if (stored && init.PackedIsCurrent()) {
      if (drop) init.Drop(input);
      return stored;
    }
  }
  const char* elements = nullptr;
  if (constant->data != nullptr)
    elements = constant->as<char>() + ElementBytes(constant->type, static_cast<uint64_t>(offset));
  PackedWeights packed;
  packed.desc = choose();
  packed.type = IsForBfloat16(packed.desc) ? EP_TYPE_BFLOAT16
                : elements == nullptr      ? stored.type
                                           : SmallestTypeOf(elements, Dims(dims).Count());
  const std::string format = FormatOf(packed.desc, packed.type);
  if (format.empty()) return {};
  const uint64_t bytes = BytesOf(packed.desc, packed.type);
  packed.data = init.Packed(key, format, bytes, [&](void* to) {
    MakeAs(packed.type, packed.desc, to, [&](void* floats) {
      if (elements != nullptr) return Reorder(plain, elements, packed.desc, floats);
      if (!stored)
        throw kit::Error(EP_STATUS_INVALID_GRAPH,
                         "the context's packed weights can't be read; compile the model again");
      ReorderPacked(stored, packed.desc, floats);
    });
  });
  if (drop) init.Drop(input);
  return packed;
}

std::shared_ptr<void> Repack(const PackedWeights& packed, const MemoryDesc& wanted) {
  const uint64_t bytes = BytesOf(wanted, packed.type);
  const std::shared_ptr<void> copy(kit::AllocateHeap(bytes), kit::FreeHeap);
  const Rehearsal none(false);  // who has it keeps it for all runs
  MakeAs(packed.type, wanted, copy.get(), [&](void* floats) { ReorderPacked(packed, wanted, floats); });
  return copy;
}

void WidenWeights(OpContext& context, const PackedWeights& packed, int64_t begin, int64_t count, float* to) {
  constexpr int64_t kShare = 1 << 15;
  DispatchSmall(packed.type, [&]<typename T>() {
    const simd::ConvertLoop<T, float> widen;
    const T* from = static_cast<const T*>(packed.data) + begin;
    context.ParallelFor(count, kShare,
                        [&](int64_t first, int64_t last) { widen(from + first, to + first, last - first); });
  });
}

const void* AsFloats(OpContext& context, const PackedWeights& packed) {
  if (packed.type == EP_TYPE_FLOAT || packed.for_bfloat16()) return packed.data;
  auto* floats = static_cast<float*>(context.Scratch(packed.desc.get_size()));
  WidenWeights(context, packed, 0, packed.count(), floats);
  return floats;
}

}  // namespace epiphyte::cpu
