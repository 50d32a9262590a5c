#include "plugins/npu/simulator/compiler/conv_layer.h"

#include <algorithm>
#include <set>

#include "plugins/npu/simulator/isa/timing.h"

namespace epiphyte::npusim {
namespace {

// Indices of a tiling's numbers.
enum : size_t {
  kRows,           // rows of a result tile
  kColumns,        // columns of a result tile
  kOutChannels,    // channels of a result tile: a multiple of the array's columns, or all
  kInChannels,     // channels of an image tile; fewer than all: partial sums stay in the accumulators
  kGroup,          // number of output channel tiles that take turns at each tile of pixels
  kPostInExecute,  // 1: POST in the execute queue
};

uint32_t Stretched(uint32_t size, uint32_t up) { return (size - 1) * up + 1; }

}  // namespace

bool ConvLayer::FoldsKernel(const Config& config) const {
  if (depthwise || window.width == 1 || window.dilation_x != 1 || up_x != 1 || up_y != 1) return false;
  // Folding must save at least a tenth, because it prevents input channels from being split.
  return 10 * CeilDivide(window.width * in_channels, config.rows) <=
         9 * window.width * CeilDivide(in_channels, config.rows);
}

bool ConvLayer::TakesResident(StorageId storage) const {
  if (storage == x.storage && (up_y != 1 || up_x != 1 || x.channel != 1)) return false;
  if (storage == b.storage) return false;
  for (const ImageView& target : targets) {
    if (target.storage == storage && (target.channel != 1 || targets.size() != 1)) return false;
  }
  for (const FusedOp& op : fused) {
    if (op.other.storage == storage && op.other.channel != 1) return false;
  }
  return true;
}

std::vector<Tiling> ConvLayer::Tilings(const Config& config, Choices choices) const {
  const uint32_t half = config.AccumulatorWords() / 2;
  // The largest come first, so that the first tiling that fits is a good one.
  using Descending = std::set<uint32_t, std::greater<>>;
  Descending out_parts, in_parts = {in_channels};
  if (choices == Choices::kFirst) {
    for (const uint32_t bricks : {4, 2, 1}) out_parts.insert(std::min(out_channels, bricks * config.columns));
  } else {
    for (uint32_t bricks = 1; bricks * config.columns < out_channels; bricks *= 2) {
      out_parts.insert(bricks * config.columns);
      if (choices == Choices::kAll) out_parts.insert(std::min(out_channels, bricks * 3 * config.columns));
    }
    out_parts.insert(out_channels);
  }
  if (!FoldsKernel(config) && !depthwise) {
    for (uint32_t part = in_channels; part > config.rows;) {
      part = RoundUp(part / 2, config.rows);
      in_parts.insert(part);
      if (part == config.rows) break;
    }
  }
  std::vector<Tiling> tilings;
  for (const uint32_t in : in_parts) {
    for (const uint32_t out : out_parts) {
      const uint32_t most = std::max(1u, half / out);
      std::vector<std::pair<uint32_t, uint32_t>> areas;  // rows, columns
      if (const uint32_t columns = EvenPart(out_columns, most); columns < out_columns) {
        for (uint32_t part = columns; part >= 1; part /= 2) areas.push_back({1, part});
      } else {
        Descending rows;
        for (uint32_t part = std::min(out_rows, most / columns); part >= 1; part /= 2) {
          rows.insert(EvenPart(out_rows, part));
          if (choices == Choices::kAll) rows.insert(part);
        }
        for (const uint32_t part : rows) areas.push_back({part, columns});
        for (uint32_t part = columns / 2; part >= 1; part /= 2) areas.push_back({1, part});
      }
      const uint32_t tiles = CeilDivide(out_channels, out);
      std::set<uint32_t> groups = {1};
      if (choices != Choices::kFirst) groups.insert(tiles);
      if (choices == Choices::kAll) {
        for (uint32_t group = 2; group < tiles; group *= 2) groups.insert(group);
      }
      for (const auto& [rows, columns] : areas) {
        for (const uint32_t group : groups) {
          tilings.push_back({rows, columns, out, in, group, 0});
          if (choices == Choices::kAll) tilings.push_back({rows, columns, out, in, group, 1});
        }
      }
    }
  }
  return tilings;
}

// The array's cycles for all tiles, or the port's cycles for loading all weights once, whichever is more.
uint64_t ConvLayer::LeastCycles(const Tiling& tiling, const Config& config) const {
  // Size and number of tiles; all but the last one are equal.
  struct Parts {
    uint32_t size;
    uint64_t count;
  };
  const auto parts = [](uint32_t of, uint32_t size) {
    std::vector<Parts> result;
    if (of / size > 0) result.push_back({size, of / size});
    if (of % size > 0) result.push_back({of % size, 1});
    return result;
  };
  const bool fold = FoldsKernel(config);
  uint64_t array = 0;
  for (const Parts& rows : parts(out_rows, tiling[kRows])) {
    for (const Parts& columns : parts(out_columns, tiling[kColumns])) {
      for (const Parts& out : parts(out_channels, tiling[kOutChannels])) {
        for (const Parts& in : parts(in_channels, depthwise ? in_channels : tiling[kInChannels])) {
          ConvCommand conv;
          conv.window = window;
          conv.depthwise = depthwise;
          conv.out_height = rows.size;
          conv.out_width = columns.size;
          conv.out_channels = out.size;
          conv.in_channels = depthwise ? out.size : fold ? in.size * window.width : in.size;
          if (fold) conv.window.width = 1;
          array += rows.count * columns.count * out.count * in.count * ExecuteCycles(conv, config);
        }
      }
    }
  }
  const uint64_t instances = x.base.size(), positions = uint64_t{window.height} * window.width;
  uint64_t bytes = 0;
  if (!weights.empty()) {
    const std::set<uint64_t> all(weights.begin(), weights.end());
    bytes += all.size() * positions * (depthwise ? 1 : in_channels) * out_channels;
  }
  Transfer once;
  once.run = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
  return std::max(array * instances, bytes == 0 ? 0 : CostOf(once, config).port_cycles);
}

// Emits the commands of one tiling.
class ConvLayer::Writer {
 public:
  Writer(const ConvLayer& layer, const Tiling& tiling, Emitter& emit)
      : layer_(layer),
        tiling_(tiling),
        emit_(emit),
        fold_(layer.FoldsKernel(emit.config) && !emit.Resident(layer.x.storage)),
        target_resident_(layer.targets.size() == 1 && emit.Resident(layer.targets[0].storage)) {}

  void Run() {
    const ConvLayer& l = layer_;
    const uint32_t out = tiling_[kOutChannels], in = l.depthwise ? out : tiling_[kInChannels];
    const uint32_t row_tiles = CeilDivide(l.out_rows, tiling_[kRows]);
    const uint32_t column_tiles = CeilDivide(l.out_columns, tiling_[kColumns]);
    const uint32_t out_tiles = CeilDivide(l.out_channels, out);
    const uint32_t in_tiles = l.depthwise ? 1 : CeilDivide(l.in_channels, in);
    const auto instances = static_cast<uint32_t>(l.x.base.size());
    const uint32_t group = std::min(tiling_[kGroup], out_tiles);
    if (uint64_t{tiling_[kRows]} * tiling_[kColumns] * out > emit_.config.AccumulatorWords() / 2) throw DoesNotFit();

    // Allocates the buffers. Reused tiles all stay if there is room, plus one for the next tile.
    const auto several = [](uint64_t tiles, uint64_t used_again) {
      return static_cast<uint32_t>(std::min<uint64_t>(tiles, std::max<uint64_t>(2, used_again + 1)));
    };
    const uint64_t pixel_tiles = uint64_t{row_tiles} * column_tiles;
    uint32_t x_rows = 0, x_columns = 0;
    for (uint32_t i = 0; i < row_tiles; ++i) x_rows = std::max(x_rows, Rows(RowTile(i)).Size());
    for (uint32_t i = 0; i < column_tiles; ++i) x_columns = std::max(x_columns, ColumnsOfTile(ColumnTile(i)));
    if (!emit_.Resident(l.x.storage)) {
      x_slots_.emplace(
          emit_, uint64_t{x_rows} * x_columns * in,
          several(pixel_tiles * instances * (l.depthwise ? out_tiles : in_tiles), group > 1 ? in_tiles : 1));
    }
    pitch_ = RoundUp(out, emit_.config.columns);
    const uint64_t weight_bytes = uint64_t{l.window.height} * l.window.width * (l.depthwise ? 1 : in) * pitch_;
    table_at_ = static_cast<uint32_t>((weight_bytes + 3) / 4 * 4);
    zero_points_at_ = table_at_ + out * static_cast<uint32_t>(sizeof(ChannelFactor));
    w_slots_.emplace(
        emit_, zero_points_at_ + (l.zero_points.empty() ? 0 : 4 * out),
        several(uint64_t{out_tiles} * in_tiles * instances,
                pixel_tiles == 1 ? 1 : uint64_t{group} * in_tiles - (group == out_tiles && instances == 1)));
    const uint64_t y_bytes = uint64_t{tiling_[kRows]} * tiling_[kColumns] * out;
    const uint32_t y_tiles = several(pixel_tiles * out_tiles * instances, 1);
    if (!target_resident_) y_slots_.emplace(emit_, y_bytes, y_tiles);
    for (const FusedOp& op : l.fused) {
      other_slots_.emplace_back();
      if (op.command.kind != Elementwise::kRescale && !emit_.Resident(op.other.storage)) {
        other_slots_.back().emplace(emit_, y_bytes, y_tiles);
      }
    }
    if (l.lookup) {
      lookup_at_ = emit_.Allocate(256);
      emit_.LoadWeights(*l.lookup, 256, lookup_at_);
    }

    for (uint32_t instance = 0; instance < instances; ++instance) {
      for (uint32_t first = 0; first < out_tiles; first += group) {
        for (uint32_t row = 0; row < row_tiles; ++row) {
          for (uint32_t column = 0; column < column_tiles; ++column) {
            for (uint32_t o = first; o < std::min(out_tiles, first + group); ++o) {
              WriteTile({instance, RowTile(row), ColumnTile(column), PartOf(o, out, l.out_channels)}, in, in_tiles);
            }
          }
        }
      }
    }
    Finish();
  }

 private:
  struct Tile {
    uint32_t instance = 0;
    Range rows, columns, channels;
  };

  Range RowTile(uint32_t i) const { return PartOf(i, tiling_[kRows], layer_.out_rows); }
  Range ColumnTile(uint32_t i) const { return PartOf(i, tiling_[kColumns], layer_.out_columns); }

  // Rows of the image, including its gaps.
  Range Rows(Range result) const {
    const Window& w = layer_.window;
    return SeenBy(result, w.stride_y, w.dilation_y, w.height, w.pad_y, Stretched(layer_.in_rows, layer_.up_y));
  }
  Range Columns(Range result) const {
    const Window& w = layer_.window;
    return SeenBy(result, w.stride_x, w.dilation_x, w.width, w.pad_x, Stretched(layer_.in_columns, layer_.up_x));
  }
  // If kernel columns are channels, the tile contains the padding.
  uint32_t ColumnsOfTile(Range result) const {
    return fold_ ? (result.Size() - 1) * layer_.window.stride_x + layer_.window.width : Columns(result).Size();
  }

  void LoadImage(const Tile& tile, Range in, ConvCommand& conv) {
    const ConvLayer& l = layer_;
    const Window& w = l.window;
    const Range rows = Rows(tile.rows), columns = Columns(tile.columns);
    conv.height = rows.Size();
    conv.window.pad_y = static_cast<int32_t>(int64_t{rows.begin} - (int64_t{tile.rows.begin} * w.stride_y - w.pad_y));
    conv.width = columns.Size();
    conv.window.pad_x =
        static_cast<int32_t>(int64_t{columns.begin} - (int64_t{tile.columns.begin} * w.stride_x - w.pad_x));
    conv.in_channels = in.Size();
    if (!x_slots_) {
      conv.x_offset = emit_.At(l.x.storage, l.x.At(tile.instance, rows.begin, columns.begin, in.begin));
      conv.x_row_stride = static_cast<uint32_t>(l.x.row);
      conv.x_pixel_stride = static_cast<uint32_t>(l.x.pixel);
      return;
    }
    const uint32_t width = ColumnsOfTile(tile.columns);
    const auto [to, filled] =
        x_slots_->Get({l.x.base[tile.instance], tile.rows.begin, tile.columns.begin, in.begin, tile.rows.end});
    conv.x_offset = to;
    conv.x_pixel_stride = in.Size();
    conv.x_row_stride = width * in.Size();
    uint32_t skipped = 0;  // padding columns in front
    if (fold_) {
      const int64_t begin = int64_t{tile.columns.begin} * w.stride_x - w.pad_x;
      skipped = static_cast<uint32_t>(std::max<int64_t>(0, -begin));
      conv.width = width - w.width + 1;
      conv.window.pad_x = 0;
      conv.window.width = 1;
      conv.in_channels = w.width * in.Size();
      // Overlapping pixels count as often as they are read.
      if (uint64_t{conv.height} * conv.width * conv.in_channels > emit_.config.scratchpad_bytes) throw DoesNotFit();
    }
    if (filled) return;
    // Range in the image itself, without gaps.
    const auto real = [](Range range, uint32_t up) {
      return Range{CeilDivide(range.begin, up), (range.end - 1) / up + 1};
    };
    Range from_rows = real(rows, l.up_y), from_columns = real(columns, l.up_x);
    if (fold_) {
      // Columns() is never empty, but nothing is loaded if only padding is seen.
      const int64_t begin = int64_t{tile.columns.begin} * w.stride_x - w.pad_x;
      const int64_t end = std::min<int64_t>(l.in_columns, begin + width);
      from_columns = {static_cast<uint32_t>(std::max<int64_t>(0, begin)),
                      static_cast<uint32_t>(std::max<int64_t>(0, end))};
      if (end <= std::max<int64_t>(0, begin)) from_columns = {0, 0};
    }
    if ((fold_ && from_columns.Size() != width) || l.up_y != 1 || l.up_x != 1) {
      FillCommand fill;
      fill.offset = to;
      fill.value = static_cast<uint32_t>(l.x_zero_point);
      fill.count = {1, 1, 1, rows.Size() * conv.x_row_stride};
      fill.stride = {0, 0, 0, 1};
      emit_.Add(kLoad, fill);
    }
    if (from_columns.begin >= from_columns.end || from_rows.begin >= from_rows.end) return;
    const uint32_t at = to + (from_rows.begin * l.up_y - rows.begin) * conv.x_row_stride +
                        (fold_ ? skipped : from_columns.begin * l.up_x - columns.begin) * conv.x_pixel_stride;
    emit_.Load(l.x.storage, l.x.At(tile.instance, from_rows.begin, from_columns.begin, in.begin),
               {{from_rows.Size(), l.x.row, int64_t{l.up_y} * conv.x_row_stride},
                {from_columns.Size(), l.x.pixel, int64_t{l.up_x} * conv.x_pixel_stride},
                {in.Size(), l.x.channel, 1}},
               at);
  }

  // Loads weights, ChannelFactors and zero points; returns the slot.
  uint32_t LoadKernel(const Tile& tile, Range in) {
    const ConvLayer& l = layer_;
    const uint32_t n = tile.channels.Size();
    const bool constant = l.b.storage == kNoStorage;
    const auto [to, filled] =
        w_slots_->Get({constant ? static_cast<int64_t>(l.weights[tile.instance]) : l.b.base[tile.instance],
                       static_cast<int64_t>(l.tables[tile.instance]), tile.channels.begin, in.begin});
    if (filled) return to;
    const uint32_t brick = emit_.config.columns;
    const int64_t positions = int64_t{l.window.height} * l.window.width;
    if (!constant) {
      emit_.Load(l.b.storage, l.b.At(tile.instance, 0, in.begin, tile.channels.begin),
                 {{in.Size(), l.b.pixel, pitch_}, {n, l.b.channel, 1}}, to);
    } else {
      const int64_t depth = l.depthwise ? 1 : l.in_channels, part = l.depthwise ? 1 : in.Size();
      const int64_t first = (tile.channels.begin / brick * positions * depth + (l.depthwise ? 0 : in.begin)) * brick;
      emit_.LoadWeights(l.weights[tile.instance] + static_cast<uint64_t>(first),
                        {{CeilDivide(n, brick), positions * depth * brick, brick},
                         {positions, depth * brick, part * pitch_},
                         {part, brick, pitch_},
                         {brick, 1, 1}},
                        to);
    }
    constexpr uint32_t kFactor = sizeof(ChannelFactor);
    emit_.LoadWeights(l.tables[tile.instance] + uint64_t{tile.channels.begin} * kFactor, n * kFactor, to + table_at_);
    if (!l.zero_points.empty()) {
      emit_.LoadWeights(l.zero_points[tile.instance] + uint64_t{tile.channels.begin} * 4, n * 4, to + zero_points_at_);
    }
    return to;
  }

  void WriteTile(const Tile& tile, uint32_t in, uint32_t in_tiles) {
    const ConvLayer& l = layer_;
    emit_.op = l.op;
    const uint32_t accumulator = half_ * (emit_.config.AccumulatorWords() / 2);
    half_ ^= 1;
    uint32_t kernel = 0;
    for (uint32_t i = 0; i < in_tiles; ++i) {
      const Range channels = l.depthwise ? tile.channels : PartOf(i, in, l.in_channels);
      ConvCommand conv;
      conv.window = l.window;
      LoadImage(tile, channels, conv);
      kernel = LoadKernel(tile, channels);
      conv.x_type = l.x_type;
      conv.x_zero_point = l.x_zero_point;
      conv.w_offset = kernel;
      conv.w_row_stride = pitch_;
      conv.w_type = l.w_type;
      conv.w_zero_point = l.w_zero_point;
      conv.per_channel_zero_points = !l.zero_points.empty();
      conv.w_zero_points_offset = l.zero_points.empty() ? 0 : kernel + zero_points_at_;
      conv.accumulator = accumulator;
      conv.accumulator_pixel_stride = tile.channels.Size();
      conv.accumulator_row_stride = tile.columns.Size() * tile.channels.Size();
      conv.out_height = tile.rows.Size();
      conv.out_width = tile.columns.Size();
      conv.out_channels = tile.channels.Size();
      conv.accumulate = i > 0;
      conv.depthwise = l.depthwise;
      emit_.Add(kExecute, conv);
    }
    // The previous tile's remaining work in the execute queue comes after this tile's GEMM, so that it needn't wait for
    // POST.
    Finish();
    emit_.op = l.op;
    PostCommand post;
    post.accumulator = accumulator;
    post.accumulator_pixel_stride = tile.channels.Size();
    post.accumulator_row_stride = tile.columns.Size() * tile.channels.Size();
    post.height = tile.rows.Size();
    post.width = tile.columns.Size();
    post.channels = tile.channels.Size();
    post.table_offset = kernel + table_at_;
    post.y_type = l.post_type;
    post.y_zero_point = l.out_zero_point;
    post.low = l.low;
    post.high = l.high;
    post.lookup = l.lookup.has_value();
    post.lookup_offset = lookup_at_;
    if (target_resident_) {
      const ImageView& y = l.targets[0];
      post.y_offset =
          emit_.At(y.storage, y.At(tile.instance, tile.rows.begin, tile.columns.begin, tile.channels.begin));
      post.y_row_stride = static_cast<uint32_t>(y.row);
      post.y_pixel_stride = static_cast<uint32_t>(y.pixel);
    } else {
      post.y_offset = y_slots_->Next();
      post.y_pixel_stride = tile.channels.Size();
      post.y_row_stride = tile.columns.Size() * tile.channels.Size();
    }
    emit_.Add(tiling_[kPostInExecute] != 0 ? kExecute : kStore, post);
    pending_.emplace(Pending{tile, post.y_offset, post.y_row_stride, post.y_pixel_stride, {}});
    for (size_t i = 0; i < l.fused.size(); ++i) {
      uint32_t at = 0;
      if (other_slots_[i]) {
        const ImageView& other = l.fused[i].other;
        at = other_slots_[i]->Next();
        emit_.op = l.fused[i].op;
        emit_.Load(other.storage, other.At(tile.instance, tile.rows.begin, tile.columns.begin, tile.channels.begin),
                   {{tile.rows.Size(), other.row, int64_t{tile.columns.Size()} * tile.channels.Size()},
                    {tile.columns.Size(), other.pixel, tile.channels.Size()},
                    {tile.channels.Size(), other.channel, 1}},
                   at);
      }
      pending_->others.push_back(at);
    }
  }

  // Emits elementwise operators on the tile in the scratchpad, and its stores.
  void Finish() {
    if (!pending_) return;
    const ConvLayer& l = layer_;
    const Pending p = *pending_;
    pending_.reset();
    const Tile& tile = p.tile;
    const auto rows = tile.rows.Size(), columns = tile.columns.Size(), channels = tile.channels.Size();
    for (size_t i = 0; i < l.fused.size(); ++i) {
      const FusedOp& op = l.fused[i];
      emit_.op = op.op;
      ElementwiseCommand c = op.command;
      c.count = {1, 1, rows, columns, channels};
      const std::array<int32_t, 5> tile_stride = {0, 0, static_cast<int32_t>(p.row), static_cast<int32_t>(p.pixel), 1};
      std::array<int32_t, 5> other_stride = {0, 0, static_cast<int32_t>(columns * channels),
                                             static_cast<int32_t>(channels), 1};
      uint32_t other = p.others[i];
      if (!other_slots_[i] && c.kind != Elementwise::kRescale) {
        other = emit_.At(op.other.storage,
                         op.other.At(tile.instance, tile.rows.begin, tile.columns.begin, tile.channels.begin));
        other_stride = {0, 0, static_cast<int32_t>(op.other.row), static_cast<int32_t>(op.other.pixel),
                        static_cast<int32_t>(op.other.channel)};
      }
      c.y_offset = p.offset;
      c.y_stride = tile_stride;
      (op.tile_is_b ? c.b_offset : c.a_offset) = p.offset;
      (op.tile_is_b ? c.b_stride : c.a_stride) = tile_stride;
      if (c.kind != Elementwise::kRescale) {
        (op.tile_is_b ? c.a_offset : c.b_offset) = other;
        (op.tile_is_b ? c.a_stride : c.b_stride) = other_stride;
      }
      emit_.Add(kExecute, c);
    }
    if (target_resident_) return;
    for (const ImageView& target : l.targets) {
      emit_.Store(target.storage, target.At(tile.instance, tile.rows.begin, tile.columns.begin, tile.channels.begin),
                  {{rows, target.row, int64_t{p.row}},
                   {columns, target.pixel, int64_t{p.pixel}},
                   {channels, target.channel, 1}},
                  p.offset);
    }
  }

  struct Pending {
    Tile tile;
    uint32_t offset = 0, row = 0, pixel = 0;
    std::vector<uint32_t> others;  // offsets, by fused operator
  };

  const ConvLayer& layer_;
  const Tiling& tiling_;
  Emitter& emit_;
  const bool fold_, target_resident_;
  std::optional<Slots> x_slots_, w_slots_, y_slots_;
  std::vector<std::optional<Slots>> other_slots_;
  uint32_t pitch_ = 0;  // pitch of the weights in a slot
  uint32_t table_at_ = 0, zero_points_at_ = 0, lookup_at_ = 0;
  uint32_t half_ = 0;  // half of the accumulators that is used next
  std::optional<Pending> pending_;
};

void ConvLayer::Emit(const Tiling& tiling, Emitter& emit) const { Writer(*this, tiling, emit).Run(); }

}  // namespace epiphyte::npusim
