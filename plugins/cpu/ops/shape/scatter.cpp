// Scatter, ScatterElements, ScatterND and TensorScatter: a copy of the data with some elements replaced by, or combined
// with, updates.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/scatter.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

using Reduction = kit::ScatterReduction;

template <typename T>
T Combine(Reduction reduction, T a, T b) {
  // Integers wrap around, so they are computed as unsigned numbers.
  using C = std::conditional_t<std::is_integral_v<T>, uint64_t, Compute<T>>;
  if constexpr (std::is_integral_v<T>) {
    if (reduction == Reduction::kMaximum) return std::max(a, b);
    if (reduction == Reduction::kMinimum) return std::min(a, b);
  }
  const C x = static_cast<C>(a), y = static_cast<C>(b);
  switch (reduction) {
    case Reduction::kAdd: return static_cast<T>(x + y);
    case Reduction::kMultiply: return static_cast<T>(x * y);
    case Reduction::kMaximum: return y > x || y != y ? b : a;
    case Reduction::kMinimum: return y < x || y != y ? b : a;
    default: return b;
  }
}

void CheckUpdates(const Tensor& data, const Tensor& updates) {
  if (updates.type != data.type)
    FailOp("updates of type {} found, {} expected", TypeName(updates.type), TypeName(data.type));
}

// Makes output 0 with a copy of the data.
template <typename T>
Tensor& CopyOfData(OpContext& context, const Tensor& data, const Tensor& updates) {
  // An input that is both data and updates must not change while it is read.
  if (data.type != EP_TYPE_STRING && data.data != updates.data)
    if (Tensor* same = context.OutputInPlace(0, 0, data.type, data.dims)) return *same;
  Tensor& output = context.Output(0, data.type, data.dims);
  if constexpr (std::is_same_v<T, std::string>)
    *output.strings = *data.strings;
  else
    StridedMove(context, Dims{static_cast<int64_t>(data.Bytes())}, data.as<uint8_t>(), Dims{1}, output.as<uint8_t>());
  return output;
}

// Calls `body(update)`. The body walks over all updates and calls update(to, from, length) for each run, with offsets
// in the data and in the updates. Elements have a type that suits the reduction.
template <typename Body>
void Scatter(OpContext& context, Reduction reduction, const Tensor& data, const Tensor& updates, Body&& body) {
  if (reduction != Reduction::kNone) {
    DispatchNumbers(data.type, "a reduction while scattering", [&]<typename T>() {
      Tensor& output = CopyOfData<T>(context, data, updates);
      const T* from = updates.as<T>();
      T* to = output.as<T>();
      body([=](int64_t at, int64_t update, int64_t length) {
        for (int64_t i = 0; i < length; ++i) to[at + i] = Combine(reduction, to[at + i], from[update + i]);
      });
    });
    return;
  }
  WithUnit(data.type, [&](auto unit) {
    using T = typename decltype(unit)::type;
    Tensor& output = CopyOfData<T>(context, data, updates);
    MoveSource<T> source(context, updates);
    if (IsPacked(data.type)) {
      // The copy is packed; it is unpacked, changed and packed again.
      auto* elements = static_cast<uint8_t*>(context.Scratch(static_cast<uint64_t>(data.Count()) + 1));
      UnpackElements(data.type, output.data, data.Count(), elements);
      const auto* from = reinterpret_cast<const uint8_t*>(source.data());
      body([=](int64_t at, int64_t update, int64_t length) { std::copy_n(from + update, length, elements + at); });
      PackElements(data.type, elements, data.Count(), output.data);
      return;
    }
    const T* from = source.data();
    T* to;
    if constexpr (std::is_same_v<T, std::string>)
      to = output.strings->data();
    else
      to = output.as<T>();
    body([=](int64_t at, int64_t update, int64_t length) { std::copy_n(from + update, length, to + at); });
  });
}

class ScatterElementsKernel : public Kernel {
 public:
  explicit ScatterElementsKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", 0)),
        reduction_(kit::ScatterReductionOf(init.node().String("reduction", "none"))) {}
  void Run(OpContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    const Tensor& updates = context.Input(2);
    const size_t rank = data.rank();
    const size_t axis = kit::NormalizeAxis(axis_, rank);
    CheckUpdates(data, updates);
    kit::CheckScatterElements(data.dims, indices.dims, updates.dims, axis);
    const int64_t* at = IndicesOf(context, indices, data.dims[axis], "indices");

    kit::StridedBlock walk;
    walk.dims = indices.dims;
    walk.from = kit::RowMajorStrides(data.dims);
    walk.to = kit::RowMajorStrides(indices.dims);
    const int64_t step = walk.from[axis];
    walk.from[axis] = 0;
    const int64_t row = indices.dims.back(), row_step = walk.from.back();
    // Indices before the axis write to different places, so threads can divide them.
    const int64_t blocks = indices.dims.Count(0, axis);
    const int64_t block_rows = axis == rank - 1 ? 1 : indices.dims.Count(axis, rank - 1);
    // Updates in a share: few, because threads have just made the copy, and each should change the part in its own
    // cache.
    constexpr int64_t kShare = 1024;
    Scatter(context, reduction_, data, updates, [&](const auto& update) {
      if (indices.Count() == 0) return;
      const int64_t grain = std::max<int64_t>(1, kShare / (block_rows * row));
      Parallel(context, blocks, grain, [&](int64_t begin, int64_t end) {
        kit::Odometer place(walk, rank - 1, begin * block_rows);
        for (int64_t r = begin * block_rows; r < end * block_rows; ++r, place.Next()) {
          const int64_t* const of_row = at + r * row;
          const int64_t from = place.from(), first = r * row;
          for (int64_t i = 0; i < row; ++i) update(from + i * row_step + of_row[i] * step, first + i, 1);
        }
      });
    });
  }

 private:
  int64_t axis_;
  Reduction reduction_;
};

class ScatterNdKernel : public Kernel {
 public:
  explicit ScatterNdKernel(const KernelInit& init)
      : reduction_(kit::ScatterReductionOf(init.node().String("reduction", "none"))) {}
  void Run(OpContext& context) const override {
    const Tensor& data = context.Input(0);
    const Tensor& indices = context.Input(1);
    const Tensor& updates = context.Input(2);
    CheckUpdates(data, updates);
    const kit::ScatterNdShape shape(data.dims, indices.dims, updates.dims);
    const size_t depth = shape.depth;
    const int64_t tuples = shape.tuples, run = shape.run;
    const int64_t* index = Int64Data(context, indices, "indices");
    const Dims strides = kit::RowMajorStrides(data.dims);
    for (int64_t t = 0; t < tuples; ++t)
      for (size_t k = 0; k < depth; ++k) {
        const int64_t at = index[t * static_cast<int64_t>(depth) + static_cast<int64_t>(k)], dim = data.dims[k];
        if (at < -dim || at >= dim) FailOp("indices: index {} found, a value in [{}, {}] expected", at, -dim, dim - 1);
      }
    Scatter(context, reduction_, data, updates, [&](const auto& update) {
      const int64_t* next = index;
      for (int64_t t = 0; t < tuples; ++t) {
        int64_t offset = 0;
        for (size_t k = 0; k < depth; ++k, ++next) offset += (*next < 0 ? *next + data.dims[k] : *next) * strides[k];
        update(offset, t * run, run);
      }
    });
  }

 private:
  Reduction reduction_;
};

// Writes a part of a sequence to a cache along one axis, at a position for each batch.
class TensorScatterKernel : public Kernel {
 public:
  explicit TensorScatterKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", -2)), mode_(init.node().String("mode", "linear")) {
    if (mode_ != "linear" && mode_ != "circular") FailOp("mode '{}' found, linear or circular expected", mode_);
  }
  void Run(OpContext& context) const override {
    const Tensor& cache = context.Input(0);
    const Tensor& update = context.Input(1);
    const size_t rank = cache.rank();
    const size_t axis = kit::NormalizeAxis(axis_, rank);
    if (axis == 0) FailOp("axis 0 found, another axis than that of the batch expected");
    CheckUpdates(cache, update);
    bool fits = update.rank() == rank;
    for (size_t i = 0; fits && i < rank; ++i)
      fits = i == axis ? update.dims[i] <= cache.dims[i] : update.dims[i] == cache.dims[i];
    if (!fits)
      FailOp(
          "update of shape {} found for a cache of shape {}, at most that along axis {} and equal elsewhere expected",
          ShapeText(update.dims), ShapeText(cache.dims), axis);
    const int64_t batches = cache.dims[0], capacity = cache.dims[axis], length = update.dims[axis];
    const int64_t* starts = nullptr;
    if (context.InputCount() > 2 && context.HasInput(2)) {
      const Tensor& write = context.Input(2);
      if (write.Count() != batches)
        FailOp("write_indices of shape {} found, {} numbers expected", ShapeText(write.dims), batches);
      starts = Int64Data(context, write, "write_indices");
      const bool circular = mode_ == "circular";
      for (int64_t b = 0; b < batches; ++b)
        if (starts[b] < 0 || (circular ? starts[b] >= std::max<int64_t>(capacity, 1) : starts[b] > capacity - length))
          FailOp("write_indices: index {} found, a value in [0, {}] expected", starts[b],
                 circular ? capacity - 1 : capacity - length);
    }
    const int64_t inner = cache.dims.Count(axis + 1, rank), blocks = cache.dims.Count(1, axis);
    Scatter(context, Reduction::kNone, cache, update, [&](const auto& write) {
      for (int64_t b = 0; b < batches; ++b) {
        const int64_t start = starts != nullptr ? starts[b] : 0;
        const int64_t before_wrap = std::min(length, capacity - start);
        for (int64_t k = b * blocks; k < (b + 1) * blocks; ++k) {
          write((k * capacity + start) * inner, k * length * inner, before_wrap * inner);
          write(k * capacity * inner, (k * length + before_wrap) * inner, (length - before_wrap) * inner);
        }
      }
    });
  }

 private:
  int64_t axis_;
  std::string mode_;
};

}  // namespace

void Register_scatter(KernelRegistry& registry) {
  registry.Add<ScatterElementsKernel>("Scatter");
  registry.Add<ScatterElementsKernel>("ScatterElements");
  registry.Add<ScatterNdKernel>("ScatterND");
  registry.Add<TensorScatterKernel>("TensorScatter");
}

}  // namespace epiphyte::cpu
