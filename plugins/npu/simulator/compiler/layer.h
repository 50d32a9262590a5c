// A lowered operator. It becomes commands once its tiling and the placement of its tensors are known. A tiling is a
// list of numbers that only the layer interprets. Layers list their tilings with the simplest one first.
//
//   std::vector<Tiling> tilings = layer.Tilings(config, Choices::kSome);
//   Emitter emit(config, placements, arena);
//   layer.Emit(tilings[i], emit);            // or DoesNotFit
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/npu/simulator/compiler/emitter.h"

namespace epiphyte::npusim {

using Tiling = std::array<uint32_t, 8>;

// Granularity of a layer's list of tilings.
enum class Choices { kFirst, kSome, kAll };

class Layer {
 public:
  virtual ~Layer() = default;

  uint32_t op = 0;
  std::vector<StorageId> reads, writes;

  virtual std::vector<Tiling> Tilings(const Config& config, Choices choices) const = 0;
  // Lower bound of the cycles of any program with this tiling. It rules tilings out without emitting them.
  virtual uint64_t LeastCycles(const Tiling& tiling, const Config& config) const {
    (void)tiling, (void)config;
    return 0;
  }
  // Throws DoesNotFit.
  virtual void Emit(const Tiling& tiling, Emitter& emit) const = 0;
  // Whether the layer can work on the storage in place, in the scratchpad.
  virtual bool TakesResident(StorageId storage) const = 0;
};

// Images in a storage, one for each of the layer's instances (batch, groups): [rows][pixels][channels].
struct ImageView {
  StorageId storage = kNoStorage;
  std::vector<int64_t> base;  // by instance
  int64_t row = 0, pixel = 0, channel = 1;

  int64_t At(size_t instance, int64_t y, int64_t x, int64_t c) const {
    return base[instance] + y * row + x * pixel + c * channel;
  }
};

inline uint32_t CeilDivide(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
inline uint32_t RoundUp(uint32_t value, uint32_t to) { return CeilDivide(value, to) * to; }
// Size of a part when `size` is split into the fewest parts of at most `most`, all of about one size.
inline uint32_t EvenPart(uint32_t size, uint32_t most) {
  return CeilDivide(size, CeilDivide(size, std::max(1u, most)));
}

struct Range {
  uint32_t begin = 0, end = 0;
  uint32_t Size() const { return end - begin; }
};

// Part i of [0, of), in parts of `size`.
inline Range PartOf(uint32_t i, uint32_t size, uint32_t of) { return {i * size, std::min(of, (i + 1) * size)}; }

// Range of an image of `size` that the windows of results [begin, end) see. It is never empty, even if they see only
// padding.
inline Range SeenBy(Range result, uint32_t stride, uint32_t dilation, uint32_t kernel, int32_t pad, uint32_t size) {
  const int64_t begin = int64_t{result.begin} * stride - pad;
  const int64_t end = int64_t{result.end - 1} * stride - pad + int64_t{kernel - 1} * dilation + 1;
  const int64_t first = std::clamp<int64_t>(begin, 0, size - 1);
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(std::clamp<int64_t>(end, first + 1, size))};
}

}  // namespace epiphyte::npusim
