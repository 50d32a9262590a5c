#include "plugins/npu/simulator/device/vector_unit.h"

#include <array>
#include <vector>

#include "plugins/npu/simulator/device/elements.h"
#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

// value / divisor to the nearest integer, halves upwards. divisor > 0.
int64_t DivideRound(__int128 value, __int128 divisor) {
  const __int128 twice = 2 * value + divisor;
  const __int128 by = 2 * divisor;
  __int128 quotient = twice / by;
  if (twice % by < 0) --quotient;
  return static_cast<int64_t>(quotient);
}

struct Range {
  int64_t begin, end;  // kernel positions within the tile
};

Range Within(int64_t first, uint32_t kernel, uint32_t dilation, uint32_t size) {
  const int64_t begin = first >= 0 ? 0 : (-first + dilation - 1) / dilation;
  const int64_t end = first >= size ? 0 : (size - first + dilation - 1) / dilation;
  return {begin, std::min<int64_t>(kernel, end)};
}

void ElementwisePiece(const ElementwiseCommand& c, const int32_t* a, const int32_t* b, size_t count, int32_t* y) {
  const auto each = [&](auto value) {
    for (size_t i = 0; i < count; ++i) {
      const int64_t av = int64_t{a[i]} - c.a_zero_point;
      const int64_t bv = int64_t{b[i]} - c.b_zero_point;
      y[i] = ClampTo(c.y_zero_point + RoundShift(value(av, bv), c.shift), c.low, c.high);
    }
  };
  const int64_t ma = c.a_multiplier;
  const int64_t mb = c.b_multiplier;
  switch (c.kind) {
    case Elementwise::kAdd: return each([&](int64_t av, int64_t bv) { return av * ma + bv * mb; });
    case Elementwise::kMul: return each([&](int64_t av, int64_t bv) { return av * bv * ma; });
    case Elementwise::kMaximum: return each([&](int64_t av, int64_t bv) { return std::max(av * ma, bv * mb); });
    case Elementwise::kMinimum: return each([&](int64_t av, int64_t bv) { return std::min(av * ma, bv * mb); });
    case Elementwise::kRescale: return each([&](int64_t av, int64_t) { return av * ma; });
  }
}

}  // namespace

void RunFill(const FillCommand& c, std::byte* scratchpad) {
  const int64_t size = c.element_size;
  for (uint32_t i = 0; i < c.count[0]; ++i) {
    for (uint32_t j = 0; j < c.count[1]; ++j) {
      for (uint32_t k = 0; k < c.count[2]; ++k) {
        std::byte* to =
            scratchpad + c.offset + int64_t{i} * c.stride[0] + int64_t{j} * c.stride[1] + int64_t{k} * c.stride[2];
        if (size == 1 && c.stride[3] == 1) {
          std::memset(to, static_cast<int>(c.value & 0xff), c.count[3]);
          continue;
        }
        for (uint32_t l = 0; l < c.count[3]; ++l) std::memcpy(to + int64_t{l} * c.stride[3], &c.value, size);
      }
    }
  }
}

void RunPost(const PostCommand& c, const int32_t* accumulators, std::byte* scratchpad, Steps* steps) {
  std::vector<ChannelFactor> factors(c.channels);
  std::memcpy(factors.data(), scratchpad + c.table_offset, sizeof(ChannelFactor) * c.channels);
  for (ChannelFactor& f : factors) f.shift = std::clamp(f.shift, 1, kMaxShift);
  const std::byte* table = scratchpad + c.lookup_offset;
  std::vector<int32_t> y(c.channels);
  for (uint32_t row = 0; row < c.height; ++row) {
    for (uint32_t pixel = 0; pixel < c.width; ++pixel) {
      Count(steps, c.channels);
      const int32_t* from = accumulators + c.accumulator + size_t{row} * c.accumulator_row_stride +
                            size_t{pixel} * c.accumulator_pixel_stride;
      for (uint32_t o = 0; o < c.channels; ++o) {
        const auto sum = static_cast<int32_t>(static_cast<uint32_t>(from[o]) + static_cast<uint32_t>(factors[o].bias));
        y[o] = ClampTo(c.y_zero_point + Rescale(sum, {factors[o].multiplier, factors[o].shift}), c.low, c.high);
      }
      if (c.lookup != 0) {
        for (int32_t& v : y) v = static_cast<int32_t>(table[static_cast<uint8_t>(v)]);
      }
      WriteElements(c.y_type, y.data(), c.channels,
                    scratchpad + c.y_offset + size_t{row} * c.y_row_stride + size_t{pixel} * c.y_pixel_stride,
                    TypeSize(c.y_type));
    }
  }
}

void RunElementwise(const ElementwiseCommand& c, std::byte* scratchpad, Steps* steps) {
  const bool has_b = c.kind != Elementwise::kRescale;
  std::array<int32_t, kPiece> a;
  std::array<int32_t, kPiece> b{};
  std::array<int32_t, kPiece> y;
  std::array<uint32_t, 4> at{};
  for (;;) {
    int64_t from_a = c.a_offset;
    int64_t from_b = c.b_offset;
    int64_t to = c.y_offset;
    for (size_t i = 0; i < 4; ++i) {
      from_a += int64_t{at[i]} * c.a_stride[i];
      from_b += int64_t{at[i]} * c.b_stride[i];
      to += int64_t{at[i]} * c.y_stride[i];
    }
    for (uint32_t first = 0; first < c.count[4]; first += kPiece) {
      const size_t count = std::min<size_t>(kPiece, c.count[4] - first);
      Count(steps, count);
      ReadElements(c.a_type, scratchpad + from_a + int64_t{first} * c.a_stride[4], c.a_stride[4], count, a.data());
      if (has_b) {
        ReadElements(c.b_type, scratchpad + from_b + int64_t{first} * c.b_stride[4], c.b_stride[4], count, b.data());
      }
      ElementwisePiece(c, a.data(), b.data(), count, y.data());
      WriteElements(c.y_type, y.data(), count, scratchpad + to + int64_t{first} * c.y_stride[4], c.y_stride[4]);
    }
    int i = 3;
    while (i >= 0 && ++at[i] == c.count[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

void RunPool(const PoolCommand& c, std::byte* scratchpad, Steps* steps) {
  const Window& w = c.window;
  const int64_t size = TypeSize(c.x_type);
  std::array<int32_t, kPiece> x;
  std::array<int64_t, kPiece> value;
  std::array<int32_t, kPiece> y;
  for (uint32_t oy = 0; oy < c.out_height; ++oy) {
    const int64_t top = static_cast<int64_t>(oy) * w.stride_y - w.pad_y;
    const Range rows = Within(top, w.height, w.dilation_y, c.height);
    for (uint32_t ox = 0; ox < c.out_width; ++ox) {
      const int64_t left = static_cast<int64_t>(ox) * w.stride_x - w.pad_x;
      const Range columns = Within(left, w.width, w.dilation_x, c.width);
      const int64_t inside =
          std::max<int64_t>(rows.end - rows.begin, 0) * std::max<int64_t>(columns.end - columns.begin, 0);
      const __int128 divisor = c.divisor != 0 ? c.divisor : std::max<int64_t>(inside, 1);
      for (uint32_t first = 0; first < c.channels; first += kPiece) {
        const size_t count = std::min<size_t>(kPiece, c.channels - first);
        bool begun = false;
        std::fill_n(value.data(), count, int64_t{0});
        for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
          Count(steps, static_cast<uint64_t>(std::max<int64_t>(columns.end - columns.begin, 1)) * count);
          for (int64_t kx = columns.begin; kx < columns.end; ++kx) {
            const int64_t row = top + ky * w.dilation_y;
            const int64_t column = left + kx * w.dilation_x;
            ReadElements(c.x_type,
                         scratchpad + c.x_offset + row * c.x_row_stride + column * c.x_pixel_stride + first * size,
                         size, count, x.data());
            if (c.average != 0) {
              for (size_t j = 0; j < count; ++j) value[j] += x[j] - c.x_zero_point;
            } else {
              for (size_t j = 0; j < count; ++j) {
                const int64_t v = int64_t{x[j]} - c.x_zero_point;
                value[j] = begun ? std::max(value[j], v) : v;
              }
            }
            begun = true;
          }
        }
        for (size_t j = 0; j < count; ++j) {
          const int64_t scaled = c.average != 0 ? DivideRound(static_cast<__int128>(value[j]) * c.multiplier,
                                                              divisor * (__int128{1} << c.shift))
                                                : Rescale(value[j], {c.multiplier, c.shift});
          y[j] = ClampTo(c.y_zero_point + scaled, c.low, c.high);
        }
        WriteElements(c.y_type, y.data(), count,
                      scratchpad + c.y_offset + size_t{oy} * c.y_row_stride + size_t{ox} * c.y_pixel_stride +
                          size_t{first} * TypeSize(c.y_type),
                      TypeSize(c.y_type));
      }
    }
  }
}

void RunLookup(const LookupCommand& c, std::byte* scratchpad, Steps* steps) {
  const size_t size = c.y_element_size;
  std::array<std::byte, 256 * 4> table;  // a copy, because y may overlap x or the table
  std::memcpy(table.data(), scratchpad + c.table_offset, 256 * size);
  std::vector<std::byte> x(c.columns);
  for (uint32_t row = 0; row < c.rows; ++row) {
    Count(steps, c.columns);
    std::memcpy(x.data(), scratchpad + c.x_offset + size_t{row} * c.x_row_stride, c.columns);
    std::byte* y = scratchpad + c.y_offset + size_t{row} * c.y_row_stride;
    if (size == 1) {
      for (uint32_t j = 0; j < c.columns; ++j) y[j] = table[static_cast<uint8_t>(x[j])];
    } else {
      for (uint32_t j = 0; j < c.columns; ++j) {
        std::memcpy(y + j * size, table.data() + static_cast<uint8_t>(x[j]) * size, size);
      }
    }
  }
}

void RunSoftmax(const SoftmaxCommand& c, std::byte* scratchpad, Steps* steps) {
  std::array<uint32_t, 256> exponentials;
  std::memcpy(exponentials.data(), scratchpad + c.exponentials_offset, sizeof(exponentials));
  std::vector<int32_t> x(c.columns);
  for (uint32_t row = 0; row < c.rows; ++row) {
    Count(steps, uint64_t{4} * c.columns);
    ReadElements(c.x_type, scratchpad + c.x_offset + size_t{row} * c.x_row_stride, 1, c.columns, x.data());
    const int32_t highest = *std::max_element(x.begin(), x.end());
    uint64_t sum = 0;
    for (const int32_t v : x) sum += exponentials[static_cast<uint8_t>(highest - v)];
    const __int128 divisor = static_cast<__int128>(std::max<uint64_t>(sum, 1)) << 16;
    for (int32_t& v : x) {
      const __int128 share = static_cast<__int128>(exponentials[static_cast<uint8_t>(highest - v)]) * c.inverse_scale;
      v = ClampTo(c.y_zero_point + DivideRound(share, divisor), c.low, c.high);
    }
    WriteElements(c.y_type, x.data(), c.columns, scratchpad + c.y_offset + size_t{row} * c.y_row_stride, 1);
  }
}

void RunResize(const ResizeCommand& c, std::byte* scratchpad, Steps* steps) {
  constexpr int32_t kOne = 1 << 14;
  const auto sources = [&](uint32_t offset, uint32_t count, uint32_t size) {
    std::vector<ResizeSource> table(count);
    std::memcpy(table.data(), scratchpad + offset, sizeof(ResizeSource) * count);
    for (ResizeSource& s : table) {
      s.first = static_cast<uint16_t>(std::min<uint32_t>(s.first, size - 1));
      s.second = static_cast<uint16_t>(std::min<uint32_t>(s.second, size - 1));
      s.fraction = std::min<uint32_t>(s.fraction, kOne);
    }
    return table;
  };
  const std::vector<ResizeSource> rows = sources(c.rows_offset, c.out_height, c.height);
  const std::vector<ResizeSource> columns = sources(c.columns_offset, c.out_width, c.width);
  std::array<std::array<int32_t, kPiece>, 4> x;
  std::array<int32_t, kPiece> y;
  for (uint32_t oy = 0; oy < c.out_height; ++oy) {
    for (uint32_t ox = 0; ox < c.out_width; ++ox) {
      Count(steps, uint64_t{4} * c.channels);
      const ResizeSource& r = rows[oy];
      const ResizeSource& s = columns[ox];
      const int64_t fy = r.fraction;
      const int64_t fx = s.fraction;
      for (uint32_t first = 0; first < c.channels; first += kPiece) {
        const size_t count = std::min<size_t>(kPiece, c.channels - first);
        const auto read = [&](uint16_t row, uint16_t column, int32_t* to) {
          ReadElements(
              c.x_type,
              scratchpad + c.x_offset + size_t{row} * c.x_row_stride + size_t{column} * c.x_pixel_stride + first, 1,
              count, to);
        };
        read(r.first, s.first, x[0].data());
        read(r.first, s.second, x[1].data());
        read(r.second, s.first, x[2].data());
        read(r.second, s.second, x[3].data());
        for (size_t j = 0; j < count; ++j) {
          const int64_t upper = x[0][j] * (kOne - fx) + x[1][j] * fx;
          const int64_t lower = x[2][j] * (kOne - fx) + x[3][j] * fx;
          const int64_t value = upper * (kOne - fy) + lower * fy - (int64_t{c.x_zero_point} << 28);
          // 16 bits of fraction are kept, so that the product with the 31-bit factor fits.
          const int64_t product = RoundShift(value, 12) * c.multiplier;
          y[j] = ClampTo(c.y_zero_point + RoundShift(RoundShift(product, 16), c.shift), c.low, c.high);
        }
        WriteElements(c.y_type, y.data(), count,
                      scratchpad + c.y_offset + size_t{oy} * c.y_row_stride + size_t{ox} * c.y_pixel_stride + first, 1);
      }
    }
  }
}

}  // namespace epiphyte::npusim
