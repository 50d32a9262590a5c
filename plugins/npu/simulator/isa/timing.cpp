#include "plugins/npu/simulator/isa/timing.h"

#include <algorithm>

#include "plugins/npu/simulator/isa/systolic.h"

namespace epiphyte::npusim {
namespace {

// Cycles of every command for fetching, decoding, and filling the lanes.
constexpr uint64_t kStart = 8;

uint64_t CeilDivide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

template <typename Count>
uint64_t Product(const Count& counts) {
  uint64_t n = 1;
  for (const uint32_t count : counts) n *= count;
  return n;
}

// Number of vectors. The vector unit beside the array has as many lanes as the array has columns.
uint64_t Lanes(uint64_t rows, uint64_t elements, const Config& config) {
  return rows * CeilDivide(elements, config.columns);
}

// Contiguous bytes count as one run of lanes. So a loop that continues where the inner one ended is part of the run.
uint64_t ElementwiseVectors(const ElementwiseCommand& c, const Config& config) {
  uint64_t inner = c.count[4];
  int i = 3;
  for (; i >= 0; --i) {
    const auto joins = [&](const std::array<int32_t, 5>& stride) {
      return stride[i] == static_cast<int64_t>(stride[i + 1]) * c.count[i + 1];
    };
    const bool has_b = c.kind != Elementwise::kRescale;
    if (c.count[i] != 1 && (!joins(c.a_stride) || !joins(c.y_stride) || (has_b && !joins(c.b_stride)))) break;
    inner *= c.count[i];
  }
  uint64_t outer = 1;
  for (; i >= 0; --i) outer *= c.count[i];
  return Lanes(outer, inner, config);
}

struct Cycles {
  const Config& config;

  uint64_t operator()(const LoadCommand&) const { return 0; }
  uint64_t operator()(const StoreCommand&) const { return 0; }
  uint64_t operator()(const FillCommand& c) const {
    return kStart + CeilDivide(Product(c.count) * c.element_size, config.columns);
  }
  uint64_t operator()(const ConvCommand& c) const {
    const uint64_t pixels = uint64_t{c.out_height} * c.out_width;
    const uint64_t kernel = uint64_t{c.window.height} * c.window.width;
    if (c.depthwise != 0) return kStart + pixels * kernel * CeilDivide(c.out_channels, config.columns);
    const uint64_t folds = kernel * CeilDivide(c.in_channels, config.rows) * CeilDivide(c.out_channels, config.columns);
    return StreamedFoldCycles(folds, pixels, config.rows, config.columns) +
           folds * config.fold_overhead_millicycles / 1000;
  }
  uint64_t operator()(const PostCommand& c) const {
    return kStart + Lanes(uint64_t{c.height} * c.width, c.channels, config);
  }
  uint64_t operator()(const ElementwiseCommand& c) const { return kStart + ElementwiseVectors(c, config); }
  uint64_t operator()(const PoolCommand& c) const {
    return kStart + Lanes(uint64_t{c.out_height} * c.out_width * c.window.height * c.window.width, c.channels, config);
  }
  uint64_t operator()(const LookupCommand& c) const { return kStart + Lanes(c.rows, c.columns, config); }
  // Three passes over a row: maximum, sum, quotients; or mean, variance, result.
  uint64_t operator()(const SoftmaxCommand& c) const { return kStart + 3 * Lanes(c.rows, c.columns, config); }
  uint64_t operator()(const LayerNormCommand& c) const { return kStart + 3 * Lanes(c.rows, c.columns, config); }
  // Each element has four sources.
  uint64_t operator()(const ResizeCommand& c) const {
    return kStart + 4 * Lanes(uint64_t{c.out_height} * c.out_width, c.channels, config);
  }
};

}  // namespace

TransferCost CostOf(const Transfer& transfer, const Config& config) {
  // Loops with runs that are contiguous in external memory make longer runs, whatever their order on the chip.
  uint64_t run = transfer.run;
  int i = 4;
  for (; i >= 0; --i) {
    if (transfer.count[i] == 1) continue;
    if (transfer.external_stride[i] != static_cast<int64_t>(run)) break;
    run *= transfer.count[i];
  }
  uint64_t runs = 1;
  for (; i >= 0; --i) runs *= transfer.count[i];
  TransferCost cost;
  const uint64_t begin = transfer.external_offset % config.axi_bytes;
  cost.beats = runs * CeilDivide(runs == 1 ? begin + run : run, config.axi_bytes);
  const uint64_t speed = uint64_t{config.dma_millibytes_per_cycle} * config.dma_efficiency_permille;
  cost.port_cycles = CeilDivide(cost.beats * config.axi_bytes * 1'000'000, speed);
  return cost;
}

uint64_t ExecuteCycles(const QuantizedOp& work, const Config& config) { return std::visit(Cycles{config}, work); }

MacCount MacsOf(const QuantizedOp& work, const Config& config) {
  const auto* conv = std::get_if<ConvCommand>(&work);
  if (conv == nullptr) return {};
  const uint64_t pixels = uint64_t{conv->out_height} * conv->out_width;
  const uint64_t kernel = uint64_t{conv->window.height} * conv->window.width;
  if (conv->depthwise != 0) {
    return {pixels * kernel * conv->out_channels, pixels * kernel * CeilDivide(conv->out_channels, config.columns)};
  }
  return {
      pixels * kernel * conv->in_channels * conv->out_channels,
      pixels * kernel * CeilDivide(conv->in_channels, config.rows) * CeilDivide(conv->out_channels, config.columns)};
}

}  // namespace epiphyte::npusim
