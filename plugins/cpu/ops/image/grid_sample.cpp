// GridSample: samples an image with any number of dimensions at the positions in a second tensor.
#include <algorithm>
#include <array>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

enum class Sampling { kLinear, kNearest, kCubic };
enum class Border { kZeros, kBorder, kReflection };

// Reflects x into [low, high], as often as needed.
double Reflect(double x, double low, double high) {
  const double range = high - low;
  if (!(range > 0)) return low;
  const double distance = x < low ? low - x : x > high ? x - high : 0;
  if (distance == 0) return x;
  const double turns = std::floor(distance / range);
  const double rest = distance - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

// Indices and weights of the elements that one coordinate reads. Index -1: outside, counts as zero.
struct AxisTaps {
  int count = 0;
  std::array<int64_t, 4> index;
  std::array<double, 4> weight;
};

class GridSampleKernel : public Kernel {
 public:
  explicit GridSampleKernel(const KernelInit& init) : align_corners_(init.node().Int("align_corners", 0) != 0) {
    const std::string mode = init.node().String("mode", "linear");
    if (mode == "linear" || mode == "bilinear") {
      sampling_ = Sampling::kLinear;
    } else if (mode == "nearest") {
      sampling_ = Sampling::kNearest;
    } else if (mode == "cubic" || mode == "bicubic") {
      sampling_ = Sampling::kCubic;
    } else {
      FailOp("mode '{}' found, linear, nearest or cubic expected", mode);
    }
    const std::string padding = init.node().String("padding_mode", "zeros");
    if (padding == "zeros") {
      border_ = Border::kZeros;
    } else if (padding == "border") {
      border_ = Border::kBorder;
    } else if (padding == "reflection") {
      border_ = Border::kReflection;
    } else {
      FailOp("padding_mode '{}' found, zeros, border or reflection expected", padding);
    }
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& grid = context.Input(1);
    const size_t spatial = x.rank() >= 2 ? x.rank() - 2 : 0;
    if (spatial < 1 || spatial > kMostAxes || grid.rank() != x.rank() || grid.dims[0] != x.dims[0] ||
        grid.dims.back() != static_cast<int64_t>(spatial))
      FailOp("input of shape {} and grid of shape {} found, [N,C,D1..Dk] and [N,E1..Ek,k] with k from 1 to {} expected",
             ShapeText(x.dims), ShapeText(grid.dims), kMostAxes);
    Dims dims{x.dims[0], x.dims[1]};
    for (size_t i = 0; i < spatial; ++i) dims.push_back(grid.dims[i + 1]);
    const int64_t count = kit::CheckedCount(dims);
    if (count != 0 && x.dims.Count(2, x.rank()) == 0)
      FailOp("input of shape {} found, an input with elements expected", ShapeText(x.dims));

    auto* positions = static_cast<double*>(context.Scratch(static_cast<uint64_t>(grid.Count() + 1) * sizeof(double)));
    DispatchFloats(grid.type, "GridSample's grid", [&]<typename T>() {
      using C = Compute<T>;  // the precision decides which positions are half-way between elements
      for (int64_t i = 0; i < grid.Count(); ++i) {
        const C length = static_cast<C>(x.dims[x.rank() - 1 - static_cast<size_t>(i) % spatial]);
        const C at = static_cast<C>(grid.as<T>()[i]) + 1;
        positions[i] = static_cast<double>(align_corners_ ? at / 2 * (length - 1) : (at * length - 1) / 2);
      }
    });
    if (sampling_ == Sampling::kNearest) {
      WithUnit(x.type, [&](auto unit) {
        using T = typename decltype(unit)::type;
        MoveSource<T> source(context, x);
        MoveTarget<T> target(context, 0, x.type, dims);
        const T* from = source.data();
        T* to = target.data();
        Sample(context, x.dims, dims, positions, [&](int64_t channel, int64_t place, const AxisTaps* taps) {
          int64_t at = 0;
          bool inside = true;
          for (size_t i = 0; i < spatial; ++i) {
            inside &= taps[i].index[0] >= 0;
            at = at * x.dims[i + 2] + taps[i].index[0];
          }
          to[place] = inside ? from[channel + at] : T{};
        });
      });
      return;
    }
    if (spatial == 2 && sampling_ == Sampling::kLinear && x.type == EP_TYPE_FLOAT &&
        x.dims[2] * x.dims[3] <= INT32_MAX) {
      SampleImages(context, x, context.Output(0, x.type, dims), positions);
      return;
    }
    DispatchNumbers(x.type, "GridSample", [&]<typename T>() {
      const T* from = x.as<T>();
      T* to = context.Output(0, x.type, dims).template as<T>();
      Sample(context, x.dims, dims, positions, [&](int64_t channel, int64_t place, const AxisTaps* taps) {
        to[place] = FromDouble<T>(Sum(from + channel, taps, x.dims.begin() + 2, spatial, 0));
      });
    });
  }

 private:
  static constexpr size_t kMostAxes = 6;

  template <typename T>
  static T FromDouble(double value) {
    if constexpr (std::is_integral_v<T>) {
      return SaturateTo<T>(value);
    } else {
      return static_cast<T>(static_cast<Compute<T>>(value));
    }
  }

  template <typename T>
  static double Sum(const T* from, const AxisTaps* taps, const int64_t* dims, size_t axes, int64_t at) {
    double sum = 0;
    for (int t = 0; t < taps->count; ++t) {
      if (taps->index[static_cast<size_t>(t)] < 0) continue;
      const int64_t inner = at * dims[0] + taps->index[static_cast<size_t>(t)];
      const double value = axes == 1 ? static_cast<double>(static_cast<Compute<T>>(from[inner]))
                                     : Sum(from, taps + 1, dims + 1, axes - 1, inner);
      sum += taps->weight[static_cast<size_t>(t)] * value;
    }
    return sum;
  }

  // Calls body(offset of the channel in x, offset in y, taps of each axis) for every element of the output.
  template <typename Body>
  void Sample(OpContext& context, const Dims& x, const Dims& y, const double* positions, const Body& body) const {
    const size_t spatial = x.size() - 2;
    const int64_t pixels = x.Count(2, x.size()), points = y.Count(2, y.size()), channels = x[1];
    Parallel(context, x[0] * points, 256, [&](int64_t begin, int64_t end) {
      std::array<AxisTaps, kMostAxes> taps;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / points, point = i % points;
        // The grid has the innermost axis first.
        for (size_t k = 0; k < spatial; ++k)
          taps[k] = TapsOf(positions[static_cast<size_t>(i) * spatial + (spatial - 1 - k)], x[k + 2]);
        for (int64_t c = 0; c < channels; ++c)
          body((n * channels + c) * pixels, (n * channels + c) * points + point, taps.data());
      }
    });
  }

  // Four elements of an image and their weights; elements outside have none.
  struct Corners {
    std::array<int32_t, 4> offset;
    std::array<float, 4> weight;
    bool inside;  // all four are inside
  };

  // Linear sampling of float images: a point's corners are computed once for all channels.
  void SampleImages(OpContext& context, const Tensor& x, Tensor& y, const double* positions) const {
    constexpr int64_t kBlock = 256;
    const int64_t height = x.dims[2], width = x.dims[3], channels = x.dims[1];
    const int64_t pixels = height * width, points = y.dims.Count(2, y.rank());
    const int64_t blocks = (points + kBlock - 1) / kBlock;
    Parallel(context, x.dims[0] * blocks, 1, [&](int64_t begin, int64_t end) {
      std::array<Corners, kBlock> corners;
      for (int64_t block = begin; block < end; ++block) {
        const int64_t n = block / blocks, first = block % blocks * kBlock, count = std::min(kBlock, points - first);
        for (int64_t i = 0; i < count; ++i)
          corners[static_cast<size_t>(i)] = CornersOf(positions + 2 * (n * points + first + i), width, height);
        for (int64_t c = 0; c < channels; ++c) {
          const float* from = x.as<float>() + (n * channels + c) * pixels;
          float* to = y.as<float>() + (n * channels + c) * points + first;
          for (int64_t i = 0; i < count; ++i) {
            const Corners& at = corners[static_cast<size_t>(i)];
            if (at.inside) {
              to[i] = at.weight[0] * from[at.offset[0]] + at.weight[1] * from[at.offset[1]] +
                      (at.weight[2] * from[at.offset[2]] + at.weight[3] * from[at.offset[3]]);
            } else {
              float sum = 0;
              for (size_t k = 0; k < 4; ++k)
                if (at.offset[k] >= 0) sum += at.weight[k] * from[at.offset[k]];
              to[i] = sum;
            }
          }
        }
      }
    });
  }

  // `position`: column, then row.
  Corners CornersOf(const double* position, int64_t width, int64_t height) const {
    const AxisTaps columns = TapsOf(position[0], width), rows = TapsOf(position[1], height);
    Corners corners;
    corners.inside = true;
    for (size_t k = 0; k < 4; ++k) {
      const int64_t row = rows.index[k / 2], column = columns.index[k % 2];
      const bool inside = row >= 0 && column >= 0;
      corners.offset[k] = inside ? static_cast<int32_t>(row * width + column) : -1;
      corners.weight[k] = static_cast<float>(rows.weight[k / 2] * columns.weight[k % 2]);
      corners.inside = corners.inside && inside;
    }
    return corners;
  }

  AxisTaps TapsOf(double position, int64_t size) const {
    const double length = static_cast<double>(size);
    const double low = align_corners_ ? 0 : -0.5, high = align_corners_ ? length - 1 : length - 0.5;
    // Replaces NaN and far positions, which can't be indices, by positions outside of every image.
    double x = position;
    if (!(std::abs(x) < 0x1p52)) x = std::isnan(x) ? -0x1p30 : std::copysign(0x1p52, x);
    if (sampling_ == Sampling::kNearest) x = std::nearbyint(x);
    // A cubic window reaches over the border, so only its elements are moved inside.
    if ((x < low || x > high) && sampling_ != Sampling::kCubic) {
      if (border_ == Border::kBorder) x = std::clamp(x, 0.0, length - 1);
      if (border_ == Border::kReflection) x = Reflect(x, low, high);
    }
    if (sampling_ == Sampling::kNearest) x = std::trunc(x);
    AxisTaps taps;
    const double floor = std::floor(x);
    const double ratio = x - floor;
    switch (sampling_) {
      case Sampling::kNearest:
        taps.count = 1;
        taps.index[0] = Place(floor, size, low, high);
        taps.weight[0] = 1;
        break;
      case Sampling::kLinear:
        taps.count = 2;
        for (size_t t = 0; t < 2; ++t) taps.index[t] = Place(floor + static_cast<double>(t), size, low, high);
        taps.weight[0] = 1 - ratio;
        taps.weight[1] = ratio;
        break;
      case Sampling::kCubic:
        taps.count = 4;
        for (size_t t = 0; t < 4; ++t) {
          taps.index[t] = Place(floor + static_cast<double>(t) - 1, size, low, high);
          taps.weight[t] = Cubic(std::abs(static_cast<double>(t) - 1 - ratio));
        }
        break;
    }
    return taps;
  }

  int64_t Place(double index, int64_t size, double low, double high) const {
    const double last = static_cast<double>(size - 1);
    if (index >= 0 && index <= last) return static_cast<int64_t>(index);
    if (border_ == Border::kZeros) return -1;
    if (border_ == Border::kReflection) index = std::trunc(Reflect(index, low, high));
    return static_cast<int64_t>(std::clamp(index, 0.0, last));
  }

  static double Cubic(double x) {
    constexpr double kA = -0.75;
    if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
    return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  }

  bool align_corners_;
  Sampling sampling_;
  Border border_;
};

// The grid of an affine transform: theta [N, k, k+1] applied to the points of an image of `size` [N, C, D1..Dk].
class AffineGridKernel : public Kernel {
 public:
  explicit AffineGridKernel(const KernelInit& init) : align_corners_(init.node().Int("align_corners", 0) != 0) {}
  void Run(OpContext& context) const override {
    const Tensor& theta = context.Input(0);
    const Dims size = IntegersOf(context.Input(1), "size");
    kit::CheckedCount(size);
    const size_t k = size.size() >= 2 ? size.size() - 2 : 0;
    const Dims expected{size.empty() ? 0 : size[0], static_cast<int64_t>(k), static_cast<int64_t>(k) + 1};
    if ((k != 2 && k != 3) || !(theta.dims == expected))
      FailOp("theta of shape {} and size {} found, [N,2,3] and [N,C,H,W] or [N,3,4] and [N,C,D,H,W] expected",
             ShapeText(theta.dims), ShapeText(size));
    Dims dims{size[0]};
    for (size_t i = 0; i < k; ++i) dims.push_back(size[i + 2]);
    dims.push_back(static_cast<int64_t>(k));
    kit::CheckedCount(dims);
    const int64_t width = size.back(), rows = size.Count(2, size.size() - 1);
    Tensor& y = context.Output(0, theta.type, dims);
    if (y.Count() == 0) return;  // even for large rows
    std::vector<double> across(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; ++i) across[static_cast<size_t>(i)] = Coordinate(i, width);
    DispatchFloats(theta.type, "AffineGrid", [&]<typename T>() {
      const T* from = theta.as<T>();
      T* to = y.as<T>();
      const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, width));
      Parallel(context, size[0] * rows, grain, [&](int64_t begin, int64_t end) {
        std::vector<Compute<T>> line(k * across.size());
        for (int64_t r = begin; r < end; ++r) {
          std::array<double, 4> point{};  // the x coordinate is added later; y(, z), 1
          int64_t rest = r % rows;
          for (size_t a = 1; a < k; ++a) {
            const int64_t length = size[size.size() - 1 - a];
            point[a] = Coordinate(rest % length, length);
            rest /= length;
          }
          point[k] = 1;
          const T* matrix = from + r / rows * static_cast<int64_t>(k * (k + 1));
          T* const out = to + r * width * static_cast<int64_t>(k);
          k == 2 ? AlongRow<2>(matrix, point, across, line.data(), out)
                 : AlongRow<3>(matrix, point, across, line.data(), out);
        }
      });
    });
  }

 private:
  // Computes the points of a row, which differ only in the first coordinate.
  template <size_t kAxes, typename T>
  static void AlongRow(const T* matrix, const std::array<double, 4>& point, const std::vector<double>& across,
                       Compute<T>* line, T* out) {
    for (size_t row = 0; row < kAxes; ++row) {
      double factor[kAxes + 1];
      for (size_t c = 0; c <= kAxes; ++c)
        factor[c] =
            static_cast<double>(static_cast<Compute<T>>(matrix[row * (kAxes + 1) + c])) * (c == 0 ? 1 : point[c]);
      for (size_t i = 0; i < across.size(); ++i) {
        double sum = factor[0] * across[i];
        for (size_t c = 1; c <= kAxes; ++c) sum += factor[c];
        line[row * across.size() + i] = static_cast<Compute<T>>(sum);
      }
    }
    for (size_t i = 0; i < across.size(); ++i)
      for (size_t row = 0; row < kAxes; ++row) out[i * kAxes + row] = static_cast<T>(line[row * across.size() + i]);
  }

  double Coordinate(int64_t index, int64_t length) const {
    const double i = static_cast<double>(index), n = static_cast<double>(length);
    if (!align_corners_) return (2 * i + 1) / n - 1;
    return length == 1 ? 0 : 2 * i / (n - 1) - 1;
  }

  bool align_corners_;
};

}  // namespace

void Register_grid_sample(KernelRegistry& registry) {
  registry.Add<GridSampleKernel>("GridSample");
  registry.Add<AffineGridKernel>("AffineGrid", 1, kFloats);
}

}  // namespace epiphyte::cpu
