#include "plugins/cpu/onednn/panel_window.h"

#include <algorithm>

#include "plugins/cpu/simd/gemm/panel_product.h"
#include "plugins/cpu/simd/gemm/row_times_panel.h"

namespace epiphyte::cpu {
namespace {

// Number of taps that are contiguous in every window: those of the last axis, without dilation and padding there.
int64_t TapsOfRun(const kit::ConvolutionShape& shape) {
  const kit::Window& window = shape.window;
  const size_t last = shape.spatial() - 1;
  return window.dilations[last] == 1 && window.pads_begin[last] == 0 && window.pads_end[last] == 0 ? window.kernel[last]
                                                                                                   : 1;
}

bool HasFewWindows(const kit::ConvolutionShape& shape) {
  // Limits for which the table of run positions stays small compared to the work.
  constexpr int64_t kMostRuns = 128;
  const int64_t rows = shape.x[0] * shape.positions();
  return rows > 0 && rows <= kMostPanelRows && shape.taps() / TapsOfRun(shape) <= kMostRuns;
}

}  // namespace

std::optional<Panels> WindowPanelsOf(const MemoryDesc& desc) {
  const BlockedDesc d = Describe(desc);
  if (!d.blocked || d.extra || TypeOf(desc) != dnnl::memory::data_type::f32 || d.dims.size() < 3 ||
      d.block_sizes.size() != 1 || d.block_dims[0] != 0 || !simd::IsPanelWidth(d.block_sizes[0]))
    return std::nullopt;
  // Channels are innermost, then the taps from the last dimension to the first, then panels.
  const int64_t width = d.block_sizes[0];
  int64_t stride = width;
  for (size_t i = d.dims.size(); i-- > 1;) {
    const size_t axis = i + 1 == d.dims.size() ? 1 : i + 1;
    if (d.padded[axis] != d.dims[axis] || d.strides[axis] != stride) return std::nullopt;
    stride *= d.dims[axis];
  }
  if (d.strides[0] != stride) return std::nullopt;
  return Panels{width, stride};
}

bool HasLongRuns(const kit::ConvolutionShape& shape) {
  constexpr int64_t kFewest = 16;
  return shape.in_per_group() * TapsOfRun(shape) >= kFewest;
}

std::optional<MemoryDesc> WidePanels(const MemoryDesc& desc, const kit::ConvolutionShape& shape) {
  const std::optional<Panels> panels = WindowPanelsOf(desc);
  if (!panels || panels->width == simd::kPanelWidth || shape.filters() < simd::kPanelWidth || !HasFewWindows(shape))
    return std::nullopt;
  BlockedDesc d = Describe(desc);
  d.block_sizes = {simd::kPanelWidth};
  d.padded[0] = (d.dims[0] + simd::kPanelWidth - 1) / simd::kPanelWidth * simd::kPanelWidth;
  for (int64_t& stride : d.strides) stride = stride / panels->width * simd::kPanelWidth;
  return MakeDesc(d, EP_TYPE_FLOAT);
}

std::optional<PanelWindow> PanelWindow::Of(const kit::ConvolutionShape& shape) {
  if (!HasFewWindows(shape)) return std::nullopt;
  const int64_t positions = shape.positions();
  PanelWindow result;
  result.rows_ = shape.x[0] * positions;
  const int64_t taps_of_run = TapsOfRun(shape), channels = shape.in_per_group();
  result.runs_ = shape.taps() / taps_of_run;
  result.run_ = taps_of_run * channels;
  result.filters_ = shape.filters();
  const kit::Window& window = shape.window;
  const size_t spatial = shape.spatial();
  for (int64_t run = 0; run < result.runs_; ++run) {
    for (int64_t row = 0; row < result.rows_; ++row) {
      int64_t pixel = 0, pixels = 1, rest = row % positions, taps = run * taps_of_run;
      bool inside = true;
      for (size_t i = spatial; i-- > 0;) {
        const int64_t at = rest % window.output[i] * window.strides[i] + taps % window.kernel[i] * window.dilations[i] -
                           window.pads_begin[i];
        inside &= at >= 0 && at < shape.x[i + 2];
        pixel += at * pixels;
        pixels *= shape.x[i + 2];
        rest /= window.output[i];
        taps /= window.kernel[i];
      }
      result.places_.push_back(inside ? (row / positions * pixels + pixel) * channels : -1);
    }
  }
  if (std::find(result.places_.begin(), result.places_.end(), -1) != result.places_.end())
    result.zeros_.assign(static_cast<size_t>(result.run_), 0.0f);
  return result;
}

void PanelWindow::Run(OpContext& context, const Panels& panels, const RowOperands& operands,
                      const Activation& activation) const {
  RowOperands o = operands;
  o.k = run_;
  o.n = filters_;
  const WindowRows windows{places_.data(), runs_, zeros_.data()};
  RowsTimesPanels(context, panels, o, rows_, activation, &windows);
}

}  // namespace epiphyte::cpu
