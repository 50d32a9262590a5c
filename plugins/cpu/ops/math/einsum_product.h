// An Einsum of two float operands as one batch of oneDNN's matrix products, over memory as it lies where that can be,
// else over copies in order.
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
  // Each label stands once in an operand, with its full size; what is summed over is in both of them; and there are
  // elements.
  static bool Suits(const kit::EinsumShape& shape, const Dims& a, const Dims& b);

  // Throws dnnl::error when oneDNN has no product for these shapes.
  EinsumProduct(const kit::EinsumShape& shape, const Dims& a, const Dims& b);
  void Run(OpContext& context, const Tensor& a, const Tensor& b, Tensor& y);

 private:
  // An operand or the result: dimensions in the product's order, of which each of three groups (batch, rows, columns)
  // is one dimension of the product.
  struct Side {
    Dims dims, strides;               // as the tensor lies
    std::array<int64_t, 3> joined{};  // dimensions of the product
    dnnl::memory::dims steps;         // their strides, when those of each group join; else empty
    bool copied = false;
    MemoryDesc desc;
  };
  using Groups = std::array<kit::EinsumLabels, 3>;

  static Side MakeSide(const kit::EinsumLabels& labels, const Dims& dims, const Groups& groups);
  static void Describe(Side& side);
  void MakeCall();

  bool swapped_ = false;  // the result's rows are b's
  Side a_, b_, y_;
  PrimitiveCall call_;
};

}  // namespace epiphyte::cpu
