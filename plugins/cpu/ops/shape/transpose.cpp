// Transpose.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {
namespace {

class TransposeKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kTakesAny;
  explicit TransposeKernel(const KernelInit& init) : given_(init.node().Has("perm")) {
    for (int64_t axis : init.node().Ints("perm")) perm_.push_back(axis);
  }

  void Run(OpContext& context) const override {
    const Tensor& any = context.AnyLayoutInput(0);
    // An input in another memory order is read in place: channels last to channels last is a plain copy.
    const std::optional<AxisOrder> order = OrderOf(any);
    const bool laid_out = any.layout != nullptr && order && order->block == 1;
    const Tensor& x = laid_out ? any : context.Input(0);
    const size_t rank = x.rank();
    Dims perm(rank, 0);
    for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(rank - 1 - i);
    if (given_) perm = kit::NormalizePermutation(perm_, x.dims);

    const Dims strides = laid_out ? StridesOf(x.dims, *order).axes : kit::RowMajorStrides(x.dims);
    Dims dims(rank, 0), from(rank, 0);
    bool same_order = true;  // only axes of one element move
    int64_t last = -1;
    for (size_t i = 0; i < rank; ++i) {
      const auto axis = static_cast<size_t>(perm[i]);
      dims[i] = x.dims[axis];
      from[i] = strides[axis];
      if (dims[i] == 1) continue;
      same_order &= perm[i] > last;
      last = perm[i];
    }
    if (same_order && !laid_out) return context.OutputAlias(0, 0, dims);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      StridedMove(context, dims, source.data(), from, target.data());
    });
  }

 private:
  bool given_;
  Dims perm_;
};

}  // namespace

void Register_transpose(KernelRegistry& registry) { registry.Add<TransposeKernel>("Transpose"); }

}  // namespace epiphyte::cpu
