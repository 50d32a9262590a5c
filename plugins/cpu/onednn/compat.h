// oneDNN with one set of functions for its 2.x and 3.x interfaces. No other file of the plugin depends on the version.
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

// Throws std::bad_alloc unless there is ample memory for a primitive and its objects (attributes, descriptors,
// memories, a stream). Call it before they are made: oneDNN writes to a null pointer and ends the process when an
// allocation fails. It is a system call, so use it only where objects are made, never in a repeated run.
// UserScratchpad, the first step of each primitive, calls it.
void EnsureMemory();
// Call it on an error caught from oneDNN. Throws std::bad_alloc when oneDNN had no memory. Otherwise the error means
// that oneDNN has no implementation.
void ThrowIfNoMemory(const dnnl::error& error);

// The engine of this process. It is never destroyed, because primitives of plans that are never released point to it.
dnnl::engine& CpuEngine();
// Makes the static objects that oneDNN makes with its first primitive, mainly its cache. Called when the plugin is
// made, so that exit() destroys them only after the last call (kit::ProcessEnd).
void MakeOneDnnObjects();

// Version on which packed layouts depend: "2.6.3 52b5f107…".
std::string OneDnnVersion();
// Target of oneDNN's code generator on this machine, such as "avx512_core_bf16".
std::string EffectiveIsa();
// True when bfloat16 multiplications are twice as fast as float ones.
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

// Descriptors: row-major, with given strides, and with a layout chosen by oneDNN.
MemoryDesc PlainDesc(ElementType type, std::span<const int64_t> dims);
MemoryDesc StridedDesc(ElementType type, const dnnl::memory::dims& dims, const dnnl::memory::dims& strides);
MemoryDesc AnyDesc(ElementType type, std::span<const int64_t> dims);

dnnl::memory::dims DimsOf(const MemoryDesc& desc);
dnnl::memory::data_type TypeOf(const MemoryDesc& desc);

// Contents of a blocked descriptor.
struct BlockedDesc {
  std::vector<int64_t> dims, padded, strides, block_sizes, block_dims;
  bool blocked = false;
  bool extra = false;  // the descriptor has more, such as compensation data
};
BlockedDesc Describe(const MemoryDesc& desc);
// Inverse of Describe, for a descriptor without `extra`. The lists must have valid lengths and values, and strides
// without overlapping elements. Nullopt when this oneDNN version lacks the layout.
std::optional<MemoryDesc> MakeDesc(const BlockedDesc& blocked, ElementType type);

// Primitive descriptors. Each function throws dnnl::error when oneDNN has no implementation, and std::bad_alloc when
// memory is short.
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

// Attributes with a scratchpad owned by the caller: primitives are stateless, and a frame shares the memory. Throws
// std::bad_alloc when there is no memory for a primitive with these attributes.
PrimitiveAttr UserScratchpad();

}  // namespace epiphyte::cpu
