// DeformConv: a 2-D convolution whose window has learned offsets. The sampled windows become the columns of a matrix.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/simd/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

// The image between its elements; zero outside.
template <typename C, typename T>
C Interpolate(const T* image, int64_t height, int64_t width, C y, C x) {
  if (!(y > -1 && y < static_cast<C>(height) && x > -1 && x < static_cast<C>(width))) return 0;
  const C y_floor = std::floor(y), x_floor = std::floor(x);
  const auto y0 = static_cast<int64_t>(y_floor), x0 = static_cast<int64_t>(x_floor);
  const C ly = y - y_floor, lx = x - x_floor;
  const auto at = [&](int64_t i, int64_t j) {
    return i >= 0 && i < height && j >= 0 && j < width ? static_cast<C>(image[i * width + j]) : C{0};
  };
  return (1 - ly) * ((1 - lx) * at(y0, x0) + lx * at(y0, x0 + 1)) +
         ly * ((1 - lx) * at(y0 + 1, x0) + lx * at(y0 + 1, x0 + 1));
}

class DeformConvKernel : public Kernel {
 public:
  static FloatUse FloatUseOf(const ir::Node&) { return FloatUse::kWorthCasts; }

  explicit DeformConvKernel(const KernelInit& init)
      : dilations_(kit::WindowList(init.node().Ints("dilations"), 2, 1, 1, "dilations")),
        pads_(kit::WindowList(init.node().Ints("pads"), 4, 0, 0, "pads")),
        strides_(kit::WindowList(init.node().Ints("strides"), 2, 1, 1, "strides")),
        kernel_shape_(std::span<const int64_t>(init.node().Ints("kernel_shape"))),
        groups_(init.node().Int("group", 1)),
        offset_groups_(init.node().Int("offset_group", 1)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& w = context.Input(1);
    const Tensor& offset = context.Input(2);
    const Tensor* bias = context.InputCount() > 3 ? context.OptionalInput(3) : nullptr;
    const Tensor* mask = context.InputCount() > 4 ? context.OptionalInput(4) : nullptr;
    if (x.rank() != 4 || w.rank() != 4)
      NotImplemented("input of shape {} found, [N,C,H,W] expected", ShapeText(x.dims));
    Shape s;
    s.n = x.dims[0], s.c = x.dims[1], s.h = x.dims[2], s.w = x.dims[3];
    s.m = w.dims[0], s.kh = w.dims[2], s.kw = w.dims[3];
    if (groups_ < 1 || offset_groups_ < 1 || s.c % groups_ != 0 || s.m % groups_ != 0 || s.c % offset_groups_ != 0 ||
        w.dims[1] != s.c / groups_ || s.kh < 1 || s.kw < 1 || s.kh > INT32_MAX || s.kw > INT32_MAX)
      FailOp(
          "input of shape {} and weights of shape {} found with {} groups and {} offset groups, counts that divide "
          "expected",
          ShapeText(x.dims), ShapeText(w.dims), groups_, offset_groups_);
    if (!kernel_shape_.empty() && !(kernel_shape_ == Dims{s.kh, s.kw}))
      FailOp("kernel_shape {} found for weights of shape {}, the same expected", ShapeText(kernel_shape_),
             ShapeText(w.dims));
    const int64_t extent_h = s.h + pads_[0] + pads_[2] - dilations_[0] * (s.kh - 1) - 1;
    const int64_t extent_w = s.w + pads_[1] + pads_[3] - dilations_[1] * (s.kw - 1) - 1;
    s.oh = extent_h < 0 ? 0 : extent_h / strides_[0] + 1;
    s.ow = extent_w < 0 ? 0 : extent_w / strides_[1] + 1;
    const int64_t taps = kit::CheckedMultiply(s.kh, s.kw);
    Expect(offset, x.type, Dims{s.n, kit::CheckedMultiply(offset_groups_, 2 * taps), s.oh, s.ow}, "offset");
    if (bias != nullptr) Expect(*bias, x.type, Dims{s.m}, "B");
    if (mask != nullptr)
      Expect(*mask, x.type, Dims{s.n, kit::CheckedMultiply(offset_groups_, taps), s.oh, s.ow}, "mask");
    if (w.type != x.type) FailOp("weights of type {} found, {} expected", TypeName(w.type), TypeName(x.type));
    const Dims dims{s.n, s.m, s.oh, s.ow};
    kit::CheckedCount(dims);
    DispatchFloats(x.type, "DeformConv",
                   [&]<typename T>() { Convolve<T>(context, s, x, w, offset, bias, mask, dims); });
  }

 private:
  struct Shape {
    int64_t n, c, h, w, m, kh, kw, oh, ow;
  };

  static void Expect(const Tensor& tensor, ElementType type, const Dims& dims, std::string_view name) {
    if (tensor.type != type || !(tensor.dims == dims))
      FailOp("{} of type {} and shape {} found, {} of {} expected", name, TypeName(tensor.type), ShapeText(tensor.dims),
             TypeName(type), ShapeText(dims));
  }

  template <typename T>
  void Convolve(OpContext& context, const Shape& s, const Tensor& x, const Tensor& w, const Tensor& offset,
                const Tensor* bias, const Tensor* mask, const Dims& dims) const {
    using C = Compute<T>;
    const int64_t taps = s.kh * s.kw, pixels = s.oh * s.ow, rows = s.c * taps;
    const int64_t depth = s.c / groups_ * taps, filters = s.m / groups_;
    T* y = context.Output(0, x.type, dims).template as<T>();
    if (dims.Count() == 0) return;
    auto* columns =
        static_cast<C*>(context.Scratch(static_cast<uint64_t>(kit::CheckedCount(Dims{rows, pixels})) * sizeof(C)));
    auto* sums =
        static_cast<C*>(context.Scratch(static_cast<uint64_t>(kit::CheckedCount(Dims{s.m, pixels})) * sizeof(C)));
    const C* const weights = AsNumbers<T>(context, w);
    const int64_t blocks = (pixels + kBlock - 1) / kBlock;
    for (int64_t n = 0; n < s.n; ++n) {
      const int64_t sampled = s.c / offset_groups_ * std::min(pixels, kBlock);
      Parallel(context, offset_groups_ * taps * blocks, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, sampled)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t row = i / blocks, first = i % blocks * kBlock;
                   Sample(s, n, row / taps, row % taps, first, std::min(kBlock, pixels - first), x.as<T>(),
                          offset.as<T>(), mask == nullptr ? nullptr : mask->as<T>(), columns);
                 }
               });
      const int64_t cost = filters * depth * std::min(pixels, kBlock);
      Parallel(context, groups_ * blocks, std::max<int64_t>(1, (256 << 10) / std::max<int64_t>(1, cost)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t group = i / blocks, first = i % blocks * kBlock;
                   const int64_t count = std::min(kBlock, pixels - first);
                   C* const sum = sums + group * filters * pixels + first;
                   for (int64_t m = 0; m < filters; ++m) {
                     const int64_t filter = group * filters + m;
                     std::fill_n(sum + m * pixels, count,
                                 bias != nullptr ? static_cast<C>(bias->as<T>()[filter]) : C{0});
                   }
                   simd::TileMatMul(weights + group * filters * depth, depth, columns + group * depth * pixels + first,
                                    pixels, sum, pixels, filters, count, depth);
                   for (int64_t m = 0; m < filters; ++m) {
                     T* const out = y + (n * s.m + group * filters + m) * pixels + first;
                     for (int64_t p = 0; p < count; ++p) out[p] = static_cast<T>(sum[m * pixels + p]);
                   }
                 }
               });
    }
  }

  // Pixels whose corners are found together.
  static constexpr int64_t kBlock = 256;

  template <typename T>
  static const Compute<T>* AsNumbers(OpContext& context, const Tensor& tensor) {
    using C = Compute<T>;
    if constexpr (std::is_same_v<T, C>) {
      return tensor.as<T>();
    } else {
      const int64_t count = tensor.Count();
      auto* numbers = static_cast<C*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(C)));
      for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<C>(tensor.as<T>()[i]);
      return numbers;
    }
  }

  // What a tap of all of a group's channels sees of image n, for `count` pixels from `first` on: their corners and
  // weights are the same for every channel.
  template <typename T>
  void Sample(const Shape& s, int64_t n, int64_t group, int64_t tap, int64_t first, int64_t count, const T* x,
              const T* offsets, const T* mask, Compute<T>* columns) const {
    using C = Compute<T>;
    const int64_t taps = s.kh * s.kw, pixels = s.oh * s.ow, channels = s.c / offset_groups_;
    const T* const dy = offsets + ((n * offset_groups_ + group) * taps + tap) * 2 * pixels + first;
    const T* const dx = dy + pixels;
    const T* const strength =
        mask == nullptr ? nullptr : mask + ((n * offset_groups_ + group) * taps + tap) * pixels + first;
    const C top = static_cast<C>(tap / s.kw * dilations_[0] - pads_[0]);
    const C left = static_cast<C>(tap % s.kw * dilations_[1] - pads_[1]);
    int64_t corner[kBlock], below[kBlock];
    C upper_left[kBlock], upper_right[kBlock], lower_left[kBlock], lower_right[kBlock];
    C at_y[kBlock], at_x[kBlock];
    int64_t beside[kBlock], beside_count = 0;  // pixels of which a corner lies outside of the image
    for (int64_t p = 0; p < count; ++p) {
      const C py = at_y[p] = static_cast<C>((first + p) / s.ow * strides_[0]) + top + static_cast<C>(dy[p]);
      const C px = at_x[p] = static_cast<C>((first + p) % s.ow * strides_[1]) + left + static_cast<C>(dx[p]);
      corner[p] = below[p] = 0;
      if (!(py >= 0 && py < static_cast<C>(s.h - 1) && px >= 0 && px < static_cast<C>(s.w - 1))) {
        beside[beside_count++] = p;
        upper_left[p] = upper_right[p] = lower_left[p] = lower_right[p] = 0;
        continue;
      }
      const auto row = static_cast<int64_t>(py), column = static_cast<int64_t>(px);
      const C ly = py - static_cast<C>(row), lx = px - static_cast<C>(column);
      const C factor = strength == nullptr ? C{1} : static_cast<C>(strength[p]);
      corner[p] = row * s.w + column;
      below[p] = corner[p] + s.w;
      upper_left[p] = (1 - ly) * (1 - lx) * factor;
      upper_right[p] = (1 - ly) * lx * factor;
      lower_left[p] = ly * (1 - lx) * factor;
      lower_right[p] = ly * lx * factor;
    }
    const bool small = s.h < 2 || s.w < 2;  // then every pixel is one of those
    for (int64_t c = 0; c < channels; ++c) {
      const T* const image = x + (n * s.c + group * channels + c) * s.h * s.w;
      C* const out = columns + ((group * channels + c) * taps + tap) * pixels + first;
      for (int64_t p = 0; p < count && !small; ++p) {
        const T *const above = image + corner[p], *const under = image + below[p];
        out[p] = upper_left[p] * static_cast<C>(above[0]) + upper_right[p] * static_cast<C>(above[1]) +
                 lower_left[p] * static_cast<C>(under[0]) + lower_right[p] * static_cast<C>(under[1]);
      }
      for (int64_t b = 0; b < beside_count; ++b) {
        const int64_t p = beside[b];
        const C value = Interpolate<C>(image, s.h, s.w, at_y[p], at_x[p]);
        out[p] = strength == nullptr ? value : value * static_cast<C>(strength[p]);
      }
    }
  }

  Dims dilations_;
  Dims pads_;
  Dims strides_;
  Dims kernel_shape_;
  int64_t groups_;
  int64_t offset_groups_;
};

}  // namespace

void Register_deform_conv(KernelRegistry& registry) { registry.Add<DeformConvKernel>("DeformConv", 1, kFloats); }

}  // namespace epiphyte::cpu
