// Convolutions of one group as GEMMs with packed panels (row_product.h). oneDNN's weights for channels-last images are
// such panels, with a row for each tap and channel. A row of the left operand is a window, which is not copied: the
// positions of its taps are computed once for a shape.
//
//     const std::optional<Panels> panels = WindowPanelsOf(packed.desc);
//     state.window = PanelWindow::Of(shape);                                    // once for each shape
//     state.window->Run(context, *panels, operands, activation);                // channels last
#pragma once

#include <optional>
#include <vector>

#include "epiphyte/kit/shape/convolution.hpp"
#include "plugins/cpu/onednn/row_product.h"

namespace epiphyte::cpu {

// Nullopt unless weights [M, C, k…] have a layout of panels.
std::optional<Panels> WindowPanelsOf(const MemoryDesc& desc);

// True when a channels-last window has long enough contiguous runs for a GEMM to pay.
bool HasLongRuns(const kit::ConvolutionShape& shape);

// Returns panels of the fastest width, to replace the weights of convolutions with that shape; nullopt when the weights
// keep the layout `desc`.
std::optional<MemoryDesc> WidePanels(const MemoryDesc& desc, const kit::ConvolutionShape& shape);

class PanelWindow {
 public:
  // Nullopt for more than kMostPanelRows windows, and for large windows.
  static std::optional<PanelWindow> Of(const kit::ConvolutionShape& shape);

  // y = activation(x * W + bias + sum). `a`: the images; `b`: panels of floats; the residual has the layout of y.
  void Run(OpContext& context, const Panels& panels, const RowOperands& operands, const Activation& activation) const;

 private:
  int64_t rows_ = 0, runs_ = 0, run_ = 0, filters_ = 0;
  std::vector<int64_t> places_;  // by run and row: offset of the run's numbers; -1: padding
  std::vector<float> zeros_;     // as long as a run; empty without padding
};

}  // namespace epiphyte::cpu
