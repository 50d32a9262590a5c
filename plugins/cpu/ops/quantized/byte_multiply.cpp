#include "plugins/cpu/ops/quantized/byte_multiply.h"

#include <algorithm>
#include <functional>

namespace epiphyte::cpu {
namespace {

constexpr int64_t kShareWork = int64_t{1} << 19;  // multiplications that are worth waking a thread for

// Number of rows that a panel of weights multiplies before the next panel.
int64_t RowsOfBlock(const ByteRows& left, int64_t row_bytes, int64_t threads) {
  const int64_t all = left.rows * left.products;
  if (const int64_t tile = simd::ByteTileRows(); tile != 0) {
    // AMX: weights come from the L2 cache or from farther away, which is slower than the tiles, so more rows are
    // better. Copied rows serve one share only. A quarter of an L2 cache is for the rows.
    constexpr int64_t kBlockBytes = 512 << 10, kMostRows = 1024;
    const int64_t block = std::clamp(kBlockBytes / row_bytes / tile * tile, tile, kMostRows);
    const int64_t shares = left.in_place ? threads : 4 * threads;
    const int64_t fair = left.in_place && left.rows <= block ? left.rows : (all + shares - 1) / shares;
    return std::min(block, (fair + tile - 1) / tile * tile);
  }
  constexpr int64_t kBlockBytes = 48 << 10;  // size of a block of rows, beside which panels stream through the L2 cache
  constexpr int64_t kTileRows = 6, kMostRows = 192;
  // At least one share for each thread; more shares avoid waiting for the last one.
  const int64_t block = std::clamp(kBlockBytes / row_bytes / kTileRows * kTileRows, kTileRows, kMostRows);
  const int64_t fair = (all + 4 * threads - 1) / (4 * threads);
  return std::min(block, std::max(kTileRows, (fair + kTileRows - 1) / kTileRows * kTileRows));
}

// Initial sums for some columns of a group: see StartOfSums.
void FillStart(const ByteWeights& weights, int32_t zero, const int32_t* bias, int64_t group, int64_t first,
               int64_t count, int32_t* start) {
  const int64_t at = group * weights.padded() + first;
  const int32_t* const sums = weights.sums + at;
  start += at;
  const auto by = static_cast<uint32_t>(zero);
  for (int64_t c = 0; c < count; ++c) start[c] = static_cast<int32_t>(0u - by * static_cast<uint32_t>(sums[c]));
  if (bias == nullptr) return;
  bias += group * weights.columns + first;
  const int64_t biased = std::min(count, weights.columns - first);
  for (int64_t c = 0; c < biased; ++c)
    start[c] = static_cast<int32_t>(static_cast<uint32_t>(start[c]) + static_cast<uint32_t>(bias[c]));
}
int32_t* RoomForStart(OpContext& context, const ByteWeights& weights) {
  const int64_t count = weights.groups * weights.padded();
  return static_cast<int32_t*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(int32_t)));
}

// Packs the panel that starts at column `first` of a group, to `panel`; null: to its own place.
using PackPanel = std::function<void(int64_t group, int64_t first, int8_t* panel)>;

// `pack`: empty when all panels are packed.
void Multiply(OpContext& context, const ByteRows& left, const ByteWeights& weights, const ByteOutput& output,
              const PackPanel& pack) {
  const int64_t n = weights.columns, steps = simd::ByteSteps(weights.k);
  if (left.products == 0 || left.rows == 0 || n == 0) return;
  const int64_t row_bytes = std::max<int64_t>(steps * 4, 4);
  const int64_t threads = std::max<int64_t>(context.thread_count(), 1);
  const int64_t block = RowsOfBlock(left, row_bytes, threads);
  const int64_t blocks = (left.rows + block - 1) / block;
  const int64_t panels = weights.padded() / simd::kBytePanel;
  const int64_t whole = left.products * blocks;
  const int64_t splits = whole >= 2 * threads ? 1 : std::min(panels, (2 * threads + whole - 1) / whole);
  const int64_t panels_per_split = (panels + splits - 1) / splits;
  const int64_t items = whole * splits;
  // Weights that a thread reads repeatedly, and small weights, are in its L2 cache.
  constexpr int64_t kFarBytes = 256 << 10;
  const bool fetches_ahead = !pack && whole <= threads && n * row_bytes >= kFarBytes;

  // Packing a byte costs as much as this number of multiplications.
  constexpr int64_t kPacking = 16;
  const int64_t work = left.products * (left.rows + (pack ? kPacking : 0)) * n * row_bytes;
  const int64_t shares = std::clamp<int64_t>(std::min(items, work / kShareWork), 1, threads == 1 ? 1 : threads * 4);
  const int64_t made_bytes = left.in_place ? 0 : block * row_bytes;
  const int64_t panel_bytes = pack ? row_bytes * simd::kBytePanel : 0;
  const uint64_t buffer_bytes = static_cast<uint64_t>((panel_bytes + made_bytes + block * 4 + 63) / 64 * 64);
  auto* const buffers = static_cast<uint8_t*>(context.Scratch(static_cast<uint64_t>(shares) * buffer_bytes));

  const auto run = [&](int64_t item, uint8_t* buffer) {
    const int64_t split = item % splits, at = item / splits;
    const int64_t product = at / blocks, row = at % blocks * block;
    const int64_t count = std::min(block, left.rows - row);
    const int64_t begin = split * panels_per_split * simd::kBytePanel;
    const int64_t end = std::min(begin + panels_per_split * simd::kBytePanel, n);
    if (begin >= n) return;
    const int64_t group = output.groups == nullptr ? product : output.groups[product];
    auto* const panel = reinterpret_cast<int8_t*>(buffer);
    buffer += panel_bytes;
    const ByteRows::Piece piece = left.Get(product, row, count, buffer);
    simd::ByteProduct p;
    p.a = piece.data;
    p.a_stride = piece.stride;
    p.rows = count;
    p.steps = steps;
    p.result = output.result;
    p.y_stride = output.y_stride;
    p.zero = output.zero;
    p.low = output.low;
    p.high = output.high;
    if (weights.minus_zeros != nullptr) {
      auto* const sums = reinterpret_cast<int32_t*>(buffer + made_bytes);
      for (int64_t r = 0; r < count; ++r) sums[r] = simd::SumOfBytes(piece.data + r * piece.stride, weights.k);
      p.row_terms[0] = sums;
    }
    if (output.of_sums != nullptr) p.row_terms[1] = output.of_sums + product * left.rows + row;
    // A packed panel is used once, while it is in the cache.
    const int64_t step = pack ? simd::kBytePanel : end - begin;
    for (int64_t column = begin; column < end; column += step) {
      p.columns = std::min(step, end - column);
      if (pack) pack(group, column, panel);
      p.panels = pack ? panel : weights.PanelsOf(group) + column * steps * 4;
      p.fetches_ahead = fetches_ahead;
      // Share that this thread is likely to take next.
      if (fetches_ahead && begin + threads * panels_per_split * simd::kBytePanel < n)
        p.next = p.panels + threads * panels_per_split * simd::kBytePanel * steps * 4;
      const int64_t first = group * weights.padded() + column;
      p.start = output.start + first;
      if (weights.minus_zeros != nullptr) p.column_terms[0] = weights.minus_zeros + first;
      if (output.of_sums != nullptr) p.column_terms[1] = weights.sums + first;
      const int64_t offset = product * output.product_stride + row * output.y_stride + column;
      const int64_t element = output.result == simd::ByteResult::kRequantized ? 1 : 4;
      p.y = static_cast<char*>(output.y) + offset * element;
      p.factor = output.factor == nullptr ? nullptr : output.factor + first;
      p.bias = output.bias == nullptr ? nullptr : output.bias + first;
      simd::RunByteProduct(p);
    }
  };
  context.ParallelFor(shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      uint8_t* const buffer = buffers + static_cast<uint64_t>(share) * buffer_bytes;
      for (int64_t item = share * items / shares; item < (share + 1) * items / shares; ++item) run(item, buffer);
    }
  });
}

}  // namespace

void MultiplyBytes(OpContext& context, const ByteRows& left, const ByteWeights& weights, const ByteOutput& output) {
  Multiply(context, left, weights, output, nullptr);
}

const int32_t* StartOfSums(OpContext& context, const ByteWeights& weights, int32_t zero, const int32_t* bias) {
  int32_t* const start = RoomForStart(context, weights);
  for (int64_t g = 0; g < weights.groups; ++g) FillStart(weights, zero, bias, g, 0, weights.padded(), start);
  return start;
}

void MultiplyBytes(OpContext& context, const ByteRows& left, const BytesToPack& bytes, const ByteWeights& reserved,
                   int32_t zero, const int32_t* bias, ByteOutput output) {
  int32_t* const start = RoomForStart(context, reserved);
  output.start = start;
  const PackPanel pack = [&](int64_t group, int64_t first, int8_t* panel) {
    PackReserved(bytes, reserved, group, first, panel);
    FillStart(reserved, zero, bias, group, first, simd::kBytePanel, start);
  };
  const int64_t row_bytes = std::max<int64_t>(simd::ByteSteps(reserved.k) * 4, 4);
  const bool once = left.products == reserved.groups &&
                    left.rows <= RowsOfBlock(left, row_bytes, std::max<int64_t>(context.thread_count(), 1));
  if (once) return Multiply(context, left, reserved, output, pack);
  const int64_t panels = reserved.padded() / simd::kBytePanel;
  constexpr int64_t kShareBytes = 1 << 16;
  context.ParallelFor(reserved.groups * panels, std::max<int64_t>(1, kShareBytes / (row_bytes * simd::kBytePanel)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) pack(i / panels, i % panels * simd::kBytePanel, nullptr);
                      });
  Multiply(context, left, reserved, output, nullptr);
}

}  // namespace epiphyte::cpu
