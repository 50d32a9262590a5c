// Weights in the layout that a primitive wants, packed once and kept in the context.
//
// Large weights that are all numbers of a 16-bit format, as those of a model of that type are, stay in it: in memory
// and in the context. Primitives take floats: AsFloats makes them for one run, in scratch memory that the next kernel
// uses again. Nothing is lost, and what they are multiplied with isn't touched.
//
// Products by parts of bfloat16 (split.h) read what isn't kept so as parts: all that can be done before a run is.
//
// Products in bfloat16, which a model of that type or the option `precision: bf16` asks for, are another matter: there
// the primitive itself takes bfloat16, and both operands are rounded to it (by at most 2^-9 of their size), while sums
// are floats.
#pragma once

#include <functional>

#include "plugins/cpu/onednn/layout.h"

namespace epiphyte::cpu {

struct PackedWeights {
  MemoryDesc desc;                   // what a primitive takes: floats, or bfloat16 for products in it
  const void* data = nullptr;        // null: no constant, or nothing that can be packed
  ElementType type = EP_TYPE_FLOAT;  // of `data`, which has the layout of `desc`
  bool parts = false;                // `data` is parts of these floats (simd/split_product.h)
  explicit operator bool() const { return data != nullptr; }
  bool has_floats() const { return type == EP_TYPE_FLOAT && !parts; }
  bool for_bfloat16() const { return *this && TypeOf(desc) == dnnl::memory::data_type::bf16; }

  // Elements, those included that lie between the tensor's.
  int64_t count() const { return static_cast<int64_t>(desc.get_size() / dnnl::memory::data_type_size(TypeOf(desc))); }
};

// Whether a kernel may pack input `input` for products in bfloat16: it is a large constant of floats, the CPU has such
// products, and they are allowed, or a context that holds the weights under `key` was made for them.
bool MayMultiplyBfloat16(const KernelInit& init, size_t input, std::string_view key);

// The layout in which a context holds weights of those dimensions under `key`; nullopt when it doesn't.
std::optional<MemoryDesc> StoredLayout(const KernelInit& init, std::string_view key, std::span<const int64_t> dims);

// Packs constant input `input`, which is `plain` in memory, as `wanted`, and drops the constant. From a context the
// packed bytes are found; those of another layout are converted. `wanted` gives a blocked layout; it is not asked when
// the context's layout is current, because asking oneDNN takes longer than all the rest of loading.
struct PackingOptions {
  bool in_parts = false;  // `wanted` is for products by parts: floats become such
  int64_t offset = 0;     // where in the constant, in elements, for a part of it
  bool drop = true;       // false while other parts are still to be packed
};
PackedWeights PackWeights(const KernelInit& init, size_t input, std::string_view key, const MemoryDesc& plain,
                          const std::function<MemoryDesc()>& wanted, const PackingOptions& options = {});

// A copy in another layout, for a shape that can't do with what is packed; of the same type, and of floats for parts.
std::shared_ptr<void> Repack(const PackedWeights& packed, const MemoryDesc& wanted);

// Elements [begin, begin + count) as floats, on all threads; of parts, whole blocks.
void WidenWeights(OpContext& context, const PackedWeights& packed, int64_t begin, int64_t count, float* to);
// All of them: where they are, or in scratch memory.
const void* AsFloats(OpContext& context, const PackedWeights& packed);

}  // namespace epiphyte::cpu
