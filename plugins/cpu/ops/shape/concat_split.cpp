// Concat and Split.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/join.hpp"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {
namespace {

class ConcatKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit ConcatKernel(const KernelInit& init) : axis_(init.node().Int("axis", 1)) {
    if (!init.node().Has("axis") && init.node().since_version >= 4) FailOp("no attribute axis found, one expected");
  }

  void Run(OpContext& context) const override {
    const Tensor& first = context.AnyLayoutInput(0);
    const size_t rank = first.rank();
    kit::ConcatShape shape(first.dims, axis_);
    bool laid_out = first.layout != nullptr;
    for (size_t i = 1; i < context.InputCount(); ++i) {
      const Tensor& x = context.AnyLayoutInput(i);
      if (x.type != first.type)
        FailOp("input {} of type {} found, {} expected", i, TypeName(x.type), TypeName(first.type));
      shape.Add(x.dims);
      laid_out |= x.layout != nullptr;
    }
    const Dims& dims = shape.Result();
    const size_t axis = shape.axis();
    if (context.InputCount() == 1) return context.OutputAlias(0, 0, dims);
    if (laid_out && dims.Count() != 0)
      return WithOrderedUnit(
          first.type, [&](auto unit) { JoinOrdered<typename decltype(unit)::type>(context, first.type, axis, dims); });
    WithUnit(first.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveTarget<T> target(context, 0, first.type, dims);
      Parts<T> parts;
      for (size_t i = 0; i < context.InputCount(); ++i) {
        const Tensor& x = context.Input(i);
        parts.push_back({MoveSource<T>(context, x).data(), x.dims.Count(axis, rank)});
      }
      Join(context, dims.Count(0, axis), parts, target.data());
    });
  }

 private:
  struct State {
    Dims dims;
    AxisOrder order;
    std::shared_ptr<const Layout> layout;
  };
  template <typename T>
  struct Part {
    const T* data;
    int64_t run;  // contiguous elements
  };
  template <typename T>
  using Parts = std::vector<Part<T>>;

  // Each row of the target consists of a run from each part.
  template <typename T>
  static void Join(OpContext& context, int64_t rows, const Parts<T>& parts, T* target) {
    int64_t row = 0;
    for (const Part<T>& part : parts) row += part.run;
    constexpr int64_t kLongRow = (64 << 10) / static_cast<int64_t>(sizeof(T));
    if (row <= kLongRow) {
      Parallel(context, rows, MoveGrain(row * static_cast<int64_t>(sizeof(T))), [&](int64_t begin, int64_t end) {
        T* to = target + begin * row;
        for (int64_t r = begin; r < end; ++r)
          for (const Part<T>& part : parts) to = std::copy_n(part.data + r * part.run, part.run, to);
      });
      return;
    }
    for (const Part<T>& part : parts) {
      StridedMove(context, Dims{rows, part.run}, part.data, Dims{part.run, 1}, target, Dims{row, 1});
      target += part.run;
    }
  }

  // Order of the result: the order of most of the input's elements.
  AxisOrder TargetOrder(OpContext& context, size_t axis, const Dims& dims) const {
    const AxisOrder row_major = AxisOrder::RowMajor(dims.size());
    if (context.WantsRowMajor(0)) return row_major;
    AxisOrder best = row_major;
    int64_t most = 0;
    for (size_t i = 0; i < context.InputCount(); ++i) {
      const Tensor& x = context.AnyLayoutInput(i);
      const std::optional<AxisOrder> order = OrderOf(x);
      if (!order || order->row_major() || x.Count() <= most) continue;
      bool holds = Holds(*order, dims);
      for (size_t k = 0; holds && axis == 1 && k < context.InputCount(); ++k)
        holds = Holds(*order, context.AnyLayoutInput(k).dims);
      if (!holds) continue;
      best = *order;
      most = x.Count();
    }
    return best;
  }

  // Concatenates when some inputs are not row-major and the result need not be.
  template <typename T>
  void JoinOrdered(OpContext& context, ElementType type, size_t axis, const Dims& dims) const {
    const AxisOrder order = TargetOrder(context, axis, dims);
    State& state = context.State<State>();
    if (!(state.dims == dims) || !(state.order == order)) {
      state.dims = dims;
      state.order = order;
      state.layout = MakeLayout(order, type, dims);
    }
    const uint64_t bytes = ElementBytes(type, static_cast<uint64_t>(dims.Count()));
    T* target = context.OutputWithLayout(0, type, dims, state.layout, bytes).as<T>();

    const size_t place = PositionOf(order, axis);
    Parts<T> parts;
    for (size_t i = 0; i < context.InputCount(); ++i) {
      const Tensor& x = context.AnyLayoutInput(i);
      if (!(OrderOf(x) == order) && !(x.layout == nullptr && LiesAlike(x.dims, order))) break;
      const Dims lies = InMemory(x.dims, order);
      parts.push_back({x.as<T>(), lies.Count(place, lies.size())});
    }
    if (parts.size() == context.InputCount())
      return Join(context, InMemory(dims, order).Count(0, place), parts, target);

    const OrderStrides to = StridesOf(dims, order);
    int64_t at = 0;
    for (size_t i = 0; i < context.InputCount(); ++i) {
      const Tensor* x = &context.AnyLayoutInput(i);
      const int64_t size = x->dims[axis];
      std::optional<AxisOrder> own = OrderOf(*x);
      if (!own || !Fit(StridesOf(x->dims, *own), to)) {
        x = &context.Input(i);
        own = AxisOrder::RowMajor(dims.size());
      }
      MoveOrdered(context, x->dims, x->as<T>(), StridesOf(x->dims, *own), target + OffsetOf(to, axis, at), to);
      at += size;
    }
  }

  int64_t axis_;
};

class SplitKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit SplitKernel(const KernelInit& init)
      : version_(init.node().since_version),
        axis_(init.node().Int("axis", 0)),
        sizes_attribute_(init.node().Has("split")),
        parts_(init.node().Int("num_outputs", 0)) {
    sizes_ = Dims(std::span<const int64_t>(init.node().Ints("split")));
  }

  void Run(OpContext& context) const override {
    const Tensor& any = context.AnyLayoutInput(0);
    const size_t rank = any.rank();
    const size_t axis = kit::NormalizeAxis(axis_, rank);
    const Dims sizes = Sizes(context, any.dims[axis]);
    if (any.layout != nullptr && CutOrdered(context, any, axis, sizes)) return;
    const Tensor& x = context.Input(0);
    const int64_t outer = x.dims.Count(0, axis), inner = x.dims.Count(axis + 1, rank);
    const int64_t row = x.dims[axis] * inner;
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      int64_t at = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        const int64_t run = sizes[i] * inner;
        if (context.HasOutput(i)) {
          Dims dims = x.dims;
          dims[axis] = sizes[i];
          MoveTarget<T> target(context, i, x.type, dims);
          StridedMove(context, Dims{outer, run}, source.data() + at, Dims{row, 1}, target.data());
        }
        at += run;
      }
    });
  }

 private:
  Dims Sizes(OpContext& context, int64_t dim) const {
    const size_t outputs = context.OutputCount();
    Dims sizes;
    if (context.InputCount() > 1 && context.HasInput(1)) {
      sizes = IntegersOf(context.Input(1), "split");
    } else if (sizes_attribute_) {
      sizes = sizes_;
    } else {
      if (parts_ != 0 && parts_ != static_cast<int64_t>(outputs))
        FailOp("num_outputs {} found for {} outputs, the same number expected", parts_, outputs);
      return kit::SplitEvenly(dim, outputs, version_ >= 18);
    }
    kit::CheckSplit(sizes, outputs, dim);
    return sizes;
  }

  struct State {
    // layouts of the parts, for an input of these dimensions in this order
    std::vector<std::shared_ptr<const Layout>> layouts;
    std::vector<Dims> dims;
    AxisOrder order;
  };

  // Splits an input that is not row-major in its own order. Returns false when that would cut its blocks.
  bool CutOrdered(OpContext& context, const Tensor& x, size_t axis, const Dims& sizes) const {
    const std::optional<AxisOrder> order = OrderOf(x);
    if (!order || x.Count() == 0) return false;
    for (int64_t size : sizes)
      if (axis == 1 && size % order->block != 0) return false;
    State& state = context.State<State>();
    if (!(state.order == *order)) state = {};
    state.order = *order;
    state.layouts.resize(sizes.size());
    state.dims.resize(sizes.size());
    const OrderStrides from = StridesOf(x.dims, *order);
    int64_t at = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Dims dims = x.dims;
      dims[axis] = sizes[i];
      const int64_t begin = at;
      at += sizes[i];
      if (!context.HasOutput(i)) continue;
      const bool plain = context.WantsRowMajor(i) || sizes[i] == 0;
      if (!plain && !(state.dims[i] == dims)) {
        state.layouts[i] = MakeLayout(*order, x.type, dims);
        state.dims[i] = dims;
      }
      const uint64_t bytes = ElementBytes(x.type, static_cast<uint64_t>(dims.Count()));
      Tensor& y = context.OutputWithLayout(i, x.type, dims, plain ? nullptr : state.layouts[i], bytes);
      if (sizes[i] == 0) continue;
      WithOrderedUnit(x.type, [&](auto unit) {
        using T = typename decltype(unit)::type;
        MoveOrdered(context, dims, x.as<T>() + OffsetOf(from, axis, begin), from, y.as<T>(),
                    StridesOf(dims, plain ? AxisOrder::RowMajor(dims.size()) : *order));
      });
    }
    return true;
  }

  int64_t version_;
  int64_t axis_;
  bool sizes_attribute_;
  int64_t parts_;
  Dims sizes_;
};

}  // namespace

void Register_concat_split(KernelRegistry& registry) {
  registry.Add<ConcatKernel>("Concat");
  registry.Add<SplitKernel>("Split");
}

}  // namespace epiphyte::cpu
