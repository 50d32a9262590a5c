// Concat and Split.
#include <algorithm>

#include "plugins/cpu/strided.h"

namespace epiphyte::cpu {
namespace {

class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(const KernelInit& init) : axis_(init.node().Int("axis", 1)) {
    if (!init.node().Has("axis") && init.node().since_version >= 4) FailOp("no attribute axis found, one expected");
  }

  void Run(OpContext& context) const override {
    const Tensor& first = context.Input(0);
    const size_t rank = first.rank();
    const auto axis = static_cast<size_t>(NormalizeAxis(axis_, static_cast<int64_t>(rank)));
    Dims dims = first.dims;
    for (size_t i = 1; i < context.InputCount(); ++i) {
      const Tensor& x = context.Input(i);
      if (x.type != first.type)
        FailOp("input {} of type {} found, {} expected", i, TypeName(x.type), TypeName(first.type));
      bool fits = x.rank() == rank;
      for (size_t k = 0; fits && k < rank; ++k) fits = k == axis || x.dims[k] == first.dims[k];
      if (!fits)
        FailOp("input {} of shape {} found, {} apart from axis {} expected", i, DimsText(x.dims), DimsText(first.dims),
               axis);
      dims[axis] = CheckedAdd(dims[axis], x.dims[axis]);
    }
    if (context.InputCount() == 1) return context.OutputAlias(0, 0, dims);
    CheckedCount(dims);
    const int64_t outer = dims.Count(0, axis), inner = dims.Count(axis + 1, rank);
    const int64_t row = dims[axis] * inner;
    WithUnit(first.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveTarget<T> target(context, 0, first.type, dims);
      int64_t at = 0;
      for (size_t i = 0; i < context.InputCount(); ++i) {
        const Tensor& x = context.Input(i);
        const int64_t run = x.dims[axis] * inner;
        MoveSource<T> source(context, x);
        StridedMove(context, Dims{outer, run}, source.data(), Dims{run, 1}, target.data() + at, Dims{row, 1});
        at += run;
      }
    });
  }

 private:
  int64_t axis_;
};

class SplitKernel : public Kernel {
 public:
  explicit SplitKernel(const KernelInit& init)
      : version_(init.node().since_version),
        axis_(init.node().Int("axis", 0)),
        sizes_attribute_(init.node().Has("split")),
        parts_(init.node().Int("num_outputs", 0)) {
    sizes_ = Dims(std::span<const int64_t>(init.node().Ints("split")));
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const size_t rank = x.rank();
    const auto axis = static_cast<size_t>(NormalizeAxis(axis_, static_cast<int64_t>(rank)));
    const Dims sizes = Sizes(context, x.dims[axis]);
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
    const auto outputs = static_cast<int64_t>(context.OutputCount());
    Dims sizes;
    if (context.InputCount() > 1 && context.HasInput(1)) {
      sizes = IntegersOf(context.Input(1), "split");
    } else if (sizes_attribute_) {
      sizes = sizes_;
    } else {
      if (parts_ != 0 && parts_ != outputs)
        FailOp("num_outputs {} found for {} outputs, the same number expected", parts_, outputs);
      if (version_ < 18 && dim % outputs != 0)
        FailOp("a dimension of {} found, a multiple of {} expected", dim, outputs);
      const int64_t part = (dim + outputs - 1) / outputs;
      sizes.resize(static_cast<size_t>(outputs));
      for (int64_t i = 0, left = dim; i < outputs; ++i, left -= std::min(part, left))
        sizes[static_cast<size_t>(i)] = std::min(part, left);
      return sizes;
    }
    if (static_cast<int64_t>(sizes.size()) != outputs)
      FailOp("split {} found for {} outputs, as many sizes expected", DimsText(sizes), outputs);
    int64_t sum = 0;
    for (int64_t size : sizes) {
      if (size < 0) FailOp("split {} found, sizes of at least 0 expected", DimsText(sizes));
      sum = CheckedAdd(sum, size);
    }
    if (sum != dim) FailOp("split {} found for a dimension of {}, that sum expected", DimsText(sizes), dim);
    return sizes;
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
