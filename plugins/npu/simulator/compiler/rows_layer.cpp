#include "plugins/npu/simulator/compiler/rows_layer.h"

#include <algorithm>

#include "plugins/npu/simulator/compiler/boxes.h"

namespace epiphyte::npusim {
namespace {

void AddLoops(std::vector<Loop>& loops, const std::vector<int64_t>& size, const std::vector<int64_t>& outside,
              int64_t inside) {
  for (size_t i = size.size(); i-- > 0;) {
    loops.push_back({size[i], outside[i], inside});
    inside *= size[i];
  }
}

}  // namespace

std::vector<Tiling> RowsLayer::Tilings(const Config& config, Choices choices) const {
  std::vector<Tiling> tilings;
  for (uint32_t bytes = config.scratchpad_bytes; bytes >= 1; bytes = bytes / 4 * (choices == Choices::kAll ? 3 : 2)) {
    const int64_t rows = bytes / ElementsOf(row);
    if (rows == 0) break;
    if (rows <= 2 * ElementsOf(kept)) tilings.push_back({static_cast<uint32_t>(rows)});
  }
  tilings.push_back({1});
  return tilings;
}

void RowsLayer::Emit(const Tiling& tiling, Emitter& emit) const {
  emit.op = op;
  Box box{kept, {kept_x}};
  for (const Target& target : targets) box.strides.push_back(target.kept);
  box.Merge();
  const auto columns = static_cast<uint32_t>(ElementsOf(row));
  const std::vector<int64_t> tile = TileOf(box.extents, tiling[0], 5);
  const auto rows = static_cast<uint32_t>(ElementsOf(tile));
  const bool mean = std::holds_alternative<PoolCommand>(work);
  const uint32_t count = tile == box.extents ? 1 : 2;
  Slots x_slots(emit, uint64_t{rows} * columns, count);
  Slots y_slots(emit, uint64_t{rows} * (mean ? 1 : columns), count);
  uint32_t first = 0, second = 0;
  if (std::holds_alternative<SoftmaxCommand>(work)) {
    first = emit.Allocate(1024);
    emit.LoadWeights(first_table, 1024, first);
  } else if (!mean) {
    first = emit.Allocate(4 * uint64_t{columns});
    second = emit.Allocate(4 * uint64_t{columns});
    emit.LoadWeights(first_table, 4 * columns, first);
    emit.LoadWeights(second_table, 4 * columns, second);
  }
  ForEachTile(box.extents, tile, [&](const std::vector<int64_t>& begin, const std::vector<int64_t>& size) {
    const auto n = static_cast<uint32_t>(ElementsOf(size));
    const uint32_t from = x_slots.Next(), to = y_slots.Next();
    // Means are taken over pixels, so the rows become channels, of which the device processes many at once.
    std::vector<Loop> load;
    AddLoops(load, size, box.strides[0], mean ? 1 : columns);
    AddLoops(load, row, row_x, mean ? n : 1);
    emit.Load(x, x_offset + OffsetOf(begin, box.strides[0]), load, from);
    if (mean) {
      PoolCommand c = std::get<PoolCommand>(work);
      // The window has some height * width that equals the row.
      c.x_offset = from;
      c.height = c.window.height;
      c.width = c.window.width;
      c.channels = n;
      c.x_pixel_stride = n;
      c.x_row_stride = c.width * n;
      c.y_offset = to;
      c.y_pixel_stride = c.y_row_stride = n;
      emit.Add(kExecute, c);
    } else {
      const auto place = [&](auto c) {
        c.x_offset = from;
        c.y_offset = to;
        c.rows = n;
        c.columns = columns;
        c.x_row_stride = c.y_row_stride = columns;
        return c;
      };
      if (const auto* softmax = std::get_if<SoftmaxCommand>(&work)) {
        SoftmaxCommand c = place(*softmax);
        c.exponentials_offset = first;
        emit.Add(kExecute, c);
      } else {
        LayerNormCommand c = place(std::get<LayerNormCommand>(work));
        c.scale_offset = first;
        c.bias_offset = second;
        emit.Add(kExecute, c);
      }
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      const Target& target = targets[i];
      std::vector<Loop> store;
      AddLoops(store, size, box.strides[1 + i], mean ? 1 : columns);
      if (!mean) AddLoops(store, row, target.row, 1);
      emit.Store(target.storage, target.offset + OffsetOf(begin, box.strides[1 + i]), store, to);
    }
  });
}

}  // namespace epiphyte::npusim
