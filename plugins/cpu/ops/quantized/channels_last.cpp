#include "plugins/cpu/ops/quantized/channels_last.h"

#include <algorithm>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/convert/byte_transpose.h"

namespace epiphyte::cpu {
namespace {

AxisOrder LastOrder(size_t rank) {
  AxisOrder order = AxisOrder::RowMajor(rank);
  for (size_t i = 1; i + 1 < rank; ++i) order.axes[i] = static_cast<uint8_t>(i + 1);
  order.axes[rank - 1] = 1;
  return order;
}

// True when row-major data also has channels last.
bool IsBoth(const Dims& dims) { return dims[1] == 1 || dims.Count(2, dims.size()) == 1; }

// Transposes matrices of bytes.
void TransposeAll(OpContext& context, const uint8_t* from, int64_t matrices, int64_t rows, int64_t columns,
                  uint8_t* to) {
  constexpr int64_t kColumns = 1024;
  const int64_t pieces = (columns + kColumns - 1) / kColumns;
  ParallelLoop(context, matrices * pieces, rows * std::min(columns, kColumns) / 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t base = i / pieces * rows * columns, column = i % pieces * kColumns;
      simd::TransposeBytes(from + base + column, columns, rows, std::min(kColumns, columns - column),
                           to + base + column * rows, rows);
    }
  });
}

}  // namespace

bool LiesChannelsLast(const Tensor& tensor) {
  if (tensor.rank() < 3) return false;
  if (tensor.layout == nullptr) return IsBoth(tensor.dims);
  const std::optional<AxisOrder>& order = tensor.layout->order;
  return order && *order == LastOrder(tensor.rank());
}

Dims WithChannelsSecond(const Dims& dims, ChannelAxis axis) {
  Dims result = dims;
  if (axis == ChannelAxis::kLast) std::rotate(result.begin() + 1, result.end() - 1, result.end());
  return result;
}
Dims WithChannels(const Dims& dims, ChannelAxis axis) {
  Dims result = dims;
  if (axis == ChannelAxis::kLast) std::rotate(result.begin() + 1, result.begin() + 2, result.end());
  return result;
}

const uint8_t* ChannelsLast(OpContext& context, size_t i, ChannelAxis axis) {
  if (axis == ChannelAxis::kLast) return context.Input(i).as<uint8_t>();
  const Tensor& any = context.AnyLayoutInput(i);
  if (LiesChannelsLast(any)) return any.as<uint8_t>();
  const Tensor& x = context.Input(i);
  if (x.Count() == 0) return x.as<uint8_t>();
  auto* const copy = static_cast<uint8_t*>(context.Scratch(x.Bytes()));
  TransposeAll(context, x.as<uint8_t>(), x.dims[0], x.dims[1], x.dims.Count(2, x.rank()), copy);
  return copy;
}

LastOutput::LastOutput(OpContext& context, ElementType type, const Dims& dims, LastLayout* layout, ChannelAxis axis) {
  if (axis == ChannelAxis::kLast) {
    tensor_ = &context.Output(0, type, WithChannels(dims, axis));
    data_ = tensor_->data;
    return;
  }
  const bool as_it_is = dims.Count() == 0 || IsBoth(dims);
  if (as_it_is || dims.size() > AxisOrder::kMostAxes || context.WantsRowMajor(0)) {
    tensor_ = &context.Output(0, type, dims);
    data_ = as_it_is ? tensor_->data : context.Scratch(tensor_->Bytes());
    return;
  }
  if (layout->layout == nullptr || !(layout->dims == dims)) {
    layout->layout = MakeLayout(LastOrder(dims.size()), type, dims);
    layout->dims = dims;
  }
  const uint64_t bytes = ElementBytes(type, static_cast<uint64_t>(dims.Count()));
  tensor_ = &context.OutputWithLayout(0, type, dims, layout->layout, bytes);
  data_ = tensor_->data;
}

void LastOutput::Finish(OpContext& context) const {
  if (data_ == tensor_->data) return;
  const Dims& dims = tensor_->dims;
  const int64_t positions = dims.Count(2, dims.size());
  if (ElementBytes(tensor_->type, 1) == 1)
    return TransposeAll(context, static_cast<const uint8_t*>(data_), dims[0], positions, dims[1],
                        tensor_->as<uint8_t>());
  if (tensor_->type == EP_TYPE_FLOAT) return TransposeWords<float>(context);
  TransposeWords<int32_t>(context);
}

template <typename T>
void LastOutput::TransposeWords(OpContext& context) const {
  const Dims& dims = tensor_->dims;
  const int64_t positions = dims.Count(2, dims.size());
  constexpr int64_t kBlock = 16;  // adjacent channels that are read together
  const int64_t channels = dims[1], blocks = (channels + kBlock - 1) / kBlock;
  ParallelLoop(context, dims[0] * blocks, positions * kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / blocks * channels * positions, first = i % blocks * kBlock;
      const int64_t last = std::min(first + kBlock, channels);
      const T* from = static_cast<const T*>(data_) + image;
      T* const to = tensor_->as<T>() + image;
      for (int64_t p = 0; p < positions; ++p, from += channels)
        for (int64_t c = first; c < last; ++c) to[c * positions + p] = from[c];
    }
  });
}

PositionRange PositionsInside(const kit::Window& window, size_t d, int64_t size) {
  const int64_t stride = window.strides[d], pads = window.pads_begin[d];
  const int64_t last = size + pads - 1 - (window.kernel[d] - 1) * window.dilations[d];  // greatest start of a window
  PositionRange range;
  range.first = pads > 0 ? (pads + stride - 1) / stride : 0;
  range.end = last < 0 ? 0 : std::min(window.output[d], last / stride + 1);
  range.end = std::max(range.end, range.first);
  return range;
}

TapLines::TapLines(const kit::Window& window, const Dims& dims)
    : window_(window), dims_(dims), last_(dims.size() - 3), lines_(dims[0]) {
  for (size_t d = 0; d < last_; ++d) {
    lines_of_taps_ *= window.kernel[d];
    lines_ *= window.output[d];
  }
  for (int64_t i = 0; i < positions(); ++i) along_.push_back(window.TapsInside(last_, i, dims[last_ + 2]));
  inside_ = PositionsInside(window, last_, dims[last_ + 2]);
}

const uint8_t* TapLines::PlaneOf(const uint8_t* x, int64_t line, Dims* at) const {
  for (size_t d = last_; d-- > 0;) {
    (*at)[d] = line % window_.output[d];
    line /= window_.output[d];
  }
  return x + line * dims_.Count(2, dims_.size()) * dims_[1];
}

const uint8_t* TapLines::LineOfTaps(const uint8_t* plane, const Dims& at, int64_t outer) const {
  int64_t offset = 0, stride = 1;
  for (size_t d = last_; d-- > 0;) {
    const int64_t position =
        at[d] * window_.strides[d] - window_.pads_begin[d] + outer % window_.kernel[d] * window_.dilations[d];
    if (position < 0 || position >= dims_[d + 2]) return nullptr;
    outer /= window_.kernel[d];
    offset += position * stride;
    stride *= dims_[d + 2];
  }
  return plane + offset * dims_[last_ + 2] * dims_[1];
}

void TapLines::FindAlong(const uint8_t* from, int64_t first, int64_t end, int64_t slots, const uint8_t** rows) const {
  const int64_t channels = dims_[1], step = window_.dilations[last_] * channels;
  for (int64_t i = first; i < end; ++i) {
    const kit::Taps& taps = along_[static_cast<size_t>(i)];
    const uint8_t** const to = rows + i * slots + taps.skipped;
    for (int64_t t = 0; t < taps.count; ++t) to[t] = from + taps.first * channels + t * step;
  }
}

void TapLines::Find(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
                    std::vector<const uint8_t*>* rows) const {
  rows->assign(static_cast<size_t>(positions() * slots), outside);
  Dims at(last_, 0);
  const uint8_t* const plane = PlaneOf(x, line, &at);
  for (int64_t outer = 0; outer < lines_of_taps_; ++outer) {
    const uint8_t* const from = LineOfTaps(plane, at, outer);
    if (from != nullptr) FindAlong(from, 0, positions(), slots, rows->data() + outer * window_.kernel[last_]);
  }
}

TapRun TapLines::FindRun(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
                         std::vector<const uint8_t*>* rows) const {
  Dims at(last_, 0);
  const uint8_t* const plane = PlaneOf(x, line, &at);
  bool is_whole = inside_.first < inside_.end;
  for (int64_t outer = 0; is_whole && outer < lines_of_taps_; ++outer)
    is_whole = LineOfTaps(plane, at, outer) != nullptr;
  if (!is_whole) {
    Find(x, line, outside, slots, rows);
    return {};
  }
  rows->resize(static_cast<size_t>(positions() * slots));
  std::fill_n(rows->begin(), inside_.first * slots, outside);
  std::fill(rows->begin() + inside_.end * slots, rows->end(), outside);
  for (int64_t outer = 0; outer < lines_of_taps_; ++outer) {
    const uint8_t* const from = LineOfTaps(plane, at, outer);
    const uint8_t** const to = rows->data() + outer * window_.kernel[last_];
    FindAlong(from, 0, inside_.first + 1, slots, to);
    FindAlong(from, inside_.end, positions(), slots, to);
  }
  const auto begin = rows->begin() + inside_.first * slots;
  std::fill(begin + taps(), begin + slots, *begin);
  return {inside_, window_.strides[last_] * dims_[1]};
}

int64_t TapLines::InPadded(int64_t line, int64_t i) const {
  int64_t count = window_.TapsInPadded(last_, i, dims_[last_ + 2]);
  for (size_t d = last_; d-- > 0;) {
    count *= window_.TapsInPadded(d, line % window_.output[d], dims_[d + 2]);
    line /= window_.output[d];
  }
  return count;
}

}  // namespace epiphyte::cpu
