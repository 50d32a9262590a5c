// Pad and CenterCropPad.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/pad.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/layout.h"

namespace epiphyte::cpu {
namespace {

using kit::PadMode;

// Shape and pads, with dimensions in memory order.
struct PadShape {
  Dims x, before, after, y;
};

void CountPaddedTexts(OpContext& context, PadMode mode, const PadShape& shape, const std::string* from,
                      const std::string& value) {
  std::vector<std::vector<int64_t>> maps;
  for (size_t i = 0; i < shape.y.size(); ++i)
    maps.push_back(kit::PadMap(mode, shape.x[i], shape.before[i], shape.after[i], shape.y[i]));
  const Dims strides = kit::RowMajorStrides(shape.x);
  CountTexts<std::string>(context, shape.y.Count(), [&](int64_t rest) -> const std::string& {
    int64_t place = 0;
    bool outside = false;
    for (size_t i = maps.size(); i-- > 0; rest /= shape.y[i]) {
      const int64_t at = maps[i][static_cast<size_t>(rest % shape.y[i])];
      outside |= at < 0;
      place += at * strides[i];
    }
    return outside ? value : from[place];
  });
}

template <typename T>
void PadElements(OpContext& context, PadMode mode, const PadShape& shape, const T* from, T* to, const T& value) {
  const Dims &x = shape.x, &before = shape.before, &after = shape.after, &dims = shape.y;
  if (dims.Count() == 0) return;  // even when some dimensions are large
  if constexpr (std::is_same_v<T, std::string>) CountPaddedTexts(context, mode, shape, from, value);
  // Axes behind the last padded one are moved together with it.
  size_t axes = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (before[i] != 0 || after[i] != 0) axes = i + 1;
  const size_t last = axes - 1;
  std::vector<std::vector<int64_t>> maps(last);
  for (size_t i = 0; i < last; ++i) maps[i] = kit::PadMap(mode, x[i], before[i], after[i], dims[i]);
  const int64_t run = dims.Count(axes, dims.size()), row = dims[last];
  const Dims strides = kit::RowMajorStrides(x);
  // Part of a row that is a plain copy.
  const int64_t lead = std::min(row, std::max<int64_t>(before[last], 0));
  const int64_t first = std::max<int64_t>(0, -before[last]);
  const int64_t body = std::max<int64_t>(0, std::min(row - lead, x[last] - first - std::max<int64_t>(0, -after[last])));
  const auto border_map = [&](int64_t begin, int64_t end) {
    return kit::PadMap(mode, x[last], before[last], after[last], row, begin, end);
  };
  const std::vector<int64_t> leading = border_map(0, lead), trailing = border_map(lead + body, row);
  Parallel(context, dims.Count(0, last), MoveGrain(row * run * static_cast<int64_t>(sizeof(T))),
           [&](int64_t begin, int64_t end) {
             for (int64_t r = begin; r < end; ++r) {
               T* out = to + r * row * run;
               int64_t base = 0, rest = r;
               bool outside = false;
               for (size_t i = last; i-- > 0;) {
                 const int64_t at = maps[i][static_cast<size_t>(rest % dims[i])];
                 rest /= dims[i];
                 outside |= at < 0;
                 base += at * strides[i];
               }
               if (outside) {
                 std::fill_n(out, row * run, value);
                 continue;
               }
               const auto border = [&](const std::vector<int64_t>& map, T* edge) {
                 if (run == 1) {
                   for (const int64_t at : map) *edge++ = at < 0 ? value : from[base + at];
                   return;
                 }
                 for (const int64_t at : map) {
                   if (at < 0)
                     std::fill_n(edge, run, value);
                   else
                     std::copy_n(from + base + at * run, run, edge);
                   edge += run;
                 }
               };
               border(leading, out);
               if (body > 0) std::copy_n(from + base + first * run, body * run, out + lead * run);
               border(trailing, out + (lead + body) * run);
             }
           });
}

// Common order of the input and output 0: the input's, unless it is not float or its blocks of channels would be cut.
std::optional<AxisOrder> PadOrder(const Tensor& x, const Dims& before, const Dims& after, const Dims& y) {
  if (x.layout == nullptr || x.type != EP_TYPE_FLOAT || x.Count() == 0 || y.Count() == 0) return std::nullopt;
  const std::optional<AxisOrder> order = OrderOf(x);
  if (order && order->block > 1 && (before[1] != 0 || after[1] != 0)) return std::nullopt;
  return order;
}

// Pads input 0. Pads are listed by axis.
template <typename T>
void Pad(OpContext& context, PadMode mode, const Dims& before, const Dims& after, const T& value) {
  const Tensor& any = context.AnyLayoutInput(0);
  const Dims dims = kit::PaddedDims(any.dims, before, after);
  const auto none = [](const Dims& pads) {
    return std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
  };
  if (none(before) && none(after)) return context.OutputAlias(0, 0, dims);
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (const std::optional<AxisOrder> order = PadOrder(any, before, after, dims)) {
      // Pads follow the order of their axes; there are none inside blocks.
      const auto pads = [&](const Dims& by_axis) {
        Dims moved;
        for (size_t i = 0; i < order->rank; ++i) moved.push_back(by_axis[order->axes[i]]);
        if (order->block > 1) moved.push_back(0);
        return moved;
      };
      const uint64_t bytes = ElementBytes(any.type, static_cast<uint64_t>(dims.Count()));
      Tensor& y = context.OutputWithLayout(0, any.type, dims, MakeLayout(*order, any.type, dims), bytes);
      const PadShape shape{InMemory(any.dims, *order), pads(before), pads(after), InMemory(dims, *order)};
      return PadElements(context, mode, shape, any.as<T>(), y.as<T>(), value);
    }
  }
  const Tensor& x = context.Input(0);
  MoveSource<T> source(context, x);
  MoveTarget<T> target(context, 0, x.type, dims);
  PadElements(context, mode, {x.dims, before, after, dims}, source.data(), target.data(), value);
}

class PadKernel : public Kernel {
 public:
  static constexpr LayoutUse kLayoutUse = LayoutUse::kPassesOn;
  explicit PadKernel(const KernelInit& init)
      : version_(init.node().since_version),
        mode_(kit::PadModeOf(init.node().String("mode", "constant"))),
        value_(init.node().Float("value", 0.0f)) {
    if (version_ < 11) pads_ = Dims(std::span<const int64_t>(init.node().Ints(version_ < 2 ? "paddings" : "pads")));
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    const Tensor* value = nullptr;
    Dims pads = pads_;
    const bool has_axes = version_ >= 11 && context.InputCount() > 3 && context.HasInput(3);
    if (version_ >= 11) {
      pads = IntegersOf(context.Input(1), "pads");
      value = OptionalParameter(context, 2, "constant_value", TypeBit(x.type));
    }
    const kit::Pads by_axis =
        has_axes ? kit::Pads(x.rank(), pads, IntegersOf(context.Input(3), "axes")) : kit::Pads(x.rank(), pads);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      T fill{};
      if (value != nullptr)
        fill = *MoveSource<T>(context, *value).data();
      else if (value_ != 0.0f)
        fill = AttributeValueAs<T>(x.type);
      Pad<T>(context, mode_, by_axis.before, by_axis.after, fill);
    });
  }

 private:
  // Attribute of the old versions, converted to the bits of the element type.
  template <typename T>
  T AttributeValueAs(ElementType type) const {
    T bits{};
    DispatchNumbers(type, "Pad with an attribute value", [&]<typename V>() {
      if constexpr (sizeof(V) == sizeof(T) && std::is_trivially_copyable_v<T>) {
        const V typed = NumberAs<V>(value_);
        std::memcpy(&bits, &typed, sizeof(V));
      }
    });
    return bits;
  }

  int64_t version_;
  PadMode mode_;
  float value_;
  Dims pads_;
};

// Crops long axes and pads short ones, equally on both sides.
class CenterCropPadKernel : public Kernel {
 public:
  explicit CenterCropPadKernel(const KernelInit& init) : given_(init.node().Has("axes")) {
    axes_ = Dims(std::span<const int64_t>(init.node().Ints("axes")));
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.AnyLayoutInput(0);
    const Dims wanted = IntegersOf(context.Input(1), "shape");
    Dims axes(x.rank(), 0);
    for (size_t i = 0; i < x.rank(); ++i) axes[i] = static_cast<int64_t>(i);
    if (given_) axes = kit::NormalizeAxes(axes_, x.rank());
    if (wanted.size() != axes.size()) FailOp("shape {} found, {} dimensions expected", ShapeText(wanted), axes.size());
    Dims before(x.rank(), 0), after(x.rank(), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i]);
      if (wanted[i] < 0) FailOp("shape {} found, dimensions of at least 0 expected", ShapeText(wanted));
      std::tie(before[axis], after[axis]) = kit::CenterPads(x.dims[axis], wanted[i]);
    }
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      Pad<T>(context, PadMode::kConstant, before, after, T{});
    });
  }

 private:
  bool given_;
  Dims axes_;
};

}  // namespace

void Register_pad(KernelRegistry& registry) {
  registry.Add<PadKernel>("Pad");
  registry.Add<CenterCropPadKernel>("CenterCropPad");
}

}  // namespace epiphyte::cpu
