// ReorderCall: a repeatable copy between two layouts of the same logical tensor. It keeps oneDNN's primitive until the
// layouts change.
//
//   ReorderCall call;
//   call.Run(x.layout->desc, x.data, PlainDesc(x.type, x.dims), copy);
#pragma once

#include "plugins/cpu/onednn/primitive.h"

namespace epiphyte::cpu {

class ReorderCall {
 public:
  // Throws dnnl::error when oneDNN has no such reorder, std::bad_alloc when there is no memory.
  void Run(const MemoryDesc& from_desc, const void* from, const MemoryDesc& to_desc, void* to) {
    if (!call_ || !(from_ == from_desc) || !(to_ == to_desc)) Prepare(from_desc, to_desc);
    call_.Set(DNNL_ARG_FROM, from);
    call_.Set(DNNL_ARG_TO, to);
    call_.RunAlone();
  }

 private:
  void Prepare(const MemoryDesc& from, const MemoryDesc& to) {
    const ScopedSingleThread scope(IsSmallCopy(from.get_size()));
    const dnnl::reorder::primitive_desc pd(CpuEngine(), from, CpuEngine(), to, UserScratchpad());
    PrimitiveCall call;
    call.Reset(dnnl::reorder(pd), pd.scratchpad_desc());
    call.Add(DNNL_ARG_FROM, from);
    call.Add(DNNL_ARG_TO, to);
    from_ = from;
    to_ = to;
    call_ = std::move(call);
  }

  MemoryDesc from_, to_;
  PrimitiveCall call_;
};

}  // namespace epiphyte::cpu
