// Operators that repeat their input: Expand, Tile.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/repeat.hpp"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

// StridedMove to a row-major target. A short repeated row is copied once; then the copied part is doubled repeatedly.
template <typename T>
void Repeat(OpContext& context, const Dims& dims, const T* from, const Dims& strides, T* to) {
  constexpr int64_t kShortBytes = 1 << 10, kPieceBytes = 32 << 10;
  if (dims.Count() == 0) return;
  const kit::StridedBlock plan = kit::Simplify(dims, strides, kit::RowMajorStrides(dims));
  const size_t last = plan.dims.size() - 1;
  const int64_t row = plan.dims[last], row_bytes = row * static_cast<int64_t>(sizeof(T));
  const bool repeats = last > 0 && plan.from[last] == 1 && plan.from[last - 1] == 0 && plan.to[last - 1] == row;
  if (!repeats || row_bytes > kShortBytes) return StridedMove(context, dims, from, strides, to);
  strided::CountTexts(context, plan, from);
  const int64_t times = plan.dims[last - 1], most = std::min(times, kPieceBytes / row_bytes);
  const int64_t pieces = (times + most - 1) / most;
  Parallel(context, plan.dims.Count(0, last - 1) * pieces, MoveGrain(most * row_bytes),
           [&](int64_t begin, int64_t end) {
             kit::Odometer at(plan, last - 1, begin / pieces);
             int64_t piece = begin % pieces;
             for (int64_t item = begin; item < end; ++item) {
               T* const first = to + at.to() + piece * most * row;
               const int64_t count = std::min(most, times - piece * most) * row;
               std::copy_n(from + at.from(), row, first);
               for (int64_t done = row; done < count; done *= 2)
                 std::copy_n(first, std::min(done, count - done), first + done);
               if (++piece == pieces) {
                 piece = 0;
                 at.Next();
               }
             }
           });
}

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
      Repeat(context, expand.dims, source.data(), expand.strides, target.data());
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
      Repeat(context, tile.move, source.data(), tile.strides, target.data());
    });
  }

 private:
  // Version 1 has its parameters in the type of the data.
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
