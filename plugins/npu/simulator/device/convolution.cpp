#include "plugins/npu/simulator/device/convolution.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace epiphyte::npusim {
namespace {

constexpr size_t kMaxPixels = 8;    // pixels that a block multiplies at once
constexpr size_t kMaxColumns = 32;  // columns of a panel of weights

// sums[pixel][column] = sum over positions and pairs of pixels[position * block + pixel] times the panel.
struct Block {
  const int16_t* const* pixels = nullptr;  // [positions][pixels of a block]
  const int16_t* panel = nullptr;          // [positions][pairs][columns of a panel][2]
  size_t positions = 0;
  size_t pairs = 0;
  int32_t* sums = nullptr;  // [pixels of a block][columns of a panel]
};

struct Kernel {
  size_t pixels;
  size_t columns;
  void (*run)(const Block& block);
};

void RunPortable(const Block& b) {
  constexpr size_t kPixels = 4;
  constexpr size_t kColumns = 16;
  uint32_t sums[kPixels][kColumns] = {};
  const int16_t* w = b.panel;
  for (size_t position = 0; position < b.positions; ++position) {
    for (size_t pair = 0; pair < b.pairs; ++pair, w += 2 * kColumns) {
      for (size_t pixel = 0; pixel < kPixels; ++pixel) {
        const int16_t* x = b.pixels[position * kPixels + pixel] + 2 * pair;
        const int32_t even = x[0];
        const int32_t odd = x[1];
        for (size_t j = 0; j < kColumns; ++j) {
          sums[pixel][j] += static_cast<uint32_t>(even * w[2 * j] + odd * w[2 * j + 1]);
        }
      }
    }
  }
  std::memcpy(b.sums, sums, sizeof(sums));
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline __m256i PairOf(const int16_t* x) {
  int32_t pair;
  std::memcpy(&pair, x, sizeof(pair));
  return _mm256_set1_epi32(pair);
}

__attribute__((target("avx2"))) void RunAvx2(const Block& b) {
  constexpr size_t kPixels = 4;
  __m256i sums[kPixels][2];
  for (auto& row : sums) row[0] = row[1] = _mm256_setzero_si256();
  const int16_t* w = b.panel;
  for (size_t position = 0; position < b.positions; ++position) {
    const int16_t* const* x = b.pixels + position * kPixels;
    for (size_t pair = 0; pair < b.pairs; ++pair, w += 32) {
      const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
      const __m256i w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 16));
      for (size_t pixel = 0; pixel < kPixels; ++pixel) {
        const __m256i v = PairOf(x[pixel] + 2 * pair);
        sums[pixel][0] = _mm256_add_epi32(sums[pixel][0], _mm256_madd_epi16(v, w0));
        sums[pixel][1] = _mm256_add_epi32(sums[pixel][1], _mm256_madd_epi16(v, w1));
      }
    }
  }
  for (size_t pixel = 0; pixel < kPixels; ++pixel) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(b.sums + pixel * 16), sums[pixel][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(b.sums + pixel * 16 + 8), sums[pixel][1]);
  }
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) inline __m512i WidePairOf(const int16_t* x) {
  int32_t pair;
  std::memcpy(&pair, x, sizeof(pair));
  return _mm512_set1_epi32(pair);
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void RunVnni(const Block& b) {
  constexpr size_t kPixels = 8;
  __m512i sums[kPixels][2];
  for (auto& row : sums) row[0] = row[1] = _mm512_setzero_si512();
  const int16_t* w = b.panel;
  for (size_t position = 0; position < b.positions; ++position) {
    const int16_t* const* x = b.pixels + position * kPixels;
    for (size_t pair = 0; pair < b.pairs; ++pair, w += 64) {
      const __m512i w0 = _mm512_loadu_si512(w);
      const __m512i w1 = _mm512_loadu_si512(w + 32);
      for (size_t pixel = 0; pixel < kPixels; ++pixel) {
        const __m512i v = WidePairOf(x[pixel] + 2 * pair);
        sums[pixel][0] = _mm512_dpwssd_epi32(sums[pixel][0], v, w0);
        sums[pixel][1] = _mm512_dpwssd_epi32(sums[pixel][1], v, w1);
      }
    }
  }
  for (size_t pixel = 0; pixel < kPixels; ++pixel) {
    _mm512_storeu_si512(b.sums + pixel * 32, sums[pixel][0]);
    _mm512_storeu_si512(b.sums + pixel * 32 + 16, sums[pixel][1]);
  }
}

#endif

Kernel BestKernel([[maybe_unused]] Instructions most) {
#if defined(__x86_64__)
  static const bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx512 && most == Instructions::kAny) return {8, 32, RunVnni};
  if (avx2 && most != Instructions::kPortable) return {4, 16, RunAvx2};
#endif
  return {4, 16, RunPortable};
}

void Widen(Type type, const std::byte* from, size_t count, int32_t zero_point, int16_t* to) {
  if (type == Type::kInt8) {
    const auto* bytes = reinterpret_cast<const int8_t*>(from);
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(bytes[i] - zero_point);
  } else {
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(bytes[i] - zero_point);
  }
}

// Interleaves two rows of weights; the second may be null.
template <typename T>
void Interleave(const std::byte* first, const std::byte* second, const int32_t* zero_points, size_t count,
                int16_t* to) {
  const auto* a = reinterpret_cast<const T*>(first);
  const auto* b = reinterpret_cast<const T*>(second);
  for (size_t j = 0; j < count; ++j) {
    to[2 * j] = static_cast<int16_t>(a[j] - zero_points[j]);
    to[2 * j + 1] = b == nullptr ? int16_t{0} : static_cast<int16_t>(b[j] - zero_points[j]);
  }
}

// A zero point with the width of its type, whatever the blob's table contains.
int32_t TypedZeroPoint(Type type, int32_t value) {
  return type == Type::kInt8 ? static_cast<int8_t>(value) : static_cast<uint8_t>(value);
}

void ZeroPointsOf(const ConvCommand& c, const std::byte* scratchpad, size_t first, size_t count, int32_t* to) {
  std::fill_n(to, count, c.w_zero_point);
  if (c.per_channel_zero_points == 0) return;
  std::memcpy(to, scratchpad + c.w_zero_points_offset + 4 * first, 4 * count);
  for (size_t j = 0; j < count; ++j) to[j] = TypedZeroPoint(c.w_type, to[j]);
}

void Accumulate(const uint32_t* sums, size_t count, bool add, int32_t* to) {
  for (size_t j = 0; j < count; ++j) {
    to[j] = static_cast<int32_t>(add ? static_cast<uint32_t>(to[j]) + sums[j] : sums[j]);
  }
}

}  // namespace

void Convolution::WidenImage(const ConvCommand& c, const std::byte* scratchpad) {
  const size_t pixels = size_t{c.height} * c.width;
  const size_t needed = (pixels + 1) * channels_;
  if (image_.size() < needed) image_.resize(needed);
  int16_t* to = image_.data();
  for (uint32_t y = 0; y < c.height; ++y) {
    const std::byte* row = scratchpad + c.x_offset + size_t{y} * c.x_row_stride;
    if (channels_ == c.in_channels && c.x_pixel_stride == c.in_channels) {
      Widen(c.x_type, row, size_t{c.width} * channels_, c.x_zero_point, to);
      to += size_t{c.width} * channels_;
      continue;
    }
    for (uint32_t x = 0; x < c.width; ++x, to += channels_) {
      Widen(c.x_type, row + size_t{x} * c.x_pixel_stride, c.in_channels, c.x_zero_point, to);
      if (channels_ != c.in_channels) to[channels_ - 1] = 0;
    }
  }
  std::fill_n(to, channels_, int16_t{0});
}

void Convolution::PackWeights(const ConvCommand& c, const std::byte* scratchpad, size_t panel) {
  const size_t positions = size_t{c.window.height} * c.window.width;
  const size_t pairs = channels_ / 2;
  const size_t panels = (c.out_channels + panel - 1) / panel;
  const size_t needed = panels * positions * pairs * panel * 2;
  if (weights_.size() < needed) weights_.resize(needed);
  int16_t* to = weights_.data();
  for (size_t first = 0; first < c.out_channels; first += panel) {
    const size_t count = std::min<size_t>(panel, c.out_channels - first);
    std::array<int32_t, kMaxColumns> zero_points;
    ZeroPointsOf(c, scratchpad, first, count, zero_points.data());
    for (size_t position = 0; position < positions; ++position) {
      for (size_t pair = 0; pair < pairs; ++pair, to += 2 * panel) {
        const size_t row = position * c.in_channels + 2 * pair;
        const std::byte* even = scratchpad + c.w_offset + row * c.w_row_stride + first;
        const std::byte* odd = 2 * pair + 1 < c.in_channels ? even + c.w_row_stride : nullptr;
        if (c.w_type == Type::kInt8) {
          Interleave<int8_t>(even, odd, zero_points.data(), count, to);
        } else {
          Interleave<uint8_t>(even, odd, zero_points.data(), count, to);
        }
        std::fill(to + 2 * count, to + 2 * panel, int16_t{0});
      }
    }
  }
}

void Convolution::Run(const ConvCommand& c, const std::byte* scratchpad, int32_t* accumulators, Steps* steps) {
  if (c.depthwise != 0) return RunDepthwise(c, scratchpad, accumulators, steps);
  const Kernel kernel = BestKernel(most_);
  channels_ = (size_t{c.in_channels} + 1) / 2 * 2;
  WidenImage(c, scratchpad);
  PackWeights(c, scratchpad, kernel.columns);

  const Window& w = c.window;
  const size_t positions = size_t{w.height} * w.width;
  const int16_t* padding = image_.data() + size_t{c.height} * c.width * channels_;
  std::vector<const int16_t*> pixels(positions * kernel.pixels);
  alignas(64) std::array<int32_t, kMaxPixels * kMaxColumns> sums;
  const size_t total = size_t{c.out_height} * c.out_width;
  for (size_t block = 0; block < total; block += kernel.pixels) {
    const size_t count = std::min(kernel.pixels, total - block);
    for (size_t i = 0; i < kernel.pixels; ++i) {
      // A block that isn't full repeats the last pixel.
      const size_t out = std::min(block + i, total - 1);
      const int64_t top = static_cast<int64_t>(out / c.out_width) * w.stride_y - w.pad_y;
      const int64_t left = static_cast<int64_t>(out % c.out_width) * w.stride_x - w.pad_x;
      size_t position = i;
      for (uint32_t ky = 0; ky < w.height; ++ky) {
        const int64_t y = top + static_cast<int64_t>(ky) * w.dilation_y;
        for (uint32_t kx = 0; kx < w.width; ++kx, position += kernel.pixels) {
          const int64_t x = left + static_cast<int64_t>(kx) * w.dilation_x;
          const bool inside = i < count && y >= 0 && y < c.height && x >= 0 && x < c.width;
          pixels[position] = inside ? image_.data() + (y * c.width + x) * static_cast<int64_t>(channels_) : padding;
        }
      }
    }
    const int16_t* panel = weights_.data();
    for (size_t first = 0; first < c.out_channels; first += kernel.columns) {
      Count(steps, positions * channels_);
      kernel.run({pixels.data(), panel, positions, channels_ / 2, sums.data()});
      panel += positions * channels_ * kernel.columns;
      const size_t columns = std::min<size_t>(kernel.columns, c.out_channels - first);
      for (size_t i = 0; i < count; ++i) {
        const size_t out = block + i;
        int32_t* to = accumulators + c.accumulator + out / c.out_width * c.accumulator_row_stride +
                      out % c.out_width * c.accumulator_pixel_stride + first;
        Accumulate(reinterpret_cast<const uint32_t*>(sums.data() + i * kernel.columns), columns, c.accumulate != 0, to);
      }
    }
  }
}

void Convolution::RunDepthwise(const ConvCommand& c, const std::byte* scratchpad, int32_t* accumulators, Steps* steps) {
  const Window& w = c.window;
  const size_t positions = size_t{w.height} * w.width;
  const size_t channels = c.out_channels;
  channels_ = channels;
  WidenImage(c, scratchpad);
  if (weights_.size() < positions * channels) weights_.resize(positions * channels);
  std::vector<int32_t> zero_points(channels);
  ZeroPointsOf(c, scratchpad, 0, channels, zero_points.data());
  for (size_t position = 0; position < positions; ++position) {
    int16_t* to = weights_.data() + position * channels;
    Widen(c.w_type, scratchpad + c.w_offset + position * c.w_row_stride, channels, 0, to);
    for (size_t j = 0; j < channels; ++j) to[j] = static_cast<int16_t>(to[j] - zero_points[j]);
  }
  std::vector<uint32_t> sums(channels);
  for (uint32_t oy = 0; oy < c.out_height; ++oy) {
    for (uint32_t ox = 0; ox < c.out_width; ++ox) {
      std::fill(sums.begin(), sums.end(), 0u);
      for (uint32_t ky = 0; ky < w.height; ++ky) {
        const int64_t y = static_cast<int64_t>(oy) * w.stride_y - w.pad_y + static_cast<int64_t>(ky) * w.dilation_y;
        Count(steps, uint64_t{w.width} * channels);
        if (y < 0 || y >= c.height) continue;
        for (uint32_t kx = 0; kx < w.width; ++kx) {
          const int64_t x = static_cast<int64_t>(ox) * w.stride_x - w.pad_x + static_cast<int64_t>(kx) * w.dilation_x;
          if (x < 0 || x >= c.width) continue;
          const int16_t* image = image_.data() + (y * c.width + x) * static_cast<int64_t>(channels);
          const int16_t* weight = weights_.data() + (size_t{ky} * w.width + kx) * channels;
          uint32_t* sum = sums.data();
          for (size_t j = 0; j < channels; ++j) sum[j] += static_cast<uint32_t>(int32_t{image[j]} * weight[j]);
        }
      }
      Accumulate(sums.data(), channels, c.accumulate != 0,
                 accumulators + c.accumulator + size_t{oy} * c.accumulator_row_stride +
                     size_t{ox} * c.accumulator_pixel_stride);
    }
  }
}

}  // namespace epiphyte::npusim
