#include "plugins/cpu/ops/quantized/channels_last.h"

#include <algorithm>

#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/byte_transpose.h"

namespace epiphyte::cpu {
namespace {

AxisOrder LastOrder(size_t rank) {
  AxisOrder order = AxisOrder::RowMajor(rank);
  for (size_t i = 1; i + 1 < rank; ++i) order.axes[i] = static_cast<uint8_t>(i + 1);
  order.axes[rank - 1] = 1;
  return order;
}

// Row-major data is so, too.
bool IsBoth(const Dims& dims) { return dims[1] == 1 || dims.Count(2, dims.size()) == 1; }

// Matrices of bytes, each the other way round.
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
  constexpr int64_t kBlock = 16;  // channels that are read as they lie beside each other
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

TapLines::TapLines(const kit::Window& window, const Dims& dims)
    : window_(window), dims_(dims), last_(dims.size() - 3), lines_(dims[0]) {
  for (size_t d = 0; d < last_; ++d) {
    lines_of_taps_ *= window.kernel[d];
    lines_ *= window.output[d];
  }
  for (int64_t i = 0; i < positions(); ++i) along_.push_back(window.TapsInside(last_, i, dims[last_ + 2]));
}

void TapLines::Find(const uint8_t* x, int64_t line, const uint8_t* outside, int64_t slots,
                    std::vector<const uint8_t*>* rows) const {
  const int64_t channels = dims_[1], width = dims_[last_ + 2], kernel = window_.kernel[last_];
  rows->assign(static_cast<size_t>(positions() * slots), outside);
  Dims at(last_, 0);
  int64_t image = line;
  for (size_t d = last_; d-- > 0;) {
    at[d] = image % window_.output[d];
    image /= window_.output[d];
  }
  const uint8_t* const plane = x + image * dims_.Count(2, dims_.size()) * channels;
  for (int64_t outer = 0; outer < lines_of_taps_; ++outer) {
    int64_t offset = 0, rest = outer, stride = 1;
    bool is_inside = true;
    for (size_t d = last_; d-- > 0;) {
      const int64_t position =
          at[d] * window_.strides[d] - window_.pads_begin[d] + rest % window_.kernel[d] * window_.dilations[d];
      rest /= window_.kernel[d];
      is_inside = is_inside && position >= 0 && position < dims_[d + 2];
      offset += position * stride;
      stride *= dims_[d + 2];
    }
    if (!is_inside) continue;
    const uint8_t* const from = plane + offset * width * channels;
    for (int64_t i = 0; i < positions(); ++i) {
      const kit::Taps& taps = along_[static_cast<size_t>(i)];
      const uint8_t** const to = rows->data() + i * slots + outer * kernel + taps.skipped;
      for (int64_t t = 0; t < taps.count; ++t) to[t] = from + (taps.first + t * window_.dilations[last_]) * channels;
    }
  }
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
