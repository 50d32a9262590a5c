#include "plugins/cpu/onednn/compat.h"

namespace epiphyte::cpu {

dnnl::engine& CpuEngine() {
  static dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{} {}", version->major, version->minor, version->patch, version->hash);
}

std::string EffectiveIsa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: return "sse41";
    case dnnl::cpu_isa::avx: return "avx";
    case dnnl::cpu_isa::avx2: return "avx2";
    case dnnl::cpu_isa::avx2_vnni: return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core: return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni: return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx: return "avx512_core_amx";
    default: return fmt::format("isa{}", static_cast<unsigned>(dnnl::get_effective_cpu_isa()));
  }
}

PrimitiveAttr UserScratchpad() {
  PrimitiveAttr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

#if DNNL_VERSION_MAJOR >= 3

dnnl::convolution_forward::primitive_desc ConvolutionDesc(const ConvolutionArgs& a, const PrimitiveAttr& attr) {
  const auto kind = dnnl::prop_kind::forward_inference;
  if (a.has_bias)
    return {CpuEngine(), kind,      a.algorithm, a.src,        a.weights,  a.bias,
            a.dst,       a.strides, a.dilates,   a.pads_begin, a.pads_end, attr};
  return {CpuEngine(), kind,      a.algorithm,  a.src,      a.weights, a.dst,
          a.strides,   a.dilates, a.pads_begin, a.pads_end, attr};
}

dnnl::deconvolution_forward::primitive_desc DeconvolutionDesc(const ConvolutionArgs& a, const PrimitiveAttr& attr) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::deconvolution_direct;
  if (a.has_bias)
    return {CpuEngine(), kind,      algorithm, a.src,        a.weights,  a.bias,
            a.dst,       a.strides, a.dilates, a.pads_begin, a.pads_end, attr};
  return {CpuEngine(), kind, algorithm, a.src, a.weights, a.dst, a.strides, a.dilates, a.pads_begin, a.pads_end, attr};
}

dnnl::inner_product_forward::primitive_desc InnerProductDesc(const MemoryDesc& src, const MemoryDesc& weights,
                                                             const MemoryDesc* bias, const MemoryDesc& dst,
                                                             const PrimitiveAttr& attr) {
  const auto kind = dnnl::prop_kind::forward_inference;
  if (bias != nullptr) return {CpuEngine(), kind, src, weights, *bias, dst, attr};
  return {CpuEngine(), kind, src, weights, dst, attr};
}

dnnl::matmul::primitive_desc MatMulDesc(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc* bias,
                                        const MemoryDesc& c, const PrimitiveAttr& attr) {
  if (bias != nullptr) return {CpuEngine(), a, b, *bias, c, attr};
  return {CpuEngine(), a, b, c, attr};
}

dnnl::pooling_forward::primitive_desc PoolingDesc(dnnl::algorithm algorithm, const MemoryDesc& src,
                                                  const MemoryDesc& dst, const dnnl::memory::dims& strides,
                                                  const dnnl::memory::dims& kernel,
                                                  const dnnl::memory::dims& pads_begin,
                                                  const dnnl::memory::dims& pads_end, const PrimitiveAttr& attr) {
  const dnnl::memory::dims dense(kernel.size(), 0);
  return {CpuEngine(), dnnl::prop_kind::forward_inference,
          algorithm,   src,
          dst,         strides,
          kernel,      dense,
          pads_begin,  pads_end,
          attr};
}

dnnl::lrn_forward::primitive_desc LrnDesc(const MemoryDesc& src, int64_t size, float alpha, float beta, float k,
                                          const PrimitiveAttr& attr) {
  return {CpuEngine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::lrn_across_channels,
          src,
          src,
          size,
          alpha,
          beta,
          k,
          attr};
}

#else

dnnl::convolution_forward::primitive_desc ConvolutionDesc(const ConvolutionArgs& a, const PrimitiveAttr& attr) {
  const auto kind = dnnl::prop_kind::forward_inference;
  using Desc = dnnl::convolution_forward::desc;
  const Desc desc =
      a.has_bias
          ? Desc(kind, a.algorithm, a.src, a.weights, a.bias, a.dst, a.strides, a.dilates, a.pads_begin, a.pads_end)
          : Desc(kind, a.algorithm, a.src, a.weights, a.dst, a.strides, a.dilates, a.pads_begin, a.pads_end);
  return {desc, attr, CpuEngine()};
}

dnnl::deconvolution_forward::primitive_desc DeconvolutionDesc(const ConvolutionArgs& a, const PrimitiveAttr& attr) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::deconvolution_direct;
  using Desc = dnnl::deconvolution_forward::desc;
  const Desc desc =
      a.has_bias
          ? Desc(kind, algorithm, a.src, a.weights, a.bias, a.dst, a.strides, a.dilates, a.pads_begin, a.pads_end)
          : Desc(kind, algorithm, a.src, a.weights, a.dst, a.strides, a.dilates, a.pads_begin, a.pads_end);
  return {desc, attr, CpuEngine()};
}

dnnl::inner_product_forward::primitive_desc InnerProductDesc(const MemoryDesc& src, const MemoryDesc& weights,
                                                             const MemoryDesc* bias, const MemoryDesc& dst,
                                                             const PrimitiveAttr& attr) {
  const auto kind = dnnl::prop_kind::forward_inference;
  using Desc = dnnl::inner_product_forward::desc;
  const Desc desc = bias != nullptr ? Desc(kind, src, weights, *bias, dst) : Desc(kind, src, weights, dst);
  return {desc, attr, CpuEngine()};
}

dnnl::matmul::primitive_desc MatMulDesc(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc* bias,
                                        const MemoryDesc& c, const PrimitiveAttr& attr) {
  using Desc = dnnl::matmul::desc;
  const Desc desc = bias != nullptr ? Desc(a, b, *bias, c) : Desc(a, b, c);
  return {desc, attr, CpuEngine()};
}

dnnl::pooling_forward::primitive_desc PoolingDesc(dnnl::algorithm algorithm, const MemoryDesc& src,
                                                  const MemoryDesc& dst, const dnnl::memory::dims& strides,
                                                  const dnnl::memory::dims& kernel,
                                                  const dnnl::memory::dims& pads_begin,
                                                  const dnnl::memory::dims& pads_end, const PrimitiveAttr& attr) {
  const dnnl::pooling_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, src, dst, strides, kernel,
                                         pads_begin, pads_end);
  return {desc, attr, CpuEngine()};
}

dnnl::lrn_forward::primitive_desc LrnDesc(const MemoryDesc& src, int64_t size, float alpha, float beta, float k,
                                          const PrimitiveAttr& attr) {
  const dnnl::lrn_forward::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels, src,
                                     size, alpha, beta, k);
  return {desc, attr, CpuEngine()};
}

#endif

}  // namespace epiphyte::cpu
