// An Einsum of two float operands as one batch of oneDNN GEMMs: in place where the strides allow it, otherwise over
// reordered copies.
//
//     if (EinsumProduct::Suits(shape, a.dims, b.dims)) {
//       EinsumProduct product(shape, a.dims, b.dims);   // kept for runs of the same shapes
//       product.Run(context, a, b, y);
//     }
#pragma once

#include <array>
#include <map>

#include "epiphyte/kit/shape/einsum.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/primitive.h"

namespace epiphyte::cpu {

class EinsumProduct {
 public:
  // True when each label occurs once in an operand, with its full size; when both operands have the labels that are
  // summed over; and when no operand is empty.
  static bool Suits(const kit::EinsumShape& shape, const Dims& a, const Dims& b);

  // Throws dnnl::error when oneDNN has no GEMM for these shapes.
  EinsumProduct(const kit::EinsumShape& shape, const Dims& a, const Dims& b);
  void Run(OpContext& context, const Tensor& a, const Tensor& b, Tensor& y);

 private:
  // An operand or the result. Its dimensions are in GEMM order. Each of three groups (batch, rows, columns) becomes one
  // dimension of the GEMM.
  struct Side {
    Dims dims, strides;               // dimensions and strides of the tensor
    std::array<int64_t, 3> joined{};  // dimensions of the GEMM
    dnnl::memory::dims steps;         // strides of the joined dimensions; empty when a group can't be joined
    bool copied = false;
    MemoryDesc desc;
  };
  using Groups = std::array<kit::EinsumLabels, 3>;

  static Side MakeSide(const kit::EinsumLabels& labels, const Dims& dims, const Groups& groups);
  static void Describe(Side& side);
  void MakeCall();

  bool swapped_ = false;  // the result's rows come from b
  Side a_, b_, y_;
  PrimitiveCall call_;
};

}  // namespace epiphyte::cpu
