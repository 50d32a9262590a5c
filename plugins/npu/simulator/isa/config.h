// Configuration of the simulated NPU: a MAC array of rows (input channels) x columns (output channels), a scratchpad of
// bytes, accumulators of 32-bit words, and one DMA port that loads and stores share.
//
//   Config config;                  // 16x16, 256 KiB, 64 KiB, 16 bytes a cycle
//   config.rows = config.columns = 8;
//   std::string name = Architecture(config);   // "npusim-8x8-256k-64k": what a blob was compiled for
//
// Bits of results never depend on the config. Cycles depend only on the config and the commands.
#pragma once

#include <cstdint>
#include <string>

namespace epiphyte::npusim {

struct Config {
  uint32_t rows = 16;
  uint32_t columns = 16;
  uint32_t scratchpad_bytes = 256 * 1024;
  uint32_t accumulator_bytes = 64 * 1024;  // bytes, 4 per word
  uint32_t dma_millibytes_per_cycle = 16'000;
  uint32_t dma_latency = 64;  // cycles from a transfer's request to its first bytes
  uint32_t axi_bytes = 16;    // bytes of a beat; a run of contiguous bytes is rounded up to whole beats

  // Two global parameters that are fitted to published figures (tests/npu/bench), the same for every device.
  uint32_t dma_efficiency_permille = 900;  // share of the port's peak bandwidth, in thousandths
  uint32_t fold_overhead_millicycles = 47'000;

  uint32_t Macs() const { return rows * columns; }
  uint32_t AccumulatorWords() const { return accumulator_bytes / 4; }

  friend bool operator==(const Config&, const Config&) = default;
};

// Throws std::invalid_argument with one line for an impossible device, such as macs outside 32 to 2,048.
void CheckConfig(const Config& config);

// The properties that a blob depends on: array and memories, but not the port's speed.
std::string Architecture(const Config& config);

}  // namespace epiphyte::npusim
