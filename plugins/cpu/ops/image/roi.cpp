// Pooling of regions of interest: RoiAlign, MaxRoiPool.
#include <algorithm>
#include <array>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/convert/byte_transpose.h"
#include "plugins/cpu/simd/elementwise/arithmetic.h"
#include "plugins/cpu/simd/window/linear_rows.h"

namespace epiphyte::cpu {
namespace {

int64_t PositiveInt(const ir::Node& node, std::string_view name, int64_t fallback) {
  const int64_t value = node.Int(name, fallback);
  if (value < 1 || value > INT32_MAX) FailOp("{} {} found, at least 1 expected", name, value);
  return value;
}

void CheckImages(const Tensor& x) {
  if (x.rank() != 4) FailOp("input of shape {} found, [N,C,H,W] expected", ShapeText(x.dims));
}

// Four elements of an image around a position, and their weights.
struct Sample {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
};

Sample SampleAt(double y, double x, int64_t height, int64_t width) {
  Sample sample;
  const double h = static_cast<double>(height), w = static_cast<double>(width);
  if (!(y >= -1 && y <= h && x >= -1 && x <= w)) return sample;
  y = std::clamp(y, 0.0, h - 1);
  x = std::clamp(x, 0.0, w - 1);
  const auto y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
  const int64_t y1 = std::min(y0 + 1, height - 1), x1 = std::min(x0 + 1, width - 1);
  const double ly = y - static_cast<double>(y0), lx = x - static_cast<double>(x0);
  sample.at = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  sample.weight = {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};
  return sample;
}

class RoiAlignKernel : public Kernel {
 public:
  explicit RoiAlignKernel(const KernelInit& init) {
    const ir::Node& node = init.node();
    const std::string mode = node.String("mode", "avg");
    if (mode != "avg" && mode != "max") FailOp("mode '{}' found, avg or max expected", mode);
    average_ = mode == "avg";
    height_ = PositiveInt(node, "output_height", 1);
    width_ = PositiveInt(node, "output_width", 1);
    sampling_ratio_ = node.Int("sampling_ratio", 0);
    scale_ = node.Float("spatial_scale", 1.0f);
    if (sampling_ratio_ < 0 || sampling_ratio_ > kMostSamples)
      FailOp("sampling_ratio {} found, a value in [0, {}] expected", sampling_ratio_, kMostSamples);
    const std::string coordinates =
        node.String("coordinate_transformation_mode", node.since_version < 16 ? "output_half_pixel" : "half_pixel");
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
      FailOp("coordinate_transformation_mode '{}' found, half_pixel or output_half_pixel expected", coordinates);
    half_pixel_ = coordinates == "half_pixel";
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& rois = context.Input(1);
    const Tensor& batches = context.Input(2);
    CheckImages(x);
    if (rois.rank() != 2 || rois.dims[1] != 4 || batches.Count() != rois.dims[0] || rois.type != x.type)
      FailOp("rois of type {} and shape {} and batch_indices of shape {} found, {} of shape [R,4] and [R] expected",
             TypeName(rois.type), ShapeText(rois.dims), ShapeText(batches.dims), TypeName(x.type));
    const int64_t* batch = IndicesOf(context, batches, x.dims[0], "batch_indices");
    const Dims dims{rois.dims[0], x.dims[1], height_, width_};
    if (kit::CheckedCount(dims) != 0 && x.dims[2] * x.dims[3] == 0)
      FailOp("input of shape {} found, images with elements expected", ShapeText(x.dims));
    DispatchFloats(x.type, "RoiAlign", [&]<typename T>() {
      T* y = context.Output(0, x.type, dims).template as<T>();
      double samples = 0;
      for (int64_t r = 0; r < dims[0]; ++r) samples += CheckedSamples(rois.as<T>() + r * 4);
      if constexpr (std::is_same_v<Compute<T>, float>) {
        const double elements = static_cast<double>(x.dims[0] * x.dims[2] * x.dims[3]);
        if (average_ && x.dims[1] >= kLeastChannels && samples * kPerElement >= elements)
          return AlignByChannels(context, x, batch, rois.as<T>(), dims, y);
      }
      Parallel(context, dims[0], 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          Align(x, x.as<T>() + batch[r] * x.dims.Count(1, 4), rois.as<T>() + r * 4, y + r * dims.Count(1, 4));
      });
    });
  }

 private:
  static constexpr int64_t kMostSamples = 1024;
  static constexpr int64_t kLeastChannels = 8;
  static constexpr double kPerElement = 2;  // samples per element for which transposing the image pays

  struct Region {
    double y, x, bin_height, bin_width;
    int64_t samples_y, samples_x;
  };

  template <typename T>
  Region RegionOf(const T* roi) const {
    const double offset = half_pixel_ ? 0.5 : 0;
    std::array<double, 4> edge;
    for (size_t i = 0; i < 4; ++i) edge[i] = static_cast<double>(static_cast<Compute<T>>(roi[i])) * scale_ - offset;
    double width = edge[2] - edge[0], height = edge[3] - edge[1];
    if (!half_pixel_) {
      width = std::max(width, 1.0);
      height = std::max(height, 1.0);
    }
    Region region;
    region.y = edge[1];
    region.x = edge[0];
    region.bin_height = height / static_cast<double>(height_);
    region.bin_width = width / static_cast<double>(width_);
    const auto samples = [&](double bin) {
      if (sampling_ratio_ > 0) return sampling_ratio_;
      return bin <= static_cast<double>(kMostSamples) ? static_cast<int64_t>(std::max(0.0, std::ceil(bin)))
                                                      : int64_t{-1};
    };
    region.samples_y = samples(region.bin_height);
    region.samples_x = samples(region.bin_width);
    return region;
  }

  template <typename T>
  double CheckedSamples(const T* roi) const {
    const Region region = RegionOf(roi);
    if (region.samples_y < 0 || region.samples_x < 0)
      FailOp("a region with bins of {} x {} found, at most {} x {} expected", region.bin_height, region.bin_width,
             kMostSamples, kMostSamples);
    return static_cast<double>(height_ * width_) * static_cast<double>(region.samples_y * region.samples_x);
  }

  // Replaces *samples by the samples of a bin.
  void FindSamples(const Region& region, int64_t py, int64_t px, int64_t h, int64_t w,
                   std::vector<Sample>* samples) const {
    samples->clear();
    for (int64_t iy = 0; iy < region.samples_y; ++iy)
      for (int64_t ix = 0; ix < region.samples_x; ++ix)
        samples->push_back(SampleAt(Place(region.y, region.bin_height, py, iy, region.samples_y),
                                    Place(region.x, region.bin_width, px, ix, region.samples_x), h, w));
  }

  // Means of floats for all channels at once, with channels last. It pays when each image element is read several
  // times.
  template <typename T>
  void AlignByChannels(OpContext& context, const Tensor& images, const int64_t* batch, const T* rois, const Dims& dims,
                       T* y) const {
    const int64_t channels = images.dims[1], h = images.dims[2], w = images.dims[3], all = images.Count();
    const auto floats = [&](int64_t count) {
      return static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    };
    const float* planes = std::is_same_v<T, float> ? images.as<float>() : nullptr;
    if (planes == nullptr) {
      float* const made = floats(all);
      ParallelLoop(context, images.dims[0] * channels, h * w, [&](int64_t begin, int64_t end) {
        LoadFloats(images, begin * h * w, (end - begin) * h * w, made + begin * h * w);
      });
      planes = made;
    }
    float* const last = floats(all);
    const Dims matrices{images.dims[0], h * w, channels};
    StridedMove(context, matrices, planes, Dims{channels * h * w, 1, h * w}, last);
    const int64_t bins = height_ * width_;
    Parallel(context, dims[0], 1, [&](int64_t begin, int64_t end) {
      std::vector<float> means(static_cast<size_t>(bins * channels)), planes_of_means;
      if constexpr (!std::is_same_v<T, float>) planes_of_means.resize(means.size());
      std::vector<Sample> samples;
      std::vector<const float*> rows;
      std::vector<float> weights;
      for (int64_t r = begin; r < end; ++r) {
        const float* const image = last + batch[r] * channels * h * w;
        const Region region = RegionOf(rois + r * 4);
        const double count = static_cast<double>(std::max<int64_t>(region.samples_y * region.samples_x, 1));
        for (int64_t bin = 0; bin < bins; ++bin) {
          FindSamples(region, bin / width_, bin % width_, h, w, &samples);
          rows.clear();
          weights.clear();
          for (const Sample& sample : samples) {
            for (size_t i = 0; i < 4; ++i) {
              rows.push_back(image + sample.at[i] * channels);
              weights.push_back(static_cast<float>(sample.weight[i] / count));
            }
          }
          simd::BlendManyRows(rows.data(), weights.data(), static_cast<int64_t>(rows.size()),
                              means.data() + bin * channels, channels);
        }
        float* const planes_of_region =
            std::is_same_v<T, float> ? reinterpret_cast<float*>(y) + r * bins * channels : planes_of_means.data();
        simd::TransposeBytes(reinterpret_cast<const uint32_t*>(means.data()), channels, bins, channels,
                             reinterpret_cast<uint32_t*>(planes_of_region), bins);
        if constexpr (!std::is_same_v<T, float>)
          SmallFloats<T>().store(planes_of_region, y + r * bins * channels, bins * channels);
      }
    });
  }

  template <typename T>
  void Align(const Tensor& images, const T* image, const T* roi, T* out) const {
    const int64_t channels = images.dims[1], h = images.dims[2], w = images.dims[3];
    const Region region = RegionOf(roi);
    const double count = static_cast<double>(std::max<int64_t>(region.samples_y * region.samples_x, 1));
    std::vector<Sample> samples;
    for (int64_t py = 0; py < height_; ++py)
      for (int64_t px = 0; px < width_; ++px) {
        FindSamples(region, py, px, h, w, &samples);
        for (int64_t c = 0; c < channels; ++c)
          out[(c * height_ + py) * width_ + px] = static_cast<T>(static_cast<Compute<T>>(
              average_ ? Sum(image + c * h * w, samples) / count : Maximum(image + c * h * w, samples)));
      }
  }

  static double Place(double start, double bin, int64_t which, int64_t sample, int64_t samples) {
    return start + static_cast<double>(which) * bin +
           (static_cast<double>(sample) + 0.5) * bin / static_cast<double>(samples);
  }

  template <typename T>
  static double Term(const T* image, const Sample& sample, size_t i) {
    return sample.weight[i] * static_cast<double>(static_cast<Compute<T>>(image[sample.at[i]]));
  }
  template <typename T>
  static double Sum(const T* image, const std::vector<Sample>& samples) {
    double sum = 0;
    for (const Sample& sample : samples)
      for (size_t i = 0; i < 4; ++i) sum += Term(image, sample, i);
    return sum;
  }
  // Returns the largest weighted element rather than the largest interpolated value, as ONNX's reference does.
  template <typename T>
  static double Maximum(const T* image, const std::vector<Sample>& samples) {
    if (samples.empty()) return 0;
    double maximum = -std::numeric_limits<double>::infinity();
    for (const Sample& sample : samples)
      for (size_t i = 0; i < 4; ++i) maximum = Max()(maximum, Term(image, sample, i));
    return maximum;
  }

  bool average_;
  bool half_pixel_;
  int64_t height_;
  int64_t width_;
  int64_t sampling_ratio_;
  float scale_;
};

class MaxRoiPoolKernel : public Kernel {
 public:
  explicit MaxRoiPoolKernel(const KernelInit& init) : scale_(init.node().Float("spatial_scale", 1.0f)) {
    const std::vector<int64_t> shape = init.node().Ints("pooled_shape");
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[0] > INT32_MAX || shape[1] > INT32_MAX)
      FailOp("pooled_shape {} found, two numbers of at least 1 expected", ShapeText(shape));
    height_ = shape[0];
    width_ = shape[1];
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& rois = context.Input(1);
    CheckImages(x);
    if (rois.rank() != 2 || rois.dims[1] != 5 || rois.type != x.type)
      FailOp("rois of type {} and shape {} found, {} of shape [R,5] expected", TypeName(rois.type),
             ShapeText(rois.dims), TypeName(x.type));
    const Dims dims{rois.dims[0], x.dims[1], height_, width_};
    kit::CheckedCount(dims);
    DispatchFloats(x.type, "MaxRoiPool", [&]<typename T>() {
      T* y = context.Output(0, x.type, dims).template as<T>();
      for (int64_t r = 0; r < dims[0]; ++r) {
        const double batch = static_cast<double>(static_cast<Compute<T>>(rois.as<T>()[r * 5]));
        if (!(batch >= 0 && batch < static_cast<double>(x.dims[0])))
          FailOp("batch index {} found, a value in [0, {}] expected", batch, x.dims[0] - 1);
      }
      Parallel(context, dims[0] * dims[1], 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* roi = rois.as<T>() + i / dims[1] * 5;
          const auto batch = static_cast<int64_t>(static_cast<Compute<T>>(roi[0]));
          const int64_t plane = batch * dims[1] + i % dims[1];
          Pool(x, x.as<T>() + plane * x.dims[2] * x.dims[3], roi, y + i * height_ * width_);
        }
      });
    });
  }

 private:
  template <typename T>
  void Pool(const Tensor& images, const T* image, const T* roi, T* out) const {
    const int64_t h = images.dims[2], w = images.dims[3];
    std::array<double, 4> edge;  // x1, y1, x2, y2
    for (size_t i = 0; i < 4; ++i) {
      edge[i] = std::round(static_cast<double>(static_cast<Compute<T>>(roi[i + 1]) * scale_));
      if (!(std::abs(edge[i]) < 1e15)) edge[i] = 0;
    }
    const double bin_h = std::max(edge[3] - edge[1] + 1, 1.0) / static_cast<double>(height_);
    const double bin_w = std::max(edge[2] - edge[0] + 1, 1.0) / static_cast<double>(width_);
    const auto clamp = [](double at, int64_t size) {
      return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(size)));
    };
    for (int64_t py = 0; py < height_; ++py) {
      const int64_t y0 = clamp(std::floor(static_cast<double>(py) * bin_h) + edge[1], h);
      const int64_t y1 = clamp(std::ceil(static_cast<double>(py + 1) * bin_h) + edge[1], h);
      for (int64_t px = 0; px < width_; ++px) {
        const int64_t x0 = clamp(std::floor(static_cast<double>(px) * bin_w) + edge[0], w);
        const int64_t x1 = clamp(std::ceil(static_cast<double>(px + 1) * bin_w) + edge[0], w);
        using C = Compute<T>;
        const bool empty = y1 <= y0 || x1 <= x0;
        C best = empty ? C{0} : -std::numeric_limits<C>::infinity();
        for (int64_t y = y0; y < y1; ++y)
          for (int64_t x = x0; x < x1; ++x) best = Max()(best, static_cast<C>(image[y * w + x]));
        out[py * width_ + px] = static_cast<T>(best);
      }
    }
  }

  float scale_;
  int64_t height_;
  int64_t width_;
};

}  // namespace

void Register_roi(KernelRegistry& registry) {
  registry.Add<RoiAlignKernel>("RoiAlign", 1, kFloats);
  registry.Add<MaxRoiPoolKernel>("MaxRoiPool", 1, kFloats);
}

}  // namespace epiphyte::cpu
