#include "plugins/npu/simulator/isa/config.h"

#include <bit>
#include <stdexcept>

namespace epiphyte::npusim {
namespace {

void Check(bool holds, const char* what, uint64_t found, const char* expected) {
  if (holds) return;
  throw std::invalid_argument(std::string(what) + " is " + std::to_string(found) + ", expected " + expected);
}

}  // namespace

void CheckConfig(const Config& config) {
  Check(config.rows >= 1 && config.rows <= 256, "the array's number of rows", config.rows, "1 to 256");
  Check(config.columns >= 1 && config.columns <= 256, "the array's number of columns", config.columns, "1 to 256");
  Check(config.Macs() >= 32 && config.Macs() <= 2048, "the array's number of MACs (rows x columns)", config.Macs(),
        "32 to 2048");
  Check(config.scratchpad_bytes % 1024 == 0 && config.scratchpad_bytes >= 16 * 1024 &&
            config.scratchpad_bytes <= 16 * 1024 * 1024,
        "the scratchpad's size", config.scratchpad_bytes, "whole KiB, 16 KiB to 16 MiB");
  Check(config.accumulator_bytes % 1024 == 0 && config.accumulator_bytes >= 4 * 1024 &&
            config.accumulator_bytes <= 16 * 1024 * 1024,
        "the accumulators' size", config.accumulator_bytes, "whole KiB, 4 KiB to 16 MiB");
  Check(config.dma_millibytes_per_cycle >= 10 && config.dma_millibytes_per_cycle <= 1'024'000,
        "the port's thousandths of a byte a cycle", config.dma_millibytes_per_cycle, "10 to 1024000");
  Check(config.dma_latency <= 100'000, "the port's latency in cycles", config.dma_latency, "at most 100000");
  Check(std::has_single_bit(config.axi_bytes) && config.axi_bytes <= 128, "the bytes of a beat", config.axi_bytes,
        "a power of two of at most 128");
  Check(config.dma_efficiency_permille >= 1 && config.dma_efficiency_permille <= 1000,
        "the port's efficiency in thousandths", config.dma_efficiency_permille, "1 to 1000");
  Check(config.fold_overhead_millicycles <= 1'000'000, "a fold's overhead in thousandths of a cycle",
        config.fold_overhead_millicycles, "at most 1000000");
}

std::string Architecture(const Config& config) {
  return "npusim-" + std::to_string(config.rows) + "x" + std::to_string(config.columns) + "-" +
         std::to_string(config.scratchpad_bytes / 1024) + "k-" + std::to_string(config.accumulator_bytes / 1024) + "k";
}

}  // namespace epiphyte::npusim
