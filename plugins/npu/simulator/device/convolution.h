// CONV on the host: the image tile and the weights are widened to 16 bits, minus their zero points, and multiplied in
// pairs. Integer sums have the same bits in any order, so the widest instructions of the machine may be used.
//
//   Convolution convolution;                              // buffers, reused from command to command
//   convolution.Run(command, scratchpad, accumulators);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/npu/simulator/device/steps.h"
#include "plugins/npu/simulator/isa/command.h"

namespace epiphyte::npusim {

// The widest instructions that may be used if the machine has them. Tests use it to check that results have the same
// bits.
enum class Instructions { kPortable, kAvx2, kAny };

class Convolution {
 public:
  explicit Convolution(Instructions most = Instructions::kAny) : most_(most) {}

  // The command must be verified. Throws Steps::Stopped when `steps` says that the run is to end; `steps` may be null.
  void Run(const ConvCommand& command, const std::byte* scratchpad, int32_t* accumulators, Steps* steps = nullptr);

 private:
  void WidenImage(const ConvCommand& c, const std::byte* scratchpad);
  void PackWeights(const ConvCommand& c, const std::byte* scratchpad, size_t panel);
  void RunDepthwise(const ConvCommand& c, const std::byte* scratchpad, int32_t* accumulators, Steps* steps);

  Instructions most_;
  std::vector<int16_t> image_;    // [height][width][channels_], then a pixel of padding
  std::vector<int16_t> weights_;  // panels of columns: [kernel position][pair of channels][column][2]
  size_t channels_ = 0;           // channels of a pixel of image_: even
};

}  // namespace epiphyte::npusim
