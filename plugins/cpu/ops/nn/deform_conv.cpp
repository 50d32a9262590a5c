// DeformConv: a 2-D convolution with learned offsets in its windows. The sampled windows are the rows of a GEMM.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/simd/gemm/tile_matmul.h"
#include "plugins/cpu/simd/window/linear_rows.h"

namespace epiphyte::cpu {
namespace {

// y = the weighted sum of four rows.
template <typename C>
void BlendFour(const C* const* rows, const C* weights, C* y, int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    simd::BlendFourRows(rows, weights, y, n);
  } else {
    for (int64_t i = 0; i < n; ++i)
      y[i] = weights[0] * rows[0][i] + weights[1] * rows[1][i] + weights[2] * rows[2][i] + weights[3] * rows[3][i];
  }
}

class DeformConvKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kAlways; }

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

  // The channels of a pixel are contiguous, so that the sampling position is computed once for all of them. The weights
  // are accordingly a matrix for each group and tap.
  template <typename T>
  void Convolve(OpContext& context, const Shape& s, const Tensor& x, const Tensor& w, const Tensor& offset,
                const Tensor* bias, const Tensor* mask, const Dims& dims) const {
    using C = Compute<T>;
    const int64_t taps = s.kh * s.kw, pixels = s.oh * s.ow, plane = s.h * s.w;
    const int64_t depth = s.c / groups_, filters = s.m / groups_, width = kit::CheckedMultiply(taps, s.c);
    T* y = context.Output(0, x.type, dims).template as<T>();
    if (dims.Count() == 0) return;
    const auto numbers = [&](std::initializer_list<int64_t> sizes) {
      const auto count = static_cast<uint64_t>(kit::CheckedCount(Dims(sizes)));
      return static_cast<C*>(context.Scratch(count * sizeof(C)));
    };
    C* const weights = numbers({taps, s.c, filters});
    StridedMove(context, Dims{groups_, taps, depth, filters}, AsNumbers<T>(context, w),
                Dims{filters * depth * taps, 1, taps, depth * taps}, weights);
    const C* const images = AsNumbers<T>(context, x);
    C* const image = numbers({plane, s.c});
    C* const nothing = numbers({s.c});
    std::fill_n(nothing, s.c, C{0});
    // Number of pixels with sampled windows that stay in the cache until the GEMM.
    constexpr int64_t kWindowBytes = 64 << 10;
    const int64_t block = std::clamp<int64_t>(kWindowBytes / std::max<int64_t>(1, width) / sizeof(C), 4, 64);
    const int64_t blocks = (pixels + block - 1) / block;
    const int64_t shares = std::min<int64_t>(blocks, int64_t{context.thread_count()} * 2);
    const int64_t room = block * (width + s.m);
    C* const rooms = numbers({shares, room});
    for (int64_t n = 0; n < s.n; ++n) {
      StridedMove(context, Dims{plane, s.c}, images + n * s.c * plane, Dims{1, plane}, image);
      const int64_t work = blocks * block * width * (filters + 4);
      Parallel(context, shares, work < (256 << 10) ? shares : 1, [&](int64_t begin, int64_t end) {
        for (int64_t share = begin; share < end; ++share) {
          C* const windows = rooms + share * room;
          C* const sums = windows + block * width;
          for (int64_t b = share * blocks / shares; b < (share + 1) * blocks / shares; ++b) {
            const int64_t first = b * block, count = std::min(block, pixels - first);
            for (int64_t p = 0; p < count; ++p)
              Sample(s, n, first + p, image, nothing, offset.as<T>(), mask == nullptr ? nullptr : mask->as<T>(),
                     windows + p * width);
            for (int64_t p = 0; p < count; ++p)
              for (int64_t m = 0; m < s.m; ++m)
                sums[p * s.m + m] = bias != nullptr ? static_cast<C>(bias->as<T>()[m]) : C{0};
            for (int64_t g = 0; g < groups_; ++g)
              for (int64_t t = 0; t < taps; ++t)
                simd::TileMatMul(simd::TileOperands<C>{windows + t * s.c + g * depth, width,
                                                       weights + (g * taps + t) * depth * filters, filters,
                                                       sums + g * filters, s.m, count, filters, depth});
            T* const to = y + n * s.m * pixels + first;
            if constexpr (std::is_same_v<T, C>) {
              strided::TransposeTile(sums, s.m, to, pixels, s.m, count);
            } else {
              for (int64_t m = 0; m < s.m; ++m)
                for (int64_t p = 0; p < count; ++p) to[m * pixels + p] = static_cast<T>(sums[p * s.m + m]);
            }
          }
        }
      });
    }
  }

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

  // Samples the taps of one result pixel in channels-last image n: [taps, channels]. `nothing` stands for pixels
  // outside the image: a zero for each channel.
  template <typename T>
  void Sample(const Shape& s, int64_t n, int64_t pixel, const Compute<T>* image, const Compute<T>* nothing,
              const T* offsets, const T* mask, Compute<T>* window) const {
    using C = Compute<T>;
    const int64_t taps = s.kh * s.kw, pixels = s.oh * s.ow, channels = s.c / offset_groups_;
    const auto top = static_cast<C>(pixel / s.ow * strides_[0] - pads_[0]);
    const auto left = static_cast<C>(pixel % s.ow * strides_[1] - pads_[1]);
    for (int64_t group = 0; group < offset_groups_; ++group) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t at = (n * offset_groups_ + group) * taps + tap;
        const C y = top + static_cast<C>(tap / s.kw * dilations_[0]) + static_cast<C>(offsets[2 * at * pixels + pixel]);
        const C x =
            left + static_cast<C>(tap % s.kw * dilations_[1]) + static_cast<C>(offsets[(2 * at + 1) * pixels + pixel]);
        C* const to = window + tap * s.c + group * channels;
        if (!(y > -1 && y < static_cast<C>(s.h) && x > -1 && x < static_cast<C>(s.w))) {
          std::fill_n(to, channels, C{0});
          continue;
        }
        const C y_floor = std::floor(y), x_floor = std::floor(x);
        const auto row = static_cast<int64_t>(y_floor), column = static_cast<int64_t>(x_floor);
        const auto corner = [&](int64_t i, int64_t j) {
          const bool inside = i >= 0 && i < s.h && j >= 0 && j < s.w;
          return (inside ? image + (i * s.w + j) * s.c : nothing) + group * channels;
        };
        const C* const rows[4] = {corner(row, column), corner(row, column + 1), corner(row + 1, column),
                                  corner(row + 1, column + 1)};
        const C factor = mask == nullptr ? C{1} : static_cast<C>(mask[at * pixels + pixel]);
        const C ly = y - y_floor, lx = x - x_floor;
        const C weights[4] = {(1 - ly) * (1 - lx) * factor, (1 - ly) * lx * factor, ly * (1 - lx) * factor,
                              ly * lx * factor};
        BlendFour(rows, weights, to, channels);
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
