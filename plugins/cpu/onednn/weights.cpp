#include "plugins/cpu/onednn/weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/kernel/small_floats.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/simd/gemm/split_product.h"

namespace epiphyte::cpu {
namespace {

// Smaller weights are not worth a conversion in each run.
constexpr int64_t kFewestToKeepSmall = 1 << 14;
// Smaller weights are fast in any type.
constexpr int64_t kFewestForBfloat16 = 1 << 11;

// Prefixes in the format of packed weights: for 16-bit weights that are widened to floats, and for bfloat16 GEMMs.
constexpr std::pair<ElementType, std::string_view> kPrefixes[] = {{EP_TYPE_FLOAT16, "float16 "},
                                                                  {EP_TYPE_BFLOAT16, "bfloat16 "}};
constexpr std::string_view kForBfloat16 = "products-in-bfloat16 ";
// Prefix for floats stored as bfloat16 parts.
constexpr std::string_view kInParts = "parts-of-bfloat16 ";

bool IsForBfloat16(const MemoryDesc& desc) { return TypeOf(desc) == dnnl::memory::data_type::bf16; }

uint64_t BytesOf(const MemoryDesc& desc, ElementType type) {
  return IsForBfloat16(desc) ? desc.get_size() : ElementBytes(type, desc.get_size() / sizeof(float));
}

template <typename Body>
void DispatchSmall(ElementType type, const Body& body) {
  Dispatch<Float16, BFloat16>(type, "a product with weights", body);
}

// True when all floats from `data` on (at any address) are numbers of format T.
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

std::string FormatOf(const PackedWeights& packed) {
  std::string text = DescToText(packed.desc);
  if (text.empty()) return text;
  if (IsForBfloat16(packed.desc)) return text.insert(0, kForBfloat16);
  if (packed.parts) return text.insert(0, kInParts);
  for (const auto& [small, prefix] : kPrefixes)
    if (packed.type == small) text.insert(0, prefix);
  return text;
}

// Parses the description of a context's weights; false when it is invalid.
bool ParseFormat(std::string_view format, std::span<const int64_t> dims, uint64_t bytes, PackedWeights* packed) {
  if (format.starts_with(kForBfloat16)) {
    packed->type = EP_TYPE_BFLOAT16;
    format.remove_prefix(kForBfloat16.size());
    return ParseDesc(format, EP_TYPE_BFLOAT16, dims, bytes, &packed->desc);
  }
  packed->type = EP_TYPE_FLOAT;
  packed->parts = format.starts_with(kInParts);
  if (packed->parts) format.remove_prefix(kInParts.size());
  for (const auto& [small, prefix] : kPrefixes) {
    if (packed->parts || !format.starts_with(prefix)) continue;
    packed->type = small;
    format.remove_prefix(prefix.size());
    break;
  }
  // Number of bytes that these elements take as floats.
  const uint64_t as_floats = packed->type == EP_TYPE_FLOAT ? bytes : bytes <= UINT64_MAX / 2 ? bytes * 2 : 0;
  if (!ParseDesc(format, EP_TYPE_FLOAT, dims, as_floats, &packed->desc)) return false;
  // All elements are converted to floats at once, including padding.
  const uint64_t size = packed->desc.get_size();
  return size <= as_floats && (!packed->parts || size % (simd::kSplitPartsBlock * sizeof(float)) == 0);
}

// Splits `count` floats into parts, which take as many bytes.
void SplitInPlace(void* data, int64_t count) {
  constexpr int64_t kBlock = simd::kSplitPartsBlock;
  alignas(64) float block[kBlock];
  auto* at = static_cast<char*>(data);
  for (int64_t i = 0; i < count; i += kBlock, at += sizeof block) {
    std::memcpy(block, at, sizeof block);
    simd::SplitWeights(block, kBlock, reinterpret_cast<uint16_t*>(at));
  }
}

// Calls make(floats), which fills memory in the layout `wanted.desc`; writes the numbers to `to` in the form `wanted`.
template <typename Make>
void MakeAs(const PackedWeights& wanted, void* to, const Make& make) {
  if (IsForBfloat16(wanted.desc) || wanted.type == EP_TYPE_FLOAT) {
    make(to);
    if (wanted.parts) SplitInPlace(to, wanted.count());
    return;
  }
  const std::shared_ptr<void> memory(kit::AllocateHeap(wanted.desc.get_size()), kit::FreeHeap);
  auto* const floats = static_cast<float*>(memory.get());
  make(floats);
  DispatchSmall(wanted.type,
                [&]<typename T>() { simd::ConvertLoop<float, T>()(floats, static_cast<T*>(to), wanted.count()); });
}

void ReorderPacked(const PackedWeights& from, const MemoryDesc& to_desc, void* to) {
  if (from.has_floats() || from.for_bfloat16()) return Reorder(from.desc, from.data, to_desc, to);
  const std::shared_ptr<void> memory(kit::AllocateHeap(from.desc.get_size()), kit::FreeHeap);
  auto* const floats = static_cast<float*>(memory.get());
  if (from.parts) {
    simd::JoinWeights(static_cast<const uint16_t*>(from.data), from.count(), floats);
  } else {
    DispatchSmall(from.type, [&]<typename T>() {
      simd::ConvertLoop<T, float>()(static_cast<const T*>(from.data), floats, from.count());
    });
  }
  Reorder(from.desc, floats, to_desc, to);
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
  PackedWeights stored;
  return ParseFormat(format, dims, bytes, &stored) ? std::optional(stored.desc) : std::nullopt;
}

PackedWeights PackWeights(const KernelInit& init, size_t input, std::string_view key, const MemoryDesc& plain,
                          const std::function<MemoryDesc()>& choose, const PackingOptions& options) {
  const Tensor* constant = init.PeekConstant(input);
  if (constant == nullptr) return {};
  const std::vector<int64_t> dims = DimsOf(plain);
  // Weights in the context, if they are readable.
  PackedWeights stored;
  std::string stored_format;
  uint64_t stored_bytes = 0;
  if (constant->data == nullptr) {
    const void* data = init.StoredPacked(key, &stored_format, &stored_bytes);
    if (data != nullptr && ParseFormat(stored_format, dims, stored_bytes, &stored)) stored.data = data;
    const bool in_form = stored.parts == (options.in_parts && stored.type == EP_TYPE_FLOAT);
    if (stored && in_form && init.PackedIsCurrent()) {
      if (options.drop) init.Drop(input);
      return stored;
    }
  }
  const char* elements = nullptr;
  if (constant->data != nullptr)
    elements = constant->as<char>() + ElementBytes(constant->type, static_cast<uint64_t>(options.offset));
  PackedWeights packed;
  packed.desc = choose();
  packed.type = IsForBfloat16(packed.desc) ? EP_TYPE_BFLOAT16
                : elements == nullptr      ? stored.type
                                           : SmallestTypeOf(elements, Dims(dims).Count());
  packed.parts = options.in_parts && packed.type == EP_TYPE_FLOAT;
  const std::string format = FormatOf(packed);
  if (format.empty()) return {};
  const uint64_t bytes = BytesOf(packed.desc, packed.type);
  packed.data = init.Packed(key, format, bytes, [&](void* to) {
    MakeAs(packed, to, [&](void* floats) {
      if (elements != nullptr) return Reorder(plain, elements, packed.desc, floats);
      if (!stored)
        throw kit::Error(EP_STATUS_INVALID_GRAPH,
                         "the context's packed weights can't be read; compile the model again");
      ReorderPacked(stored, packed.desc, floats);
    });
  });
  if (options.drop) init.Drop(input);
  return packed;
}

std::shared_ptr<void> Repack(const PackedWeights& packed, const MemoryDesc& wanted) {
  const std::shared_ptr<void> copy(kit::AllocateHeap(BytesOf(wanted, packed.type)), kit::FreeHeap);
  const WarmUpScope none(false);  // the caller keeps the copy for all runs, so a warm-up must make it
  MakeAs({.desc = wanted, .type = packed.type}, copy.get(),
         [&](void* floats) { ReorderPacked(packed, wanted, floats); });
  return copy;
}

void WidenWeights(OpContext& context, const PackedWeights& packed, int64_t begin, int64_t count, float* to) {
  constexpr int64_t kShare = 1 << 15;
  if (packed.parts) {
    constexpr int64_t kBlock = simd::kSplitPartsBlock;
    const auto* const parts = static_cast<const uint16_t*>(packed.data) + begin * 2;
    return context.ParallelFor(count / kBlock, kShare / kBlock, [&](int64_t first, int64_t last) {
      simd::JoinWeights(parts + first * kBlock * 2, (last - first) * kBlock, to + first * kBlock);
    });
  }
  DispatchSmall(packed.type, [&]<typename T>() {
    const simd::ConvertLoop<T, float> widen;
    const T* from = static_cast<const T*>(packed.data) + begin;
    context.ParallelFor(count, kShare,
                        [&](int64_t first, int64_t last) { widen(from + first, to + first, last - first); });
  });
}

const void* AsFloats(OpContext& context, const PackedWeights& packed) {
  if (packed.has_floats() || packed.for_bfloat16()) return packed.data;
  auto* floats = static_cast<float*>(context.Scratch(packed.desc.get_size()));
  WidenWeights(context, packed, 0, packed.count(), floats);
  return floats;
}

}  // namespace epiphyte::cpu
