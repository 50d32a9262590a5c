// Gather, GatherElements, GatherND.
#include <algorithm>
#include <atomic>
#include <type_traits>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/gather.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(const KernelInit& init) : axis_(init.node().Int("axis", 0)) { init.MayStayInPlace(0); }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& indices = context.Input(1);
    const size_t axis = kit::NormalizeAxis(axis_, x.rank());
    const Dims dims = kit::GatherDims(x.dims, indices.dims, axis);
    const int64_t dim = x.dims[axis];
    const int64_t* at = IndicesOf(context, indices, dim, "indices");
    const int64_t outer = x.dims.Count(0, axis), run = x.dims.Count(axis + 1, x.rank());
    const int64_t count = indices.Count();
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      const T* from = source.data();
      T* to = target.data();
      if (run == 0) return;
      CountTexts<T>(context, outer * count * run, [&](int64_t i) -> const T& {
        const int64_t item = i / run;
        return from[(item / count * dim + at[item % count]) * run + i % run];
      });
      Parallel(context, outer * count, MoveGrain(run * static_cast<int64_t>(sizeof(T))),
               [=](int64_t begin, int64_t end) {
                 int64_t block = begin / count, i = begin % count;
                 for (int64_t item = begin; item < end; ++item) {
                   const T* element = from + (block * dim + at[i]) * run;
                   if (run == 1)
                     to[item] = *element;
                   else
                     std::copy_n(element, run, to + item * run);
                   if (++i == count) i = 0, ++block;
                 }
               });
    });
  }

 private:
  int64_t axis_;
};

// to[i] = from[index[i] * step + i * row_step] for indices into a dimension of `size`; negative ones count from the
// end. Returns false when an index is out of range.
template <typename T, typename I>
bool GatherRow(const T* from, const I* index, int64_t n, int64_t size, int64_t step, int64_t row_step, T* to) {
  bool inside = true;
  const auto place = [&](I at) {
    const int64_t wide = at;
    const int64_t i = wide < 0 ? wide + size : wide;
    const bool valid = static_cast<uint64_t>(i) < static_cast<uint64_t>(size);
    inside &= valid;
    return valid ? i : 0;
  };
  if (step == 1 && row_step == 0) {
    // Most indices are neither negative nor out of range, which one test checks for several of them.
    constexpr int64_t kTogether = 128;
    for (int64_t i = 0; i < n; i += kTogether) {
      const int64_t end = std::min(n, i + kTogether);
      uint64_t signs = 0;
      for (int64_t k = i; k < end; ++k) {
        const auto at = static_cast<uint64_t>(static_cast<int64_t>(index[k]));
        signs |= at | (static_cast<uint64_t>(size) - 1 - at);
      }
      if (signs >> 63 == 0) {
        int64_t k = i;
        if constexpr (std::is_trivially_copyable_v<T>) {
          for (; k + 4 <= end; k += 4) {
            const T first = from[index[k]], second = from[index[k + 1]];
            const T third = from[index[k + 2]], fourth = from[index[k + 3]];
            to[k] = first;
            to[k + 1] = second;
            to[k + 2] = third;
            to[k + 3] = fourth;
          }
        }
        for (; k < end; ++k) to[k] = from[index[k]];
      } else {
        for (int64_t k = i; k < end; ++k) to[k] = from[place(index[k])];
      }
    }
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[place(index[i]) * step + i * row_step];
  }
  return inside;
}

class GatherElementsKernel : public Kernel {
 public:
  explicit GatherElementsKernel(const KernelInit& init) : axis_(init.node().Int("axis", 0)) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& indices = context.Input(1);
    const size_t rank = x.rank();
    const size_t axis = kit::NormalizeAxis(axis_, rank);
    kit::CheckGatherElements(x.dims, indices.dims, axis);
    if (indices.type == EP_TYPE_INT32) {
      Gather(context, x, indices, axis, indices.as<int32_t>());
    } else {
      Gather(context, x, indices, axis, Int64Data(context, indices, "indices"));
    }
  }

 private:
  template <typename I>
  static void Gather(OpContext& context, const Tensor& x, const Tensor& indices, size_t axis, const I* at) {
    kit::StridedBlock rows;  // rows of the output along its last axis; `from`: their offset in the data
    rows.dims = indices.dims;
    rows.from = kit::RowMajorStrides(x.dims);
    rows.to = kit::RowMajorStrides(indices.dims);
    const int64_t step = rows.from[axis], size = x.dims[axis];
    rows.from[axis] = 0;
    const size_t last = x.rank() - 1;
    const int64_t row = indices.dims[last], row_step = rows.from[last];
    std::atomic<bool> inside = true;
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, indices.dims);
      if (indices.Count() == 0) return;
      if (size == 0) {
        inside = false;
        return;
      }
      const T* from = source.data();
      T* to = target.data();
      if constexpr (std::is_same_v<T, std::string>) {
        const int64_t* const checked = IndicesOf(context, indices, size, "indices");
        kit::Odometer place(rows, rows.dims.size(), 0);
        CountTexts<T>(context, indices.Count(), [&](int64_t i) -> const T& {
          if (i != 0) place.Next();
          return from[place.from() + checked[i] * step];
        });
      }
      Parallel(context, indices.dims.Count(0, last), MoveGrain(row * 8), [&](int64_t begin, int64_t end) {
        kit::Odometer place(rows, last, begin);
        for (int64_t r = begin; r < end; ++r, place.Next())
          if (!GatherRow(from + place.from(), at + r * row, row, size, step, row_step, to + r * row)) inside = false;
      });
    });
    if (!inside) IndicesOf(context, indices, size, "indices");  // reports the invalid index
  }

  int64_t axis_;
};

class GatherNdKernel : public Kernel {
 public:
  explicit GatherNdKernel(const KernelInit& init) : batch_dims_(init.node().Int("batch_dims", 0)) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& indices = context.Input(1);
    const kit::GatherNdShape shape(x.dims, indices.dims, batch_dims_);
    const size_t batch = shape.batch, depth = shape.depth;
    const int64_t run = shape.run, tuples = shape.tuples;
    const int64_t batches = x.dims.Count(0, batch);
    const int64_t per_batch = batches == 0 ? 0 : tuples / batches;
    const int64_t batch_size = x.dims.Count(batch, x.rank());
    const int64_t* index = Int64Data(context, indices, "indices");
    auto* offsets = static_cast<int64_t*>(context.Scratch(static_cast<uint64_t>(tuples + 1) * sizeof(int64_t)));
    const Dims strides = kit::RowMajorStrides(x.dims);
    for (int64_t t = 0; t < tuples; ++t) {
      int64_t offset = t / per_batch * batch_size;
      for (size_t k = 0; k < depth; ++k) {
        const int64_t dim = x.dims[batch + k];
        int64_t at = *index++;
        if (at < -dim || at >= dim) FailOp("indices: index {} found, a value in [{}, {}] expected", at, -dim, dim - 1);
        offset += (at < 0 ? at + dim : at) * strides[batch + k];
      }
      offsets[t] = offset;
    }
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, shape.dims);
      const T* from = source.data();
      T* to = target.data();
      CountTexts<T>(context, tuples * run, [&](int64_t i) -> const T& { return from[offsets[i / run] + i % run]; });
      Parallel(context, tuples, MoveGrain(run * static_cast<int64_t>(sizeof(T))), [=](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) std::copy_n(from + offsets[t], run, to + t * run);
      });
    });
  }

 private:
  int64_t batch_dims_;
};

}  // namespace

void Register_gather(KernelRegistry& registry) {
  registry.Add<GatherKernel>("Gather");
  registry.Add<GatherElementsKernel>("GatherElements");
  registry.Add<GatherNdKernel>("GatherND");
}

}  // namespace epiphyte::cpu
