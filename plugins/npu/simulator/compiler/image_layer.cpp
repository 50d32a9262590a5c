#include "plugins/npu/simulator/compiler/image_layer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "plugins/npu/simulator/blob/little_endian.h"

namespace epiphyte::npusim {
namespace {

// Indices of a tiling's numbers.
enum : size_t { kRows, kColumns, kChannels };

Range SeenByAxis(const ResizeAxis& axis, Range result) {
  Range seen{UINT32_MAX, 0};
  for (uint32_t i = result.begin; i < result.end; ++i) {
    seen.begin = std::min({seen.begin, axis.first[i], axis.second[i]});
    seen.end = std::max({seen.end, axis.first[i] + 1, axis.second[i] + 1});
  }
  return seen;
}

}  // namespace

// Emits the commands of one tiling.
class ImageLayer::Writer {
 public:
  Writer(const ImageLayer& layer, const Tiling& tiling, Emitter& emit)
      : l_(layer),
        emit_(emit),
        rows_(tiling[kRows]),
        columns_(tiling[kColumns]),
        channels_(tiling[kChannels]),
        target_resident_(layer.targets.size() == 1 && emit.Resident(layer.targets[0].storage)) {}

  void Run() {
    const auto cut = [](Range range, uint32_t size, auto visit) {
      for (uint32_t at = range.begin; at < range.end; at += size) visit(Range{at, std::min(range.end, at + size)});
    };
    uint32_t x_rows = 0, x_columns = 0;
    uint64_t tiles = 0;
    for (const Area& area : l_.areas) {
      cut(area.rows, rows_, [&](Range rows) { x_rows = std::max(x_rows, Rows(rows).Size()); });
      cut(area.columns, columns_, [&](Range columns) { x_columns = std::max(x_columns, Columns(columns).Size()); });
      tiles += uint64_t{CeilDivide(area.rows.Size(), rows_)} * CeilDivide(area.columns.Size(), columns_) *
               CeilDivide(l_.channels, channels_);
    }
    const uint32_t count = tiles * l_.x.base.size() > 1 ? 2 : 1;
    const uint64_t brick = channels_;
    if (!emit_.Resident(l_.x.storage)) x_.emplace(emit_, x_rows * x_columns * brick, count);
    if (!target_resident_) y_.emplace(emit_, rows_ * columns_ * brick, count);
    if (std::holds_alternative<ResizeCommand>(l_.work)) {
      row_tables_.emplace(emit_, 8 * uint64_t{rows_}, count);
      column_tables_.emplace(emit_, 8 * uint64_t{columns_}, count);
    }
    emit_.op = l_.op;
    for (size_t instance = 0; instance < l_.x.base.size(); ++instance) {
      for (const Area& area : l_.areas) {
        cut({0, l_.channels}, channels_, [&](Range c) {
          cut(area.rows, rows_, [&](Range rows) {
            cut(area.columns, columns_, [&](Range columns) { WriteTile(instance, {rows, columns, area.divisor}, c); });
          });
        });
      }
    }
  }

 private:
  Range Rows(Range result) const {
    if (const auto* pool = std::get_if<PoolCommand>(&l_.work)) {
      const Window& w = pool->window;
      return SeenBy(result, w.stride_y, w.dilation_y, w.height, w.pad_y, l_.in_rows);
    }
    return SeenByAxis(l_.rows, result);
  }
  Range Columns(Range result) const {
    if (const auto* pool = std::get_if<PoolCommand>(&l_.work)) {
      const Window& w = pool->window;
      return SeenBy(result, w.stride_x, w.dilation_x, w.width, w.pad_x, l_.in_columns);
    }
    return SeenByAxis(l_.columns, result);
  }

  void WriteTile(size_t instance, const Area& area, Range channels) {
    const Range rows = Rows(area.rows), columns = Columns(area.columns);
    const uint32_t n = channels.Size();
    uint32_t x_at = 0, x_row = columns.Size() * n, x_pixel = n;
    if (x_) {
      const auto [at, filled] =
          x_->Get({l_.x.base[instance], rows.begin, rows.end, columns.begin, columns.end, channels.begin});
      x_at = at;
      if (!filled) {
        emit_.Load(l_.x.storage, l_.x.At(instance, rows.begin, columns.begin, channels.begin),
                   {{rows.Size(), l_.x.row, x_row}, {columns.Size(), l_.x.pixel, x_pixel}, {n, l_.x.channel, 1}}, at);
      }
    } else {
      x_at = emit_.At(l_.x.storage, l_.x.At(instance, rows.begin, columns.begin, channels.begin));
      x_row = static_cast<uint32_t>(l_.x.row);
      x_pixel = static_cast<uint32_t>(l_.x.pixel);
    }
    uint32_t y_at = 0, y_row = area.columns.Size() * n, y_pixel = n;
    if (target_resident_) {
      const ImageView& y = l_.targets[0];
      y_at = emit_.At(y.storage, y.At(instance, area.rows.begin, area.columns.begin, channels.begin));
      y_row = static_cast<uint32_t>(y.row);
      y_pixel = static_cast<uint32_t>(y.pixel);
    } else {
      y_at = y_->Next();
    }
    const auto place = [&](auto& c) {
      c.x_offset = x_at;
      c.x_row_stride = x_row;
      c.x_pixel_stride = x_pixel;
      c.height = rows.Size();
      c.width = columns.Size();
      c.channels = n;
      c.y_offset = y_at;
      c.y_row_stride = y_row;
      c.y_pixel_stride = y_pixel;
      c.out_height = area.rows.Size();
      c.out_width = area.columns.Size();
    };
    if (const auto* pool = std::get_if<PoolCommand>(&l_.work)) {
      PoolCommand c = *pool;
      place(c);
      const Window& w = pool->window;
      c.window.pad_y = static_cast<int32_t>(int64_t{rows.begin} - (int64_t{area.rows.begin} * w.stride_y - w.pad_y));
      c.window.pad_x =
          static_cast<int32_t>(int64_t{columns.begin} - (int64_t{area.columns.begin} * w.stride_x - w.pad_x));
      c.divisor = area.divisor;
      emit_.Add(kExecute, c);
    } else {
      ResizeCommand c = std::get<ResizeCommand>(l_.work);
      place(c);
      c.rows_offset = Table(l_.rows, area.rows, rows.begin, *row_tables_);
      c.columns_offset = Table(l_.columns, area.columns, columns.begin, *column_tables_);
      emit_.Add(kExecute, c);
    }
    if (target_resident_) return;
    for (const ImageView& target : l_.targets) {
      emit_.Store(
          target.storage, target.At(instance, area.rows.begin, area.columns.begin, channels.begin),
          {{area.rows.Size(), target.row, y_row}, {area.columns.Size(), target.pixel, y_pixel}, {n, target.channel, 1}},
          y_at);
    }
  }

  // ResizeSources of the results, relative to the tile of x.
  uint32_t Table(const ResizeAxis& axis, Range result, uint32_t begin, Slots& slots) {
    const auto [at, filled] = slots.Get({result.begin, result.end});
    if (filled) return at;
    std::vector<std::byte> bytes;
    for (uint32_t i = result.begin; i < result.end; ++i) {
      PutLittleEndian<uint16_t>(bytes, static_cast<uint16_t>(axis.first[i] - begin));
      PutLittleEndian<uint16_t>(bytes, static_cast<uint16_t>(axis.second[i] - begin));
      PutLittleEndian<uint32_t>(bytes, axis.fraction[i]);
    }
    const auto size = static_cast<uint32_t>(bytes.size());
    emit_.LoadWeights(emit_.Constant(std::move(bytes)), size, at);
    return at;
  }

  const ImageLayer& l_;
  Emitter& emit_;
  const uint32_t rows_, columns_, channels_;
  const bool target_resident_;
  std::optional<Slots> x_, y_, row_tables_, column_tables_;
};

std::vector<Tiling> ImageLayer::Tilings(const Config& config, Choices choices) const {
  std::vector<Tiling> tilings;
  const auto brick = std::min(channels, config.columns);
  std::set<uint32_t, std::greater<>> parts = {channels, brick};
  for (uint32_t part = channels; part > config.columns && choices != Choices::kFirst;) {
    part = part <= 2 * config.columns ? brick : RoundUp(part / 2, config.columns);
    parts.insert(part);
  }
  for (const uint32_t part : parts) {
    for (uint32_t rows = out_rows;; rows = CeilDivide(rows, 2)) {
      tilings.push_back({rows, out_columns, part});
      if (rows == 1) break;
    }
  }
  for (uint32_t columns = CeilDivide(out_columns, 2);; columns = CeilDivide(columns, 2)) {
    tilings.push_back({1, columns, brick});
    tilings.push_back({1, columns, 1});
    if (columns == 1) break;
  }
  return tilings;
}

void ImageLayer::Emit(const Tiling& tiling, Emitter& emit) const { Writer(*this, tiling, emit).Run(); }

bool ImageLayer::TakesResident(StorageId storage) const {
  if (storage == x.storage && x.channel != 1) return false;
  for (const ImageView& target : targets) {
    if (target.storage == storage && (target.channel != 1 || targets.size() != 1)) return false;
  }
  return true;
}

}  // namespace epiphyte::npusim
