// Operators that repeat their input: Expand, Tile.
#include <algorithm>

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
    const size_t rank = std::max(x.rank(), wanted.size());
    Dims dims(rank, 1), from(rank, 0);
    const Dims strides = RowMajorStrides(x.dims);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t have = i + x.rank() >= rank ? x.dims[i + x.rank() - rank] : 1;
      const int64_t want = i + wanted.size() >= rank ? wanted[i + wanted.size() - rank] : 1;
      if (want < 0 || (have != want && have != 1 && want != 1))
        FailOp("shape {} found for an input of shape {}, shapes that broadcast expected", DimsText(wanted),
               DimsText(x.dims));
      dims[i] = have == 1 ? want : have;
      if (have != 1) from[i] = strides[i + x.rank() - rank];
    }
    if (CheckedCount(dims) == x.Count()) return context.OutputAlias(0, 0, dims);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      StridedMove(context, dims, source.data(), from, target.data());
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
      const int64_t axis = NormalizeAxis(AnyInteger(context, 2, "axis"), static_cast<int64_t>(rank));
      repeats[static_cast<size_t>(axis)] = AnyInteger(context, 1, "tiles");
    } else {
      repeats = IntegersOf(context.Input(1), "repeats");
      if (repeats.size() != rank) FailOp("repeats {} found, {} numbers expected", DimsText(repeats), rank);
    }
    Dims dims(rank, 0);
    // An axis of the output is two axes of the move: which repetition, and where in the input.
    Dims move(2 * rank, 0), from(2 * rank, 0);
    const Dims strides = RowMajorStrides(x.dims);
    for (size_t i = 0; i < rank; ++i) {
      if (repeats[i] < 0) FailOp("repeats {} found, numbers of at least 0 expected", DimsText(repeats));
      dims[i] = CheckedMultiply(x.dims[i], repeats[i]);
      move[2 * i] = repeats[i];
      move[2 * i + 1] = x.dims[i];
      from[2 * i + 1] = strides[i];
    }
    if (CheckedCount(dims) == x.Count() && dims == x.dims) return context.OutputAlias(0, 0, dims);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      if (dims.Count() != 0) StridedMove(context, move, source.data(), from, target.data());
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
