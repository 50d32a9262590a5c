// oneDNN, with the differences between its 2.x and 3.x interfaces behind one set of functions. Nothing else in the
// plugin asks for the version.
#pragma once

#include <dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

using MemoryDesc = dnnl::memory::desc;
using PrimitiveAttr = dnnl::primitive_attr;

// oneDNN ends the process when it gets no memory for one of its objects: it writes to where they would be. Called
// before a primitive and what belongs to it are made (attributes, descriptors, memories, a stream), this throws
// std::bad_alloc instead, unless there is room for more than all of that takes. It asks the system, so it is called
// where something is made, and never by what a run repeats; UserScratchpad does, with which each primitive begins.
void EnsureMemory();
// For what was caught from oneDNN: std::bad_alloc when it had no memory. What is left means that it has no
// implementation.
void ThrowIfNoMemory(const dnnl::error& error);

// The engine of this process; lives forever, because primitives of plans that are never released point to it.
dnnl::engine& CpuEngine();
// Makes the static objects that oneDNN makes with its first primitive, its cache above all. Called when the plugin is
// made, so that exit() destroys them only when the last call is over (kit::ProcessEnd).
void MakeOneDnnObjects();

// "2.6.3 52b5f107…": what a packed layout depends on.
std::string OneDnnVersion();
// "avx512_core_bf16" or the like: what oneDNN generates code for here.
std::string EffectiveIsa();
// Products of bfloat16 take half the time of those of floats.
bool HasBfloat16Products();

void AppendEltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta);
// x * clip(x / 6 + 1/2, 0, 1)
void AppendHardSwish(dnnl::post_ops& ops);

inline dnnl::memory::data_type DataType(ElementType type) {
  switch (type) {
    case EP_TYPE_FLOAT: return dnnl::memory::data_type::f32;
    case EP_TYPE_BFLOAT16: return dnnl::memory::data_type::bf16;
    case EP_TYPE_FLOAT16: return dnnl::memory::data_type::f16;
    case EP_TYPE_INT32: return dnnl::memory::data_type::s32;
    case EP_TYPE_INT8: return dnnl::memory::data_type::s8;
    case EP_TYPE_UINT8: return dnnl::memory::data_type::u8;
    default: NotImplemented("oneDNN has no type for {}", TypeName(type));
  }
}

// Row-major, with strides of its own, and in the layout that oneDNN likes best.
MemoryDesc PlainDesc(ElementType type, std::span<const int64_t> dims);
MemoryDesc StridedDesc(ElementType type, const dnnl::memory::dims& dims, const dnnl::memory::dims& strides);
MemoryDesc AnyDesc(ElementType type, std::span<const int64_t> dims);

dnnl::memory::dims DimsOf(const MemoryDesc& desc);
dnnl::memory::data_type TypeOf(const MemoryDesc& desc);

// What a blocked descriptor says.
struct BlockedDesc {
  std::vector<int64_t> dims, padded, strides, block_sizes, block_dims;
  bool blocked = false;
  bool extra = false;  // compensation data and the like: not described here
};
BlockedDesc Describe(const MemoryDesc& desc);
// The other way round, for one without `extra`. The lists have the lengths and values that a descriptor can have, and
// strides that keep elements apart. Nullopt when this oneDNN has no such layout.
std::optional<MemoryDesc> MakeDesc(const BlockedDesc& blocked, ElementType type);

// Primitive descriptors. Each throws dnnl::error when oneDNN has no implementation, std::bad_alloc when there is no
// memory.
struct ConvolutionArgs {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  MemoryDesc src, weights, bias, dst;  // bias: zero descriptor for none
  bool has_bias = false;
  dnnl::memory::dims strides, dilates, pads_begin, pads_end;  // dilates: 0 is dense
};
dnnl::convolution_forward::primitive_desc ConvolutionDesc(const ConvolutionArgs& args, const PrimitiveAttr& attr);
dnnl::deconvolution_forward::primitive_desc DeconvolutionDesc(const ConvolutionArgs& args, const PrimitiveAttr& attr);
dnnl::inner_product_forward::primitive_desc InnerProductDesc(const MemoryDesc& src, const MemoryDesc& weights,
                                                             const MemoryDesc* bias, const MemoryDesc& dst,
                                                             const PrimitiveAttr& attr);
dnnl::matmul::primitive_desc MatMulDesc(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc* bias,
                                        const MemoryDesc& c, const PrimitiveAttr& attr);
dnnl::pooling_forward::primitive_desc PoolingDesc(dnnl::algorithm algorithm, const MemoryDesc& src,
                                                  const MemoryDesc& dst, const dnnl::memory::dims& strides,
                                                  const dnnl::memory::dims& kernel,
                                                  const dnnl::memory::dims& pads_begin,
                                                  const dnnl::memory::dims& pads_end, const PrimitiveAttr& attr);
dnnl::lrn_forward::primitive_desc LrnDesc(const MemoryDesc& src, int64_t size, float alpha, float beta, float k,
                                          const PrimitiveAttr& attr);

// The scratchpad is the caller's, so that primitives are stateless and memory is shared in a frame. Throws
// std::bad_alloc when there is no room for a primitive that is made with it.
PrimitiveAttr UserScratchpad();

}  // namespace epiphyte::cpu
