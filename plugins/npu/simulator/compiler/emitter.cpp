#include "plugins/npu/simulator/compiler/emitter.h"

#include <algorithm>
#include <limits>

namespace epiphyte::npusim {
namespace {

constexpr int64_t kMostStride = std::numeric_limits<int32_t>::max();

}  // namespace

uint32_t Emitter::Allocate(uint64_t bytes) {
  constexpr uint32_t kAlignment = 64;
  const uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > arena_.size - used_) throw DoesNotFit();
  const auto size = static_cast<uint32_t>(rounded);
  const uint32_t at = downward_ ? arena_.begin + arena_.size - used_ - size : arena_.begin + used_;
  used_ += size;
  return at;
}

void Emitter::Add(Queue queue, QuantizedOp work) {
  if (only_fits) throw Fits();
  if (program.size() >= most_commands) throw DoesNotFit();
  if (tick && program.size() % 1024 == 0) tick();
  Command& command = program.emplace_back();
  command.queue = queue;
  command.work = std::move(work);
  command.op = op;
}

void Emitter::Move(bool load, StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t inside) {
  const Placement& placement = placements_[storage];
  MoveLoops(load, placement.region, static_cast<int64_t>(placement.offset) + offset, std::move(loops), inside);
}

void Emitter::LoadWeights(uint64_t at, uint32_t bytes, uint32_t to) { LoadWeights(at, {{bytes, 1, 1}}, to); }

void Emitter::LoadWeights(uint64_t at, std::vector<Loop> loops, uint32_t to) {
  MoveLoops(true, kWeights, static_cast<int64_t>(at), std::move(loops), to);
}

uint64_t Emitter::Constant(std::vector<std::byte> bytes) {
  if (weights == nullptr) return 0;
  const uint64_t size = bytes.size();
  return weights->Add(size, [bytes = std::move(bytes)](const WeightStore::Made&) { return bytes; });
}

void Emitter::MoveLoops(bool load, uint32_t region, int64_t outside, std::vector<Loop> loops, int64_t inside) {
  std::erase_if(loops, [](const Loop& loop) { return loop.count == 1; });
  // Loops follow the order in external memory, the largest step first, so that it is accessed in long runs.
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop& a, const Loop& b) { return std::abs(a.outside) > std::abs(b.outside); });
  std::vector<Loop> merged;
  int64_t run = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    const Loop& loop = loops[i];
    if (merged.empty() && loop.outside == run && loop.inside == run) {
      run *= loop.count;
    } else if (!merged.empty() && loop.outside == merged.back().outside * merged.back().count &&
               loop.inside == merged.back().inside * merged.back().count) {
      merged.back().count *= loop.count;
    } else {
      merged.push_back(loop);
    }
  }
  std::reverse(merged.begin(), merged.end());
  // With more loops than a command has, or too large steps, the outermost loop becomes several commands.
  const bool far = std::any_of(merged.begin(), merged.end(), [](const Loop& loop) {
    return std::abs(loop.outside) > kMostStride || std::abs(loop.inside) > kMostStride;
  });
  if (merged.size() > 5 || (far && !merged.empty())) {
    const Loop outer = merged.front();
    std::vector<Loop> inner(merged.begin() + 1, merged.end());
    inner.push_back({run, 1, 1});
    for (int64_t i = 0; i < outer.count; ++i) {
      MoveLoops(load, region, outside + i * outer.outside, inner, inside + i * outer.inside);
    }
    return;
  }
  Transfer transfer;
  transfer.region = region;
  transfer.external_offset = static_cast<uint64_t>(outside);
  transfer.scratchpad_offset = static_cast<uint32_t>(inside);
  transfer.run = static_cast<uint32_t>(run);
  const size_t first = 5 - merged.size();
  for (size_t i = 0; i < merged.size(); ++i) {
    transfer.count[first + i] = static_cast<uint32_t>(merged[i].count);
    transfer.external_stride[first + i] = static_cast<int32_t>(merged[i].outside);
    transfer.scratchpad_stride[first + i] = static_cast<int32_t>(merged[i].inside);
  }
  if (load) {
    Add(kLoad, LoadCommand{transfer});
  } else {
    Add(kStore, StoreCommand{transfer});
  }
}

Slots::Slot Slots::Find(std::vector<int64_t> key) {
  Entry* oldest = &slots_[0];
  for (Entry& entry : slots_) {
    if (entry.used && entry.key == key) {
      entry.time = ++time_;
      return {entry.offset, true};
    }
    if (entry.time < oldest->time) oldest = &entry;
  }
  oldest->used = true;
  oldest->key = std::move(key);
  oldest->time = ++time_;
  return {oldest->offset, false};
}

uint64_t WeightStore::Add(uint64_t bytes, Maker maker) {
  const uint64_t offset = size_;
  pieces_.push_back({offset, bytes, std::move(maker)});
  size_ = (size_ + bytes + 63) / 64 * 64;
  return offset;
}

std::vector<WeightPiece> WeightStore::Make(const std::function<void(uint64_t done, uint64_t of)>& progress) const {
  std::vector<WeightPiece> made;
  for (const Piece& piece : pieces_) {
    progress(piece.offset, size_);
    const Made bytes_made = [&](uint64_t bytes) { progress(piece.offset + bytes, size_); };
    made.push_back({piece.offset, std::make_shared<const std::vector<std::byte>>(piece.maker(bytes_made))});
    if (made.back().bytes->size() != piece.bytes) throw std::logic_error("a constant isn't as large as it was said");
  }
  return made;
}

}  // namespace epiphyte::npusim
