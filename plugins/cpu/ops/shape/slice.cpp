// Slice: attributes up to version 9, inputs since 10.
#include <algorithm>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {
namespace {

struct Range {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// The indices that [start:end:step] takes of a dimension, by the rules of Python and numpy.
Range Resolve(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (step == 0) FailOp("a step of 0 found, another number expected");
  step = std::max(step, -INT64_MAX);
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  Range range;
  range.step = step;
  if (step > 0) {
    range.start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    if (end > range.start) range.count = 1 + (end - range.start - 1) / step;
  } else {
    range.start = std::clamp<int64_t>(start, -1, dim - 1);
    end = std::clamp<int64_t>(end, -1, dim - 1);
    if (end < range.start) range.count = 1 + (range.start - end - 1) / -step;
  }
  return range;
}

class SliceKernel : public Kernel {
 public:
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
    const size_t rank = x.rank();
    const size_t count = starts.size();
    if (ends.size() != count || (axes != nullptr && axes->size() != count) ||
        (steps != nullptr && steps->size() != count) || count > rank)
      FailOp(
          "{} starts, {} ends, {} axes and {} steps found for rank {}, the same number and at most the rank expected",
          count, ends.size(), axes != nullptr ? axes->size() : count, steps != nullptr ? steps->size() : count, rank);
    Dims which(count, 0);
    for (size_t i = 0; i < count; ++i) which[i] = static_cast<int64_t>(i);
    if (axes != nullptr) which = NormalizeAxes(*axes, static_cast<int64_t>(rank));

    Dims dims = x.dims;
    std::vector<Range> ranges(rank);
    for (size_t i = 0; i < rank; ++i) ranges[i].count = x.dims[i];
    bool whole = true;
    for (size_t i = 0; i < count; ++i) {
      const auto axis = static_cast<size_t>(which[i]);
      ranges[axis] = Resolve(starts[i], ends[i], steps != nullptr ? (*steps)[i] : 1, x.dims[axis]);
      dims[axis] = ranges[axis].count;
      whole &= ranges[axis].count == x.dims[axis] && (ranges[axis].step == 1 || ranges[axis].count <= 1);
    }
    if (whole) return context.OutputAlias(0, 0, dims);
    if (x.layout != nullptr && TakeOrdered(context, x, dims, ranges)) return;
    const Tensor& plain = context.Input(0);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, plain);
      MoveTarget<T> target(context, 0, x.type, dims);
      if (dims.Count() == 0) return;
      Dims from = RowMajorStrides(x.dims);
      const int64_t base = Apply(ranges, from);
      StridedMove(context, dims, source.data() + base, from, target.data());
    });
  }

  // Turns the strides of a tensor into those of its slice; the result is where that begins.
  static int64_t Apply(const std::vector<Range>& ranges, Dims& strides) {
    int64_t base = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      base += ranges[i].start * strides[i];
      // With one element the step is never taken, and it may be too large to multiply.
      if (ranges[i].count > 1) strides[i] *= ranges[i].step;
    }
    return base;
  }

  // A slice of what is not row-major stays as it is. False when blocks of channels would be cut.
  static bool TakeOrdered(OpContext& context, const Tensor& x, const Dims& dims, const std::vector<Range>& ranges) {
    std::optional<AxisOrder> order = OrderOf(x);
    if (x.type != EP_TYPE_FLOAT || !order || dims.Count() == 0) return false;
    OrderStrides from = StridesOf(x.dims, *order);
    std::vector<Range> blocks = ranges;
    if (order->block > 1) {
      Range& channels = blocks[1];
      if (channels.step != 1 || channels.start % order->block != 0 || channels.count % order->block != 0) return false;
      channels.start /= order->block;
    }
    const int64_t base = Apply(blocks, from.axes);
    if (context.WantsRowMajor(0)) order = AxisOrder::RowMajor(dims.size());
    State& state = context.State<State>();
    if (!(state.dims == dims) || !(state.order == *order)) {
      state.dims = dims;
      state.order = *order;
      state.layout = MakeLayout(*order, x.type, dims);
    }
    const uint64_t bytes = ElementBytes(x.type, static_cast<uint64_t>(dims.Count()));
    Tensor& y = context.OutputWithLayout(0, x.type, dims, state.layout, bytes);
    MoveOrdered(context, dims, x.as<float>() + base, from, y.as<float>(), StridesOf(dims, *order));
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
