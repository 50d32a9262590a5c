// Operators that move elements back to the window positions that they came from: MaxUnpool, Col2Im.
#include <algorithm>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"

namespace epiphyte::cpu {
namespace {

class MaxUnpoolKernel : public Kernel {
 public:
  explicit MaxUnpoolKernel(const KernelInit& init)
      : kernel_(std::span<const int64_t>(init.node().Ints("kernel_shape"))),
        pads_(std::span<const int64_t>(init.node().Ints("pads"))),
        strides_(std::span<const int64_t>(init.node().Ints("strides"))) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& indices = context.Input(1);
    if (x.rank() < 3) FailOp("input of shape {} found, rank 3 or more expected", ShapeText(x.dims));
    if (!(indices.dims == x.dims))
      FailOp("indices of shape {} found, {} expected", ShapeText(indices.dims), ShapeText(x.dims));
    const size_t spatial = x.rank() - 2;
    const Dims kernel = kit::WindowList(kernel_, spatial, 1, 1, "kernel_shape");
    const Dims pads = kit::WindowList(pads_, 2 * spatial, 0, 0, "pads");
    const Dims strides = kit::WindowList(strides_, spatial, 1, 1, "strides");
    // The indices refer to the pooled tensor; output_shape may extend each axis at its end.
    Dims pooled = x.dims;
    for (size_t i = 0; i < spatial; ++i)
      pooled[i + 2] =
          kit::CheckedAdd(kit::CheckedMultiply(x.dims[i + 2] - 1, strides[i]), kernel[i] - pads[i] - pads[i + spatial]);
    const int64_t pooled_count = kit::CheckedCount(pooled);
    Dims dims = pooled;
    if (context.InputCount() > 2 && context.HasInput(2)) {
      dims = IntegersOf(context.Input(2), "output_shape");
      bool fits = dims.size() == pooled.size();
      for (size_t i = 0; fits && i < dims.size(); ++i) fits = i < 2 ? dims[i] == pooled[i] : dims[i] >= pooled[i];
      if (!fits) FailOp("output_shape {} found, at least {} expected", ShapeText(dims), ShapeText(pooled));
    }
    kit::CheckedCount(dims);
    const int64_t* at = Int64Data(context, indices, "indices");
    const int64_t count = x.Count();
    const Dims to_strides = kit::RowMajorStrides(dims);
    const bool same = dims == pooled;
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      T* to = target.data();
      const T* const from = source.data();
      // Indices may be anywhere. If the result fits in this core's cache, it is cleared by this thread, too.
      constexpr int64_t kNearBytes = 2 << 20;
      const int64_t elements = dims.Count();
      const int64_t bytes = elements * static_cast<int64_t>(sizeof(T));
      Parallel(context, elements, bytes <= kNearBytes ? elements : MoveGrain(sizeof(T)),
               [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, T{}); });
      for (int64_t i = 0; i < count; ++i) {
        int64_t place = at[i];
        if (place < 0 || place >= pooled_count)
          FailOp("index {} found, a value in [0, {}] expected", place, pooled_count - 1);
        if (!same) {
          int64_t rest = place;
          place = 0;
          for (size_t k = dims.size(); k-- > 0; rest /= pooled[k]) place += rest % pooled[k] * to_strides[k];
        }
        to[place] = from[i];
      }
    });
  }

 private:
  Dims kernel_;
  Dims pads_;
  Dims strides_;
};

class Col2ImKernel : public Kernel {
 public:
  explicit Col2ImKernel(const KernelInit& init)
      : dilations_(std::span<const int64_t>(init.node().Ints("dilations"))),
        pads_(std::span<const int64_t>(init.node().Ints("pads"))),
        strides_(std::span<const int64_t>(init.node().Ints("strides"))) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Window window;
    window.image = IntegersOf(context.Input(1), "image_shape");
    const size_t spatial = window.image.size();
    kit::CheckedCount(window.image);
    window.block = IntegersOf(context.Input(2), "block_shape");
    if (window.block.empty()) FailOp("an empty block_shape found, {} numbers expected", spatial);
    window.block = kit::WindowList(window.block, spatial, 1, 1, "block_shape");
    window.dilations = kit::WindowList(dilations_, spatial, 1, 1, "dilations");
    window.pads = kit::WindowList(pads_, 2 * spatial, 0, 0, "pads");
    window.strides = kit::WindowList(strides_, spatial, 1, 1, "strides");
    const int64_t block = kit::CheckedCount(window.block);
    int64_t columns = 1;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t extent = window.image[i] + window.pads[i] + window.pads[i + spatial] -
                             kit::CheckedMultiply(window.dilations[i], window.block[i] - 1) - 1;
      window.places.push_back(extent < 0 ? 0 : extent / window.strides[i] + 1);
      columns = kit::CheckedMultiply(columns, window.places[i]);
    }
    if (x.rank() != 3 || x.dims[1] % block != 0 || x.dims[2] != columns)
      FailOp("input of shape {} found, [N, multiple of {}, {}] expected", ShapeText(x.dims), block, columns);
    Dims dims{x.dims[0], x.dims[1] / block};
    for (int64_t dim : window.image) dims.push_back(dim);
    kit::CheckedCount(dims);
    DispatchNumbers(x.type, "Col2Im", [&]<typename T>() {
      const int64_t pixels = window.image.Count();
      const T* from = x.as<T>();
      T* to = context.Output(0, x.type, dims).template as<T>();
      Parallel(context, dims[0] * dims[1], 1, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c)
          Sum(window, from + c * block * columns, block, columns, to + c * pixels, pixels);
      });
    });
  }

 private:
  struct Window {
    Dims image, block, dilations, pads, strides, places;
  };

  // sums[i] += values[i]. Small floats are rounded after each addition, which avoids a second buffer.
  template <typename T>
  class AddRow {
   public:
    void operator()(T* sums, const T* values, int64_t n) const {
      if constexpr (std::is_same_v<T, float>) {
        loop_.both(sums, values, sums, n);
      } else if constexpr (simd::kHasNumberLoops<T>) {
        loop_(sums, 1, values, 1, sums, n);
      } else {
        for (int64_t i = 0; i < n; ++i) AddTo(sums[i], values[i]);
      }
    }
    static void AddTo(T& sum, T value) {
      using C = Compute<T>;
      sum = static_cast<T>(Add()(static_cast<C>(sum), static_cast<C>(value)));
    }

   private:
    struct None {};
    using Loop = std::conditional_t<std::is_same_v<T, float>, simd::BinaryLoop,
                                    std::conditional_t<simd::kHasNumberLoops<T>, simd::NumberLoop<T>, None>>;
    static Loop Make() {
      if constexpr (std::is_same_v<T, float>) {
        return Loop(Add::kFloats);
      } else if constexpr (simd::kHasNumberLoops<T>) {
        return Loop(Add::kOthers);
      } else {
        return {};
      }
    }
    Loop loop_ = Make();
  };

  // Sums one channel.
  template <typename T>
  static void Sum(const Window& window, const T* from, int64_t block, int64_t columns, T* to, int64_t pixels) {
    std::fill_n(to, pixels, static_cast<T>(Compute<T>{0}));
    // Rows of positions along the last dimension; the positions inside the image are contiguous.
    const size_t last = window.image.size() - 1;
    const int64_t width = window.image[last], row = window.places[last], stride = window.strides[last];
    if (row == 0) return;
    const AddRow<T> add;
    Dims shifts(last, 0), place(last, 0);
    for (int64_t k = 0; k < block; ++k) {
      const int64_t shift = k % window.block[last] * window.dilations[last] - window.pads[last];
      const int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
      const int64_t end = shift >= width ? 0 : std::min(row, (width - 1 - shift) / stride + 1);
      int64_t in_block = k / window.block[last];
      for (size_t i = last; i-- > 0; in_block /= window.block[i])
        shifts[i] = in_block % window.block[i] * window.dilations[i] - window.pads[i];
      std::fill(place.begin(), place.end(), 0);
      for (int64_t l = 0; l < columns; l += row) {
        int64_t at = 0;
        bool inside = true;
        for (size_t i = 0; i < last && inside; ++i) {
          const int64_t coordinate = place[i] * window.strides[i] + shifts[i];
          inside = coordinate >= 0 && coordinate < window.image[i];
          at = at * window.image[i] + coordinate;
        }
        for (size_t i = last; i-- > 0 && ++place[i] == window.places[i];) place[i] = 0;
        if (!inside || first >= end) continue;
        const T* const source = from + k * columns + l;
        T* const target = to + at * width + shift;
        if (stride == 1) {
          add(target + first, source + first, end - first);
        } else {
          for (int64_t i = first; i < end; ++i) AddRow<T>::AddTo(target[i * stride], source[i]);
        }
      }
    }
  }

  Dims dilations_;
  Dims pads_;
  Dims strides_;
};

}  // namespace

void Register_unpool(KernelRegistry& registry) {
  registry.Add<MaxUnpoolKernel>("MaxUnpool");
  registry.Add<Col2ImKernel>("Col2Im", 1, kNumbers);
}

}  // namespace epiphyte::cpu
