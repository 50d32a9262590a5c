// Slice: parameters are attributes up to version 9 and inputs since version 10.
#include "epiphyte/kit/shape/slice.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {
namespace {

class SliceKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit SliceKernel(const KernelInit& init) : by_attributes_(init.node().since_version < 10) {
    if (!by_attributes_) return;
    starts_ = Dims(std::span<const int64_t>(init.node().Ints("starts")));
    ends_ = Dims(std::span<const int64_t>(init.node().Ints("ends")));
    axes_ = Dims(std::span<const int64_t>(init.node().Ints("axes")));
    has_axes_ = init.node().Has("axes");
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    if (by_attributes_) return Slice(context, x, starts_, ends_, has_axes_ ? &axes_ : nullptr, nullptr);
    Dims axes, steps;
    const Tensor* axes_input = context.InputCount() > 3 ? context.OptionalInput(3) : nullptr;
    const Tensor* steps_input = context.InputCount() > 4 ? context.OptionalInput(4) : nullptr;
    if (axes_input != nullptr) axes = IntegersOf(*axes_input, "axes");
    if (steps_input != nullptr) steps = IntegersOf(*steps_input, "steps");
    Slice(context, x, IntegersOf(context.Input(1), "starts"), IntegersOf(context.Input(2), "ends"),
          axes_input != nullptr ? &axes : nullptr, steps_input != nullptr ? &steps : nullptr);
  }

 private:
  static void Slice(OpContext& context, const Tensor& x, const Dims& starts, const Dims& ends, const Dims* axes,
                    const Dims* steps) {
    const kit::SliceShape slice(x.dims, starts, ends, axes, steps);
    const Dims& dims = slice.dims;
    if (slice.whole) return context.OutputAlias(0, 0, dims);
    if (x.layout != nullptr && TakeOrdered(context, x, dims, slice.ranges)) return;
    const Tensor& plain = context.Input(0);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, plain);
      MoveTarget<T> target(context, 0, x.type, dims);
      if (dims.Count() == 0) return;
      Dims from = kit::RowMajorStrides(x.dims);
      const int64_t base = kit::ApplySlice(slice.ranges, from);
      StridedMove(context, dims, source.data() + base, from, target.data());
    });
  }

  // Slices an input that is not row-major in its own order. Returns false when that would cut blocks of channels.
  static bool TakeOrdered(OpContext& context, const Tensor& x, const Dims& dims,
                          const std::vector<kit::SliceRange>& ranges) {
    std::optional<AxisOrder> order = OrderOf(x);
    if (!order || dims.Count() == 0) return false;
    OrderStrides from = StridesOf(x.dims, *order);
    std::vector<kit::SliceRange> blocks = ranges;
    if (order->block > 1) {
      kit::SliceRange& channels = blocks[1];
      if (channels.step != 1 || channels.start % order->block != 0 || channels.count % order->block != 0) return false;
      channels.start /= order->block;
    }
    const int64_t base = kit::ApplySlice(blocks, from.axes);
    if (context.WantsRowMajor(0)) order = AxisOrder::RowMajor(dims.size());
    State& state = context.State<State>();
    if (!(state.dims == dims) || !(state.order == *order)) {
      state.dims = dims;
      state.order = *order;
      state.layout = MakeLayout(*order, x.type, dims);
    }
    const uint64_t bytes = ElementBytes(x.type, static_cast<uint64_t>(dims.Count()));
    Tensor& y = context.OutputWithLayout(0, x.type, dims, state.layout, bytes);
    WithOrderedUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveOrdered(context, dims, x.as<T>() + base, from, y.as<T>(), StridesOf(dims, *order));
    });
    return true;
  }

  struct State {
    Dims dims;
    AxisOrder order;
    std::shared_ptr<const Layout> layout;
  };

  bool by_attributes_;
  bool has_axes_ = false;
  Dims starts_;
  Dims ends_;
  Dims axes_;
};

}  // namespace

void Register_slice(KernelRegistry& registry) { registry.Add<SliceKernel>("Slice"); }

}  // namespace epiphyte::cpu
