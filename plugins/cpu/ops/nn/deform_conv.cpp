// DeformConv: a 2-D convolution whose window has learned offsets. The sampled windows become the columns of a matrix.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"

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
    const int64_t depth = s.c / groups_ * taps;
    T* y = context.Output(0, x.type, dims).template as<T>();
    if (dims.Count() == 0) return;
    auto* columns =
        static_cast<C*>(context.Scratch(static_cast<uint64_t>(kit::CheckedCount(Dims{rows, pixels})) * sizeof(C)));
    auto* sums =
        static_cast<C*>(context.Scratch(static_cast<uint64_t>(kit::CheckedCount(Dims{s.m, pixels})) * sizeof(C)));
    for (int64_t n = 0; n < s.n; ++n) {
      Parallel(context, rows, std::max<int64_t>(1, 2048 / pixels), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t c = r / taps, tap = r % taps, group = c / (s.c / offset_groups_);
          const T* image = x.as<T>() + (n * s.c + c) * s.h * s.w;
          const T* dy = offset.as<T>() + ((n * offset_groups_ + group) * taps + tap) * 2 * pixels;
          const T* strength =
              mask == nullptr ? nullptr : mask->as<T>() + ((n * offset_groups_ + group) * taps + tap) * pixels;
          const C top = static_cast<C>(tap / s.kw * dilations_[0] - pads_[0]);
          const C left = static_cast<C>(tap % s.kw * dilations_[1] - pads_[1]);
          C* out = columns + r * pixels;
          for (int64_t p = 0; p < pixels; ++p) {
            const C at_y = static_cast<C>(p / s.ow * strides_[0]) + top + static_cast<C>(dy[p]);
            const C at_x = static_cast<C>(p % s.ow * strides_[1]) + left + static_cast<C>(dy[pixels + p]);
            const C value = Interpolate<C>(image, s.h, s.w, at_y, at_x);
            out[p] = strength == nullptr ? value : value * static_cast<C>(strength[p]);
          }
        }
      });
      Parallel(context, s.m, std::max<int64_t>(1, (64 << 10) / std::max<int64_t>(1, depth * pixels)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t m = begin; m < end; ++m) {
                   C* sum = sums + m * pixels;
                   std::fill_n(sum, pixels, bias != nullptr ? static_cast<C>(bias->as<T>()[m]) : C{0});
                   const C* column = columns + m / (s.m / groups_) * depth * pixels;
                   for (int64_t k = 0; k < depth; ++k, column += pixels) {
                     const C weight = static_cast<C>(w.as<T>()[m * depth + k]);
                     for (int64_t p = 0; p < pixels; ++p) sum[p] += weight * column[p];
                   }
                   T* out = y + (n * s.m + m) * pixels;
                   for (int64_t p = 0; p < pixels; ++p) out[p] = static_cast<T>(sum[p]);
                 }
               });
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
