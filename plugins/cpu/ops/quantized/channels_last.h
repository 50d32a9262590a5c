// Bytes with channels last, which is how convolutions and pools of bytes like them, and what becomes of their results.
//
//     const uint8_t* x = ChannelsLast(context, 0, &state.x);        // [N, positions…, C]
//     LastOutput output(context, EP_TYPE_UINT8, dims, &state.y);    // write [N, positions…, C] to output.data()
//     …
//     output.Finish(context);
//
//     const TapLines taps(window, x.dims);
//     taps.Find(x, line, outside, taps.taps(), &rows);   // rows[i * taps() + t]: what tap t of position i reads
//     const TapRun run = taps.FindRun(x, line, outside, slots, &rows);   // the same, with less to write
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Where a tensor's dimensions have the channels: in the second place as in ONNX, or at the end, as some operators of
// com.microsoft have them.
enum class ChannelAxis : uint8_t { kSecond, kLast };
// Dimensions of rank 3 or more as ONNX has them, and back.
Dims WithChannelsSecond(const Dims& dims, ChannelAxis axis);
Dims WithChannels(const Dims& dims, ChannelAxis axis);

// The bytes of input i, which has a rank of at least 3: as they lie, or a copy in scratch memory.
const uint8_t* ChannelsLast(OpContext& context, size_t i, ChannelAxis axis = ChannelAxis::kSecond);
// Whether they lie so.
bool LiesChannelsLast(const Tensor& tensor);

// Kept between runs.
struct LastLayout {
  Dims dims;
  std::shared_ptr<const Layout> layout;
};

// Output 0: bytes, int32 or floats. `dims` are [N, C, …], whatever the axis.
class LastOutput {
 public:
  LastOutput(OpContext& context, ElementType type, const Dims& dims, LastLayout* layout,
             ChannelAxis axis = ChannelAxis::kSecond);
  void* data() const { return data_; }
  // Makes it row-major where that is what its readers want.
  void Finish(OpContext& context) const;

 private:
  template <typename T>
  void TransposeWords(OpContext& context) const;

  Tensor* tensor_ = nullptr;
  void* data_ = nullptr;
};

// Positions of a result along dimension `d` whose windows lie wholly inside of the input's `size` elements, which are
// beside each other.
struct PositionRange {
  int64_t first = 0, end = 0;
  bool Has(int64_t i) const { return i >= first && i < end; }
};
PositionRange PositionsInside(const kit::Window& window, size_t d, int64_t size);

// Positions of a line that each read `step` bytes behind the one before it.
struct TapRun {
  PositionRange positions;
  int64_t step = 0;
};

// Where windows read, a line of positions at a time: those of the last dimension.
class TapLines {
 public:
  // Of an input of `dims`, [N, C, …], that lies with channels last.
  TapLines(const kit::Window& window, const Dims& dims);

  int64_t taps() const { return lines_of_taps_ * window_.kernel[last_]; }
  int64_t lines() const { return lines_; }
  int64_t positions() const { return window_.output[last_]; }
  // For position i of the line rows[i * slots + t] is the row of channels that tap t reads, or `outside`; as are slots
  // beyond the taps.
  void Find(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
            std::vector<const uint8_t*>* rows) const;
  // Likewise, but of the run that it returns only the rows of the first position are written; slots beyond the taps are
  // rows that lie as far inside as its taps do.
  TapRun FindRun(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
                 std::vector<const uint8_t*>* rows) const;
  // How many taps of the line's position i lie in the padded input.
  int64_t InPadded(int64_t line, int64_t i) const;

 private:
  // Where the line of the input begins that line `outer` of the taps reads; null: it lies outside.
  const uint8_t* LineOfTaps(const uint8_t* plane, const Dims& at, int64_t outer) const;
  // The image that a line belongs to, and where the line is in it.
  const uint8_t* PlaneOf(const uint8_t* x, int64_t line, Dims* at) const;
  void FindAlong(const uint8_t* from, int64_t first, int64_t end, int64_t slots, const uint8_t** rows) const;

  kit::Window window_;
  Dims dims_;
  size_t last_;
  std::vector<kit::Taps> along_;  // of each position of a line, in the last dimension
  PositionRange inside_;          // in the last dimension
  int64_t lines_of_taps_ = 1, lines_ = 0;
};

}  // namespace epiphyte::cpu
