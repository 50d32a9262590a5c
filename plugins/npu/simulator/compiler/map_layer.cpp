#include "plugins/npu/simulator/compiler/map_layer.h"

#include <algorithm>
#include <optional>

#include "plugins/npu/simulator/compiler/boxes.h"

namespace epiphyte::npusim {
namespace {

// Compact strides of a tile; broadcast extents have stride 0.
std::vector<int64_t> TileStrides(const std::vector<int64_t>& size, const std::vector<int64_t>& outside) {
  std::vector<int64_t> strides(size.size(), 0);
  int64_t stride = 1;
  for (size_t i = size.size(); i-- > 0;) {
    if (outside[i] == 0) continue;
    strides[i] = stride;
    stride *= size[i];
  }
  return strides;
}

std::vector<Loop> LoopsOf(const std::vector<int64_t>& size, const std::vector<int64_t>& outside,
                          const std::vector<int64_t>& inside) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < size.size(); ++i) {
    if (outside[i] != 0 || inside[i] != 0) loops.push_back({size[i], outside[i], inside[i]});
  }
  return loops;
}

// The last five extents; TileOf ensures that there are no more.
template <typename Number>
std::array<Number, 5> LastFive(const std::vector<int64_t>& values, const std::vector<int64_t>& size, Number otherwise) {
  std::array<Number, 5> last;
  last.fill(otherwise);
  size_t to = 5;
  for (size_t i = values.size(); i-- > 0;) {
    if (size[i] != 1) last[--to] = static_cast<Number>(values[i]);
  }
  return last;
}

struct Where {
  uint32_t at = 0;               // offset in the scratchpad
  std::vector<int64_t> strides;  // strides in the scratchpad
};

class PieceWriter {
 public:
  PieceWriter(const MapPiece& piece, int64_t most, Emitter& emit) : piece_(piece), emit_(emit) {
    box_.extents = piece.extents;
    for (const auto* operands : {&piece.targets, &piece.inputs}) {
      for (const MapPiece::Operand& operand : *operands) box_.strides.push_back(operand.strides);
    }
    box_.Merge();
    tile_ = TileOf(box_.extents, most, 5);
    bytes_ = static_cast<uint64_t>(ElementsOf(tile_));
    target_resident_ = emit.Resident(piece.targets[0].storage);
  }

  void Run() {
    const bool once = tile_ == box_.extents;
    const uint32_t count = once ? 1 : 2;
    // A copy uses one buffer, or none.
    const bool copies = piece_.kind == MapPiece::kCopy;
    for (const MapPiece::Operand& input : piece_.inputs) {
      inputs_.emplace_back();
      const bool needs = !emit_.Resident(input.storage) && !(copies && target_resident_);
      if (needs) inputs_.back().emplace(emit_, bytes_, count);
    }
    if (!target_resident_ && !copies) result_.emplace(emit_, bytes_, piece_.kind == MapPiece::kFill ? 1 : count);
    if (piece_.kind == MapPiece::kLookup) {
      table_ = emit_.Allocate(256);
      emit_.LoadWeights(piece_.table, 256, table_);
    }
    if (piece_.kind == MapPiece::kFill) {
      FillCommand fill;
      fill.offset = filled_ = result_->Next();
      fill.value = piece_.value;
      fill.count = {1, 1, 1, static_cast<uint32_t>(bytes_)};
      fill.stride = {0, 0, 0, 1};
      emit_.Add(kExecute, fill);
    }
    ForEachTile(box_.extents, tile_, [&](const auto& begin, const auto& size) { WriteTile(begin, size); });
  }

 private:
  const std::vector<int64_t>& TargetStrides(size_t i) const { return box_.strides[i]; }
  const std::vector<int64_t>& InputStrides(size_t i) const { return box_.strides[piece_.targets.size() + i]; }

  Where InputAt(size_t i, const std::vector<int64_t>& begin, const std::vector<int64_t>& size) {
    const MapPiece::Operand& input = piece_.inputs[i];
    const std::vector<int64_t>& outside = InputStrides(i);
    const int64_t offset = input.offset + OffsetOf(begin, outside);
    if (emit_.Resident(input.storage)) return {emit_.At(input.storage, offset), outside};
    std::vector<int64_t> key = begin;
    for (size_t d = 0; d < key.size(); ++d) key[d] = outside[d] == 0 ? 0 : key[d];
    for (size_t d = 0; d < size.size(); ++d) key.push_back(outside[d] == 0 ? 1 : size[d]);
    const auto [at, filled] = inputs_[i]->Get(key);
    Where where{at, TileStrides(size, outside)};
    if (!filled) emit_.Load(input.storage, offset, LoopsOf(size, outside, where.strides), at);
    return where;
  }

  void Store(const std::vector<int64_t>& begin, const std::vector<int64_t>& size, const Where& from) {
    for (size_t i = 0; i < piece_.targets.size(); ++i) {
      emit_.Store(piece_.targets[i].storage, piece_.targets[i].offset + OffsetOf(begin, TargetStrides(i)),
                  LoopsOf(size, TargetStrides(i), from.strides), from.at);
    }
  }

  void WriteTile(const std::vector<int64_t>& begin, const std::vector<int64_t>& size) {
    const MapPiece::Operand& target = piece_.targets[0];
    const int64_t to = target.offset + OffsetOf(begin, TargetStrides(0));
    if (piece_.kind == MapPiece::kFill) return Store(begin, size, {filled_, TileStrides(size, TargetStrides(0))});
    const bool copies = piece_.kind == MapPiece::kCopy;
    if (copies && target_resident_ && !emit_.Resident(piece_.inputs[0].storage)) {
      emit_.Load(piece_.inputs[0].storage, piece_.inputs[0].offset + OffsetOf(begin, InputStrides(0)),
                 LoopsOf(size, InputStrides(0), TargetStrides(0)), emit_.At(target.storage, to));
      return;
    }
    std::vector<Where> from;
    for (size_t i = 0; i < piece_.inputs.size(); ++i) from.push_back(InputAt(i, begin, size));
    if (copies && !target_resident_) return Store(begin, size, from[0]);
    const Where result = target_resident_ ? Where{emit_.At(target.storage, to), TargetStrides(0)}
                                          : Where{result_->Next(), TileStrides(size, TargetStrides(0))};
    if (piece_.kind == MapPiece::kLookup) {
      Lookup(size, from[0], result);
    } else {
      ElementwiseCommand c = piece_.command;
      if (copies) {
        // The multiplier 2 and a shift of 1 keep the number.
        c.kind = Elementwise::kRescale;
        c.a_multiplier = 2;
        c.shift = 1;
      }
      c.count = LastFive<uint32_t>(size, size, 1);
      c.a_offset = from[0].at;
      c.a_stride = LastFive<int32_t>(from[0].strides, size, 0);
      if (from.size() > 1) {
        c.b_offset = from[1].at;
        c.b_stride = LastFive<int32_t>(from[1].strides, size, 0);
      }
      c.y_offset = result.at;
      c.y_stride = LastFive<int32_t>(result.strides, size, 0);
      emit_.Add(kExecute, c);
    }
    if (!target_resident_) Store(begin, size, result);
  }

  // Rows are contiguous elements; each step of the outer loops is a command.
  void Lookup(const std::vector<int64_t>& size, const Where& from, const Where& to) {
    Box box{size, {to.strides, from.strides}};
    box.Merge();
    const size_t last = box.extents.size() - 1;
    const bool contiguous = box.strides[0][last] == 1 && box.strides[1][last] == 1;
    LookupCommand c;
    c.table_offset = table_;
    c.columns = contiguous ? static_cast<uint32_t>(box.extents[last]) : 1;
    std::vector<int64_t> outer(box.extents.begin(), box.extents.end() - (contiguous ? 1 : 0));
    int64_t rows = 1, x_row = 0, y_row = 0;
    if (!outer.empty() && box.strides[0][outer.size() - 1] > 0 && box.strides[1][outer.size() - 1] > 0) {
      rows = outer.back();
      y_row = box.strides[0][outer.size() - 1];
      x_row = box.strides[1][outer.size() - 1];
      outer.pop_back();
    }
    c.rows = static_cast<uint32_t>(rows);
    c.x_row_stride = static_cast<uint32_t>(x_row);
    c.y_row_stride = static_cast<uint32_t>(y_row);
    ForEachTile(outer, std::vector<int64_t>(outer.size(), 1), [&](const auto& begin, const auto&) {
      int64_t y = 0, x = 0;
      for (size_t i = 0; i < begin.size(); ++i) {
        y += begin[i] * box.strides[0][i];
        x += begin[i] * box.strides[1][i];
      }
      c.y_offset = static_cast<uint32_t>(to.at + y);
      c.x_offset = static_cast<uint32_t>(from.at + x);
      emit_.Add(kExecute, c);
    });
  }

  const MapPiece& piece_;
  Emitter& emit_;
  Box box_;
  std::vector<int64_t> tile_;
  uint64_t bytes_ = 0;
  bool target_resident_ = false;
  std::vector<std::optional<Slots>> inputs_;
  std::optional<Slots> result_;
  uint32_t table_ = 0, filled_ = 0;
};

}  // namespace

std::vector<Tiling> MapLayer::Tilings(const Config& config, Choices choices) const {
  std::vector<Tiling> tilings;
  for (uint32_t most = config.scratchpad_bytes; most >= 64; most = most / 4 * (choices == Choices::kAll ? 3 : 2)) {
    tilings.push_back({most});
  }
  return tilings;
}

void MapLayer::Emit(const Tiling& tiling, Emitter& emit) const {
  emit.op = op;
  const uint32_t begin = emit.Mark();
  for (const MapPiece& piece : pieces) {
    emit.Release(begin);
    PieceWriter(piece, tiling[0], emit).Run();
  }
}

bool MapLayer::TakesResident(StorageId storage) const {
  for (const MapPiece& piece : pieces) {
    for (const MapPiece::Operand& target : piece.targets) {
      if (target.storage == storage && (piece.kind == MapPiece::kFill || piece.targets.size() != 1)) return false;
    }
    for (const MapPiece::Operand& input : piece.inputs) {
      const bool backwards = std::any_of(input.strides.begin(), input.strides.end(), [](int64_t s) { return s < 0; });
      if (input.storage == storage && backwards) return false;
    }
  }
  return true;
}

}  // namespace epiphyte::npusim
