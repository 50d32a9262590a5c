// Convolutions of one group as products with packed panels (row_product.h): oneDNN's weights for images with channels
// last are such, of as many rows as there are taps and channels. A row on the left is a window, which isn't copied:
// where its taps lie is worked out once for a shape.
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

// Nullopt when the layout of weights [M, C, k…] is no such one.
std::optional<Panels> WindowPanelsOf(const MemoryDesc& desc);

// Whether enough numbers of a window lie side by side, with channels last, for products to be worth it.
bool HasLongRuns(const kit::ConvolutionShape& shape);

// Panels as wide as they are multiplied fastest, in place of weights for convolutions of that shape; nullopt where
// `desc` is what they shall stay.
std::optional<MemoryDesc> WidePanels(const MemoryDesc& desc, const kit::ConvolutionShape& shape);

class PanelWindow {
 public:
  // Nullopt for more windows than kMostPanelRows, or for large ones.
  static std::optional<PanelWindow> Of(const kit::ConvolutionShape& shape);

  // y = activation(x * W + bias + sum), where `a` is the images, `b` panels of floats, and the residual lies as y.
  void Run(OpContext& context, const Panels& panels, const RowOperands& operands, const Activation& activation) const;

 private:
  int64_t rows_ = 0, runs_ = 0, run_ = 0, filters_ = 0;
  std::vector<int64_t> places_;  // by run and row: where its numbers begin; -1: in the padding
  std::vector<float> zeros_;     // as many as a run has; none without padding
};

}  // namespace epiphyte::cpu
