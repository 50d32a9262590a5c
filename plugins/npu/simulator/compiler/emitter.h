// Emits commands: transfers of boxes of any shape, in as many loops as needed, and buffers in the layer's part of the
// scratchpad.
//
//   Emitter emit(config, placements, arena);
//   uint32_t tile = emit.Allocate(bytes);
//   emit.Load(x.storage, x.offset, {{rows, row_stride, tile_row}, {columns, 1, 1}}, tile);
//   emit.Add(kExecute, conv);
//   AssignTokens(emit.program, config);                 // tokens.h
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "plugins/npu/simulator/blob/blob.h"
#include "plugins/npu/simulator/compiler/storage.h"
#include "plugins/npu/simulator/isa/config.h"

namespace epiphyte::npusim {

// A loop of a transfer, in elements of one byte: count, step in external memory, and step on the chip.
struct Loop {
  int64_t count = 1;
  int64_t outside = 0;
  int64_t inside = 0;
};

// The part of the scratchpad that holds a layer's buffers; it begins at a multiple of 64.
struct Arena {
  uint32_t begin = 0, size = 0;
};

// Thrown if the buffers of a tiling don't fit; the search goes on with the next tiling.
class DoesNotFit : public std::runtime_error {
 public:
  DoesNotFit() : std::runtime_error("the tile doesn't fit in the scratchpad") {}
};

// Constants of the blob, computed only on demand. Checking whether a graph can be compiled computes none.
class WeightStore {
 public:
  // Called while a constant is made, at least once for each kStep bytes, with the number of bytes that are done. It may
  // throw to stop.
  using Made = std::function<void(uint64_t bytes)>;
  static constexpr uint64_t kStep = uint64_t{1} << 20;
  using Maker = std::function<std::vector<std::byte>(const Made& made)>;

  uint64_t Add(uint64_t bytes, Maker maker);
  uint64_t size() const { return size_; }
  // `progress` counts bytes of all constants. It is called for each piece and each kStep bytes.
  std::vector<WeightPiece> Make(const std::function<void(uint64_t done, uint64_t of)>& progress) const;

 private:
  struct Piece {
    uint64_t offset;
    uint64_t bytes;
    Maker maker;
  };
  std::vector<Piece> pieces_;
  uint64_t size_ = 0;
};

struct Fits {};

class Emitter {
 public:
  // With `downward`, buffers come from the end of the arena. Layers alternate the direction, so that they don't share
  // buffers if there is room. Then one loads while the other still works.
  Emitter(const Config& config, const std::vector<Placement>& placements, Arena arena, bool downward = false)
      : config(config), placements_(placements), arena_(arena), downward_(downward) {}

  const Config& config;
  std::vector<Command> program;
  uint32_t op = 0;  // operator of the commands that follow
  // Receives Constant(); null while a tiling is only tried.
  WeightStore* weights = nullptr;
  size_t most_commands = SIZE_MAX;  // more commands throw DoesNotFit
  std::function<void()> tick;       // called from time to time
  bool only_fits = false;           // the first command throws Fits: buffers are allocated before commands

  bool Resident(StorageId storage) const { return placements_[storage].resident; }
  // The scratchpad address of a byte of a resident storage.
  uint32_t At(StorageId storage, int64_t offset) const {
    return static_cast<uint32_t>(static_cast<int64_t>(placements_[storage].offset) + offset);
  }

  uint32_t Allocate(uint64_t bytes);
  // Allocations since the mark may be overwritten by later ones.
  uint32_t Mark() const { return used_; }
  void Release(uint32_t mark) { used_ = mark; }

  void Add(Queue queue, QuantizedOp work);
  void Load(StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t to) {
    Move(true, storage, offset, std::move(loops), to);
  }
  void Store(StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t from) {
    Move(false, storage, offset, std::move(loops), from);
  }
  // Loads `bytes` bytes of the weights, contiguous on both sides.
  void LoadWeights(uint64_t at, uint32_t bytes, uint32_t to);
  // The external side of the loops lies within the weights' piece at `at`.
  void LoadWeights(uint64_t at, std::vector<Loop> loops, uint32_t to);
  // Adds a constant that depends on the tiling and returns its offset in the weights.
  uint64_t Constant(std::vector<std::byte> bytes);

 private:
  void Move(bool load, StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t inside);
  void MoveLoops(bool load, uint32_t region, int64_t outside, std::vector<Loop> loops, int64_t inside);

  const std::vector<Placement>& placements_;
  Arena arena_;
  bool downward_;
  uint32_t used_ = 0;
};

// Buffers of one size, reused in least-recently-used order. Contents that are still in a buffer aren't loaded again.
class Slots {
 public:
  Slots(Emitter& emit, uint64_t bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) slots_.push_back({emit.Allocate(bytes), false, {}, 0});
  }
  struct Slot {
    uint32_t offset;
    bool filled;  // the slot already holds the contents of the key
  };
  template <typename Key>
  Slot Get(const Key& key) {
    return Find(std::vector<int64_t>(key.begin(), key.end()));
  }
  Slot Get(std::initializer_list<int64_t> key) { return Find(key); }
  // Takes a slot that is only written.
  uint32_t Next() { return Find({++fresh_}).offset; }

 private:
  struct Entry {
    uint32_t offset;
    bool used;
    std::vector<int64_t> key;
    uint64_t time;
  };
  Slot Find(std::vector<int64_t> key);

  std::vector<Entry> slots_;
  uint64_t time_ = 0;
  int64_t fresh_ = 0;
};

}  // namespace epiphyte::npusim
