// Bytes with channels last, the preferred layout of byte convolutions and pools, and the layout of their results.
//
//     const uint8_t* x = ChannelsLast(context, 0, &state.x);        // [N, positions…, C]
//     LastOutput output(context, EP_TYPE_UINT8, dims, &state.y);    // write [N, positions…, C] to output.data()
//     …
//     output.Finish(context);
//
//     const TapLines taps(window, x.dims);
//     taps.Find(x, line, outside, taps.taps(), &rows);   // rows[i * taps() + t]: row for tap t of position i
//     const TapRun run = taps.FindRun(x, line, outside, slots, &rows);   // writes fewer entries
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "epiphyte/kit/shape/window.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// Position of the channels in a tensor's dimensions: second as in ONNX, or last as in some operators of com.microsoft.
enum class ChannelAxis : uint8_t { kSecond, kLast };
// Convert dimensions of rank 3 or more to ONNX order, and back.
Dims WithChannelsSecond(const Dims& dims, ChannelAxis axis);
Dims WithChannels(const Dims& dims, ChannelAxis axis);

// Returns the bytes of input i (of rank 3 or more) with channels last: in place, or as a copy in scratch memory.
const uint8_t* ChannelsLast(OpContext& context, size_t i, ChannelAxis axis = ChannelAxis::kSecond);
// True when the tensor already has channels last.
bool LiesChannelsLast(const Tensor& tensor);

// Layout of an output, kept between runs.
struct LastLayout {
  Dims dims;
  std::shared_ptr<const Layout> layout;
};

// Output 0: bytes, int32 or floats. `dims` are [N, C, …] for either axis.
class LastOutput {
 public:
  LastOutput(OpContext& context, ElementType type, const Dims& dims, LastLayout* layout,
             ChannelAxis axis = ChannelAxis::kSecond);
  void* data() const { return data_; }
  // Converts the output to row-major if its readers want that.
  void Finish(OpContext& context) const;

 private:
  template <typename T>
  void TransposeWords(OpContext& context) const;

  Tensor* tensor_ = nullptr;
  void* data_ = nullptr;
};

// Range of result positions along dimension `d` with windows entirely inside the input's `size` elements.
struct PositionRange {
  int64_t first = 0, end = 0;
  bool Has(int64_t i) const { return i >= first && i < end; }
};
PositionRange PositionsInside(const kit::Window& window, size_t d, int64_t size);

// Positions of a line that each read `step` bytes behind the previous one.
struct TapRun {
  PositionRange positions;
  int64_t step = 0;
};

// Input positions of windows, one line (along the last dimension) at a time.
class TapLines {
 public:
  // For an input of dimensions `dims`, [N, C, …], stored with channels last.
  TapLines(const kit::Window& window, const Dims& dims);

  int64_t taps() const { return lines_of_taps_ * window_.kernel[last_]; }
  int64_t lines() const { return lines_; }
  int64_t positions() const { return window_.output[last_]; }
  // Sets rows[i * slots + t] to the channel row that tap t of the line's position i reads, or to `outside`. Slots
  // beyond the taps are `outside` too.
  void Find(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
            std::vector<const uint8_t*>* rows) const;
  // Like Find, but writes only the first position's rows of the returned run. Slots beyond the taps get rows that stay
  // inside the input as long as the taps do.
  TapRun FindRun(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
                 std::vector<const uint8_t*>* rows) const;
  // Number of taps of the line's position i inside the padded input.
  int64_t InPadded(int64_t line, int64_t i) const;

 private:
  // Start of the input line that line `outer` of the taps reads; null: outside.
  const uint8_t* LineOfTaps(const uint8_t* plane, const Dims& at, int64_t outer) const;
  // Image of a line; *at: the line's position in it.
  const uint8_t* PlaneOf(const uint8_t* x, int64_t line, Dims* at) const;
  void FindAlong(const uint8_t* from, int64_t first, int64_t end, int64_t slots, const uint8_t** rows) const;

  kit::Window window_;
  Dims dims_;
  size_t last_;
  std::vector<kit::Taps> along_;  // taps of each position of a line, in the last dimension
  PositionRange inside_;          // in the last dimension
  int64_t lines_of_taps_ = 1, lines_ = 0;
};

}  // namespace epiphyte::cpu
