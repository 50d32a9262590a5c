// Writes down commands: transfers of boxes of any shape, however many loops that takes, and buffers in the part of the
// scratchpad that the layer may use.
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

// A loop of a transfer, of elements of one byte: how far it goes outside, and how far on the chip.
struct Loop {
  int64_t count = 1;
  int64_t outside = 0;
  int64_t inside = 0;
};

// The part of the scratchpad that a layer has its buffers in; at a multiple of 64.
struct Arena {
  uint32_t begin = 0, size = 0;
};

// A tiling whose buffers don't fit; the search goes on with the next.
class DoesNotFit : public std::runtime_error {
 public:
  DoesNotFit() : std::runtime_error("the tile doesn't fit in the scratchpad") {}
};

// Constants of the blob, made when they are needed: looking whether a graph can be compiled makes none.
class WeightStore {
 public:
  // Told while a constant is made, at least once for each kStep bytes, how many of its bytes are there; may throw to
  // stop.
  using Made = std::function<void(uint64_t bytes)>;
  static constexpr uint64_t kStep = uint64_t{1} << 20;
  using Maker = std::function<std::vector<std::byte>(const Made& made)>;

  uint64_t Add(uint64_t bytes, Maker maker);
  uint64_t size() const { return size_; }
  // progress: bytes of all constants, called for each piece and each kStep bytes.
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
  // downward: buffers come from the end of the arena. Layers that do it in turns leave each other's buffers alone where
  // there is room, so that one loads while the other still works.
  Emitter(const Config& config, const std::vector<Placement>& placements, Arena arena, bool downward = false)
      : config(config), placements_(placements), arena_(arena), downward_(downward) {}

  const Config& config;
  std::vector<Command> program;
  uint32_t op = 0;  // of the commands that follow
  // Where Constant() goes; null while a tiling is only tried.
  WeightStore* weights = nullptr;
  size_t most_commands = SIZE_MAX;  // more than that: DoesNotFit
  std::function<void()> tick;       // called now and then
  bool only_fits = false;           // the first command throws Fits: buffers are there before commands

  bool Resident(StorageId storage) const { return placements_[storage].resident; }
  // A byte of a resident storage in the scratchpad.
  uint32_t At(StorageId storage, int64_t offset) const {
    return static_cast<uint32_t>(static_cast<int64_t>(placements_[storage].offset) + offset);
  }

  uint32_t Allocate(uint64_t bytes);
  // What was allocated since the mark may be overwritten by what is allocated next.
  uint32_t Mark() const { return used_; }
  void Release(uint32_t mark) { used_ = mark; }

  void Add(Queue queue, QuantizedOp work);
  void Load(StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t to) {
    Move(true, storage, offset, std::move(loops), to);
  }
  void Store(StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t from) {
    Move(false, storage, offset, std::move(loops), from);
  }
  // bytes of the weights, contiguous on both sides.
  void LoadWeights(uint64_t at, uint32_t bytes, uint32_t to);
  // Loops outside within the weights' piece at `at`.
  void LoadWeights(uint64_t at, std::vector<Loop> loops, uint32_t to);
  // A constant that depends on the tiling: where it stands in the weights.
  uint64_t Constant(std::vector<std::byte> bytes);

 private:
  void Move(bool load, StorageId storage, int64_t offset, std::vector<Loop> loops, uint32_t inside);
  void MoveLoops(bool load, uint32_t region, int64_t outside, std::vector<Loop> loops, int64_t inside);

  const std::vector<Placement>& placements_;
  Arena arena_;
  bool downward_;
  uint32_t used_ = 0;
};

// Buffers of one size, of which the one that was used longest ago is taken anew; what is still in one isn't loaded
// again.
class Slots {
 public:
  Slots(Emitter& emit, uint64_t bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) slots_.push_back({emit.Allocate(bytes), false, {}, 0});
  }
  struct Slot {
    uint32_t offset;
    bool filled;  // with what the key says
  };
  template <typename Key>
  Slot Get(const Key& key) {
    return Find(std::vector<int64_t>(key.begin(), key.end()));
  }
  Slot Get(std::initializer_list<int64_t> key) { return Find(key); }
  // For what is only written.
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
