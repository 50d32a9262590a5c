// Weights in a primitive's layout, packed once and kept in the context.
//
// Large weights with only numbers of a 16-bit format (typical of a model in that type) stay in that format, in memory
// and in the context. Primitives take floats: AsFloats widens the weights for one run, in scratch memory that the next
// kernel reuses. The conversion is exact, and the other operand is unchanged.
//
// GEMMs by bfloat16 parts (split.h) read all other weights as parts, so that the splitting is done before a run.
//
// GEMMs in bfloat16 are requested by a bfloat16 model or by the option `precision: bf16`. There the primitive itself
// takes bfloat16. Both operands are rounded to it (with a relative error of at most 2^-9), and sums are floats.
#pragma once

#include <functional>

#include "plugins/cpu/onednn/layout.h"

namespace epiphyte::cpu {

struct PackedWeights {
  MemoryDesc desc;                   // layout for a primitive: of floats, or of bfloat16 for bfloat16 GEMMs
  const void* data = nullptr;        // null: the input is not constant or can't be packed
  ElementType type = EP_TYPE_FLOAT;  // type of `data`, which is laid out by `desc`
  bool parts = false;                // `data` holds bfloat16 parts of these floats (simd/gemm/split_product.h)
  explicit operator bool() const { return data != nullptr; }
  bool has_floats() const { return type == EP_TYPE_FLOAT && !parts; }
  bool for_bfloat16() const { return *this && TypeOf(desc) == dnnl::memory::data_type::bf16; }

  // Number of elements, including padding.
  int64_t count() const { return static_cast<int64_t>(desc.get_size() / dnnl::memory::data_type_size(TypeOf(desc))); }
};

// True when a kernel may pack input `input` for bfloat16 GEMMs. It must be a large float constant, the CPU must have
// such instructions, and either they are allowed or a context holds the weights under `key` in that form.
bool MayMultiplyBfloat16(const KernelInit& init, size_t input, std::string_view key);

// Layout of weights with those dimensions that a context holds under `key`; nullopt when it holds none.
std::optional<MemoryDesc> StoredLayout(const KernelInit& init, std::string_view key, std::span<const int64_t> dims);

// Packs constant input `input`, which has the layout `plain`, to the layout `wanted`, and drops the constant. Packed
// bytes in a context are used directly, or converted if their layout differs. `wanted` returns a blocked layout. It is
// not called when the context's layout is current, because asking oneDNN takes longer than the rest of loading.
struct PackingOptions {
  bool in_parts = false;  // `wanted` is for GEMMs by parts: floats are split
  int64_t offset = 0;     // first element of a part of the constant
  bool drop = true;       // false while other parts must still be packed
};
PackedWeights PackWeights(const KernelInit& init, size_t input, std::string_view key, const MemoryDesc& plain,
                          const std::function<MemoryDesc()>& wanted, const PackingOptions& options = {});

// Copies the weights to another layout, for a shape that can't use the packed one. The type stays; parts become floats.
std::shared_ptr<void> Repack(const PackedWeights& packed, const MemoryDesc& wanted);

// Converts elements [begin, begin + count) to floats, on all threads. For parts, the range has whole blocks.
void WidenWeights(OpContext& context, const PackedWeights& packed, int64_t begin, int64_t count, float* to);
// All weights as floats: in place, or in scratch memory.
const void* AsFloats(OpContext& context, const PackedWeights& packed);

}  // namespace epiphyte::cpu
