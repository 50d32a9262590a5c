#include <cmath>
#include <limits>

#include "plugins/npu/simulator/isa/encoding.h"
#include "plugins/npu/simulator/isa/footprint.h"
#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

struct Bounds {
  int32_t low, high;
};

Bounds RangeOf(Type type) {
  switch (type) {
    case Type::kInt8: return {-128, 127};
    case Type::kUint8: return {0, 255};
    case Type::kInt16: return {-32768, 32767};
    case Type::kUint16: return {0, 65535};
    case Type::kInt32: break;
  }
  return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
}

void Require(bool holds, const char* rule) {
  if (!holds) throw BadProgram(rule);
}

void CheckType(Type type, bool only_bytes) {
  const bool bytes = type == Type::kInt8 || type == Type::kUint8;
  const bool halves = type == Type::kInt16 || type == Type::kUint16;
  Require(bytes || (halves && !only_bytes), only_bytes ? "a type isn't of 8 bits" : "a type isn't of 8 or 16 bits");
}

void CheckZeroPoint(Type type, int32_t zero_point) {
  const Bounds range = RangeOf(type);
  Require(zero_point >= range.low && zero_point <= range.high, "a zero point is out of its type's range");
}

void CheckOutput(Type type, int32_t zero_point, int32_t low, int32_t high, bool only_bytes) {
  CheckType(type, only_bytes);
  CheckZeroPoint(type, zero_point);
  const Bounds range = RangeOf(type);
  Require(low >= range.low && low <= high && high <= range.high, "the bounds of the result aren't in its type's range");
}

void CheckShift(int32_t shift) { Require(shift >= 1 && shift <= kMaxShift, "a shift isn't 1 to 62"); }

void CheckFlag(uint8_t flag) { Require(flag <= 1, "a flag isn't 0 or 1"); }

void CheckCounts(std::initializer_list<uint32_t> counts) {
  uint64_t product = 1;
  for (const uint32_t count : counts) {
    Require(count >= 1, "a count is 0");
    Require(count < (uint64_t{1} << 40) / product, "the counts are too many elements");
    product *= count;
  }
}

template <size_t N>
void CheckLoops(const std::array<uint32_t, N>& counts, uint64_t size) {
  uint64_t product = size;
  Require(size >= 1, "a run is empty");
  for (const uint32_t count : counts) {
    Require(count >= 1, "a count is 0");
    Require(count <= (uint64_t{1} << 40) / product, "the loops are too many elements");
    product *= count;
  }
}

void CheckWindow(const Window& w) {
  CheckCounts({w.height, w.width});
  Require(uint64_t{w.height} * w.width <= 16384, "a window has more than 16384 elements");
  Require(w.stride_y >= 1 && w.stride_x >= 1 && w.dilation_y >= 1 && w.dilation_x >= 1,
          "a stride or a dilation of a window is 0");
  constexpr uint32_t kMost = 1u << 20;
  Require(w.stride_y <= kMost && w.stride_x <= kMost && w.dilation_y <= kMost && w.dilation_x <= kMost,
          "a stride or a dilation of a window is over 2^20");
  Require(std::abs(int64_t{w.pad_y}) <= kMost && std::abs(int64_t{w.pad_x}) <= kMost,
          "the padding of a window is over 2^20");
}

// Checks the offset of a table that is read as 32-bit words.
void CheckAligned(uint32_t offset) { Require(offset % 4 == 0, "a table doesn't begin at a multiple of 4"); }
void CheckElements(Type type, std::initializer_list<int64_t> offsets) {
  for (const int64_t offset : offsets) {
    Require(offset % TypeSize(type) == 0, "an offset or a stride isn't a multiple of its element's size");
  }
}
template <size_t N>
void CheckElements(Type type, const std::array<int32_t, N>& strides) {
  for (const int32_t stride : strides) CheckElements(type, {stride});
}

struct Parameters {
  Queue queue;
  const Config& config;

  // The device copies tiles, so strides of 0 must not enlarge them much. Pixels may overlap, because kernel rows can be
  // folded into channels.
  void Fits(uint64_t rows, uint64_t columns, uint64_t channels) const {
    Require(rows * columns * channels <= uint64_t{16} * config.scratchpad_bytes,
            "a tile has more than 16 times as many elements as the scratchpad");
  }

  void In(std::initializer_list<Queue> queues) const {
    for (const Queue q : queues) {
      if (q == queue) return;
    }
    throw BadProgram("it is in a queue that doesn't execute it");
  }
  void operator()(const LoadCommand& c) const {
    In({kLoad});
    CheckLoops(c.count, c.run);
    Require(c.region < kOutputs, "it loads from an output");
  }
  void operator()(const StoreCommand& c) const {
    In({kStore});
    CheckLoops(c.count, c.run);
    Require(c.region == kScratch || c.region >= kOutputs, "it stores to what can only be read");
  }
  void operator()(const FillCommand& c) const {
    In({kLoad, kExecute});
    CheckLoops(c.count, c.element_size);
    Require(c.element_size == 1 || c.element_size == 2 || c.element_size == 4, "an element isn't of 1, 2 or 4 bytes");
  }
  void operator()(const ConvCommand& c) const {
    In({kExecute});
    CheckType(c.x_type, true);
    CheckType(c.w_type, true);
    CheckZeroPoint(c.x_type, c.x_zero_point);
    CheckZeroPoint(c.w_type, c.w_zero_point);
    CheckWindow(c.window);
    CheckCounts({c.height, c.width, c.in_channels});
    CheckCounts({c.out_height, c.out_width, c.out_channels});
    CheckCounts({c.window.height, c.window.width, c.in_channels, c.out_channels});
    Fits(c.height, c.width, c.in_channels);
    Fits(c.window.height, c.window.width, uint64_t{c.out_channels} * (c.depthwise != 0 ? 1 : c.in_channels));
    Require(uint64_t{c.out_height} * c.out_width * c.out_channels <= config.AccumulatorWords(),
            "a result is larger than the accumulators");
    CheckFlag(c.accumulate);
    CheckFlag(c.depthwise);
    CheckFlag(c.per_channel_zero_points);
    if (c.per_channel_zero_points != 0) CheckAligned(c.w_zero_points_offset);
    Require(c.depthwise == 0 || c.in_channels == c.out_channels, "channels in and out of a depthwise CONV differ");
  }
  void operator()(const PostCommand& c) const {
    In({kExecute, kStore});
    CheckCounts({c.height, c.width, c.channels});
    CheckOutput(c.y_type, c.y_zero_point, c.low, c.high, false);
    CheckElements(c.y_type, {c.y_offset, c.y_row_stride, c.y_pixel_stride});
    CheckAligned(c.table_offset);
    CheckFlag(c.lookup);
    if (c.lookup != 0) CheckType(c.y_type, true);
  }
  void operator()(const ElementwiseCommand& c) const {
    In({kExecute});
    Require(c.kind >= Elementwise::kAdd && c.kind <= Elementwise::kRescale, "there is no such elementwise operation");
    CheckLoops(c.count, 1);
    CheckType(c.a_type, false);
    CheckZeroPoint(c.a_type, c.a_zero_point);
    CheckElements(c.a_type, c.a_stride);
    CheckElements(c.a_type, {c.a_offset});
    if (c.kind != Elementwise::kRescale) {
      CheckType(c.b_type, false);
      CheckZeroPoint(c.b_type, c.b_zero_point);
      CheckElements(c.b_type, c.b_stride);
      CheckElements(c.b_type, {c.b_offset});
    }
    CheckOutput(c.y_type, c.y_zero_point, c.low, c.high, false);
    CheckElements(c.y_type, c.y_stride);
    CheckElements(c.y_type, {c.y_offset});
    CheckShift(c.shift);
    const auto fits = [](int64_t multiplier) { return std::abs(multiplier) <= int64_t{1} << 30; };
    Require(c.kind != Elementwise::kMul || fits(c.a_multiplier), "the multiplier of a product is over 2^30");
  }
  void operator()(const PoolCommand& c) const {
    In({kExecute});
    CheckFlag(c.average);
    CheckWindow(c.window);
    CheckCounts({c.height, c.width, c.channels});
    CheckCounts({c.out_height, c.out_width, c.channels});
    CheckType(c.x_type, false);
    CheckZeroPoint(c.x_type, c.x_zero_point);
    CheckElements(c.x_type, {c.x_offset, c.x_row_stride, c.x_pixel_stride});
    CheckOutput(c.y_type, c.y_zero_point, c.low, c.high, false);
    CheckElements(c.y_type, {c.y_offset, c.y_row_stride, c.y_pixel_stride});
    CheckShift(c.shift);
    Require(c.divisor <= 1u << 30, "a divisor is over 2^30");
  }
  void operator()(const LookupCommand& c) const {
    In({kExecute});
    CheckCounts({c.rows, c.columns});
    Require(c.y_element_size == 1 || c.y_element_size == 2 || c.y_element_size == 4,
            "an element isn't of 1, 2 or 4 bytes");
  }
  void operator()(const SoftmaxCommand& c) const {
    In({kExecute});
    CheckCounts({c.rows, c.columns});
    Require(c.columns <= 1u << 20, "a row has more than 2^20 elements");
    CheckType(c.x_type, true);
    CheckOutput(c.y_type, c.y_zero_point, c.low, c.high, true);
    CheckAligned(c.exponentials_offset);
  }
  void operator()(const LayerNormCommand& c) const {
    In({kExecute});
    CheckCounts({c.rows, c.columns});
    Require(c.columns <= 1u << 20, "a row has more than 2^20 elements");
    CheckType(c.x_type, false);
    CheckElements(c.x_type, {c.x_offset, c.x_row_stride});
    CheckOutput(c.y_type, c.y_zero_point, c.low, c.high, false);
    CheckElements(c.y_type, {c.y_offset, c.y_row_stride});
    CheckAligned(c.scale_offset);
    CheckAligned(c.bias_offset);
    Require(std::isfinite(c.epsilon) && c.epsilon >= 0, "an epsilon is negative or not finite");
  }
  void operator()(const ResizeCommand& c) const {
    In({kExecute});
    CheckCounts({c.height, c.width, c.channels});
    CheckCounts({c.out_height, c.out_width, c.channels});
    CheckType(c.x_type, true);
    CheckZeroPoint(c.x_type, c.x_zero_point);
    CheckOutput(c.y_type, c.y_zero_point, c.low, c.high, true);
    CheckAligned(c.rows_offset);
    CheckAligned(c.columns_offset);
    CheckShift(c.shift);
  }
};

uint64_t SizeOf(const RegionSizes& regions, uint32_t region) {
  if (region == kWeights) return regions.weights;
  if (region == kScratch) return regions.scratch;
  if (region >= kOutputs) {
    Require(region - kOutputs < regions.outputs.size(), "there is no such output");
    return regions.outputs[region - kOutputs];
  }
  Require(region >= kInputs && region - kInputs < regions.inputs.size(), "there is no such region");
  return regions.inputs[region - kInputs];
}

void CheckAccess(const Access& access, const Config& config, const RegionSizes& regions) {
  Require(access.Begin() >= 0, "it reaches below the beginning of a memory");
  __int128 size = 0;
  switch (access.space) {
    case Space::kScratchpad:
      size = config.scratchpad_bytes;
      Require(access.End() <= size, "it reaches beyond the scratchpad");
      break;
    case Space::kAccumulator:
      size = config.AccumulatorWords();
      Require(access.End() <= size, "it reaches beyond the accumulators");
      break;
    case Space::kExternal:
      size = SizeOf(regions, access.region);
      Require(access.End() <= size, "it reaches beyond a region of external memory");
      break;
  }
  if (!access.write) return;
  // With strides of 0 a command could run for days, and not every command can be cancelled within it.
  __int128 written = access.run;
  for (const uint64_t count : access.count) written *= count;
  Require(written <= 16 * size, "it writes more than 16 times as much as the memory has");
}

}  // namespace

void Verify(std::span<const Command> program, const Config& config, const RegionSizes& regions,
            const std::function<void()>& tick) {
  std::array<uint32_t, kQueueCount> given{};
  for (size_t i = 0; i < program.size(); ++i) {
    if (tick && i % 4096 == 0) tick();
    const Command& command = program[i];
    try {
      std::visit(Parameters{command.queue, config}, command.work);
      for (int q = 0; q < kQueueCount; ++q) {
        Require(command.wait[q] <= given[q], "it waits for a token that no earlier command gives");
      }
      ForEachAccess(command.work, [&](const Access& access) { CheckAccess(access, config, regions); });
    } catch (const BadProgram& e) {
      throw BadProgram("command " + std::to_string(i) + " (" + CommandName(command.work) + "): " + e.what());
    }
    ++given[command.queue];
  }
}

}  // namespace epiphyte::npusim
