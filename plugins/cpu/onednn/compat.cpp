#include "plugins/cpu/onednn/compat.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#if DNNL_VERSION_MAJOR >= 3
#include <dnnl_debug.h>

#include <map>
#include <string_view>
#endif

namespace epiphyte::cpu {

void EnsureMemory() {
  // Room for a few kernels, each with 256 KiB of code, and their objects. Mappable memory can also be allocated. The
  // mapping is not touched, so the test takes microseconds.
  constexpr size_t kRoom = size_t{8} << 20;
  void* const room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, kRoom);
}

void ThrowIfNoMemory(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
}

dnnl::engine& CpuEngine() {
  static dnnl::engine* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

void MakeOneDnnObjects() {
  CpuEngine();
  int capacity = 0;
  dnnl_get_primitive_cache_capacity(&capacity);
}

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return FormatText("{}.{}.{} {}", version->major, version->minor, version->patch, version->hash);
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
    default: return FormatText("isa{}", static_cast<unsigned>(dnnl::get_effective_cpu_isa()));
  }
}

bool HasBfloat16Products() {
  // The value of an instruction set includes the bits of all that it contains.
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
}

MemoryDesc PlainDesc(ElementType type, std::span<const int64_t> dims) {
  dnnl::memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i] == 0 ? 1 : dims[i];
  }
  return StridedDesc(type, dnnl::memory::dims(dims.begin(), dims.end()), strides);
}

MemoryDesc StridedDesc(ElementType type, const dnnl::memory::dims& dims, const dnnl::memory::dims& strides) {
  return MemoryDesc(dims, DataType(type), strides);
}

MemoryDesc AnyDesc(ElementType type, std::span<const int64_t> dims) {
  return MemoryDesc(dnnl::memory::dims(dims.begin(), dims.end()), DataType(type), dnnl::memory::format_tag::any);
}

PrimitiveAttr UserScratchpad() {
  EnsureMemory();
  PrimitiveAttr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

#if DNNL_VERSION_MAJOR >= 3

void AppendEltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
  ops.append_eltwise(algorithm, alpha, beta);
}
void AppendHardSwish(dnnl::post_ops& ops) { AppendEltwise(ops, dnnl::algorithm::eltwise_hardswish, 1.0f / 6, 0.5f); }

dnnl::memory::dims DimsOf(const MemoryDesc& desc) { return desc.get_dims(); }
dnnl::memory::data_type TypeOf(const MemoryDesc& desc) { return desc.get_data_type(); }

namespace {

// oneDNN 3 makes blocked layouts only from tags: "ABcd16b16a2b" has rank 4, followed by the blocks from the outermost
// to the innermost. The leading letters give the order of the strides. A tag fits only if the resulting strides equal
// the given ones.
std::string BlocksOf(const BlockedDesc& d) {
  std::string text;
  for (size_t i = 0; i < d.block_sizes.size(); ++i)
    text += FormatText("{}{}", d.block_sizes[i], static_cast<char>('a' + d.block_dims[i]));
  return text;
}

using TagsByBlocks = std::multimap<std::pair<size_t, std::string>, dnnl_format_tag_t>;

const TagsByBlocks& BlockedTags() {
  static const TagsByBlocks* const tags = [] {
    auto* found = new TagsByBlocks;
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
      const std::string_view name = dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag));
      const size_t rank = name.find_first_not_of("abcdefghijklABCDEFGHIJKL");
      if (rank != name.npos && rank != 0)
        found->emplace(std::pair(rank, std::string(name.substr(rank))), static_cast<dnnl_format_tag_t>(tag));
    }
    return found;
  }();
  return *tags;
}

bool LiesAs(const MemoryDesc& desc, const BlockedDesc& wanted) {
  return desc.get_padded_dims() == wanted.padded && desc.get_strides() == wanted.strides;
}

std::optional<MemoryDesc> MakeDescOf(const BlockedDesc& d, dnnl::memory::data_type type) {
  if (d.block_sizes.empty()) {
    if (d.padded != d.dims) return std::nullopt;
    try {
      return MemoryDesc(d.dims, type, d.strides);
    } catch (const dnnl::error& error) {
      ThrowIfNoMemory(error);
      return std::nullopt;
    }
  }
  const auto [begin, end] = BlockedTags().equal_range({d.dims.size(), BlocksOf(d)});
  for (auto it = begin; it != end; ++it) {
    dnnl_memory_desc_t made = nullptr;
    const dnnl_status_t status = dnnl_memory_desc_create_with_tag(&made, static_cast<int>(d.dims.size()), d.dims.data(),
                                                                  static_cast<dnnl_data_type_t>(type), it->second);
    if (status != dnnl_success || made == nullptr) continue;
    MemoryDesc desc(made);
    if (LiesAs(desc, d)) return desc;
  }
  return std::nullopt;
}

}  // namespace

BlockedDesc Describe(const MemoryDesc& desc) {
  BlockedDesc result;
  result.dims = desc.get_dims();
  result.padded = desc.get_padded_dims();
  result.blocked = desc.get_format_kind() == dnnl::memory::format_kind::blocked;
  if (!result.blocked) return result;
  result.strides = desc.get_strides();
  result.block_sizes = desc.get_inner_blks();
  result.block_dims = desc.get_inner_idxs();
  // oneDNN has no query for extra data, but the comparison shows it.
  const std::optional<MemoryDesc> plain = MakeDescOf(result, desc.get_data_type());
  result.extra = !plain || *plain != desc;
  return result;
}

std::optional<MemoryDesc> MakeDesc(const BlockedDesc& blocked, ElementType type) {
  EnsureMemory();
  return MakeDescOf(blocked, DataType(type));
}

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

void AppendEltwise(dnnl::post_ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
  ops.append_eltwise(1.0f, algorithm, alpha, beta);
}
void AppendHardSwish(dnnl::post_ops& ops) { AppendEltwise(ops, dnnl::algorithm::eltwise_hardswish, 0, 0); }

dnnl::memory::dims DimsOf(const MemoryDesc& desc) { return desc.dims(); }
dnnl::memory::data_type TypeOf(const MemoryDesc& desc) { return desc.data_type(); }

BlockedDesc Describe(const MemoryDesc& desc) {
  BlockedDesc result;
  const dnnl_memory_desc_t& d = desc.data;
  result.dims.assign(d.dims, d.dims + d.ndims);
  result.padded.assign(d.padded_dims, d.padded_dims + d.ndims);
  result.blocked = d.format_kind == dnnl_blocked;
  result.extra = d.extra.flags != 0;
  if (!result.blocked) return result;
  const dnnl_blocking_desc_t& b = d.format_desc.blocking;
  result.strides.assign(b.strides, b.strides + d.ndims);
  result.block_sizes.assign(b.inner_blks, b.inner_blks + b.inner_nblks);
  result.block_dims.assign(b.inner_idxs, b.inner_idxs + b.inner_nblks);
  return result;
}

std::optional<MemoryDesc> MakeDesc(const BlockedDesc& d, ElementType type) {
  // Starts from a plain layout: oneDNN interprets strides as strides of elements, and refuses strides of blocks that
  // exceed a small matrix.
  const size_t rank = d.dims.size();
  dnnl::memory::dims plain(rank, 1);
  for (size_t i = rank - 1; i > 0; --i) plain[i - 1] = plain[i] * d.dims[i];
  MemoryDesc result(d.dims, DataType(type), plain);
  std::copy(d.padded.begin(), d.padded.end(), result.data.padded_dims);
  dnnl_blocking_desc_t& b = result.data.format_desc.blocking;
  std::copy(d.strides.begin(), d.strides.end(), b.strides);
  b.inner_nblks = static_cast<int>(d.block_sizes.size());
  std::copy(d.block_sizes.begin(), d.block_sizes.end(), b.inner_blks);
  std::copy(d.block_dims.begin(), d.block_dims.end(), b.inner_idxs);
  return result;
}

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
