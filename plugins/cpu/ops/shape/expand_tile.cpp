// Operators that repeat their input: Expand, Tile.
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/repeat.hpp"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

class ExpandKernel : public Kernel {
 public:
  explicit ExpandKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Dims wanted = IntegersOf(context.Input(1), "shape");
    const kit::ExpandShape expand(x.dims, wanted);
    if (expand.dims.Count() == x.Count()) return context.OutputAlias(0, 0, expand.dims);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, expand.dims);
      StridedMove(context, expand.dims, source.data(), expand.strides, target.data());
    });
  }
};

class TileKernel : public Kernel {
 public:
  explicit TileKernel(const KernelInit& init) : one_axis_(init.node().since_version < 6) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const size_t rank = x.rank();
    Dims repeats(rank, 1);
    if (one_axis_) {
      const size_t axis = kit::NormalizeAxis(AnyInteger(context, 2, "axis"), rank);
      repeats[axis] = AnyInteger(context, 1, "tiles");
    } else {
      repeats = IntegersOf(context.Input(1), "repeats");
    }
    const kit::TileShape tile(x.dims, repeats);
    if (tile.dims == x.dims) return context.OutputAlias(0, 0, tile.dims);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, tile.dims);
      if (tile.dims.Count() != 0) StridedMove(context, tile.move, source.data(), tile.strides, target.data());
    });
  }

 private:
  // Version 1 gives its numbers in the type of the data.
  static int64_t AnyInteger(OpContext& context, size_t i, std::string_view name) {
    const double value = RealParameter(context, i, name, kNumbers);
    if (!(value > -1e9 && value < 1e9)) FailOp("{} {} found, a small integer expected", name, value);
    return static_cast<int64_t>(value);
  }

  bool one_axis_;
};

}  // namespace

void Register_expand_tile(KernelRegistry& registry) {
  registry.Add<ExpandKernel>("Expand");
  registry.Add<TileKernel>("Tile");
}

}  // namespace epiphyte::cpu
