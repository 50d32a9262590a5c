#include "plugins/npu/simulator/device/device.h"

#include <algorithm>
#include <cstring>

#include "plugins/npu/simulator/device/vector_unit.h"

namespace epiphyte::npusim {
namespace {

template <size_t kBytes>
void CopyElements(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    std::memcpy(to + int64_t{i} * to_stride, from + int64_t{i} * from_stride, kBytes);
  }
}

// The innermost loop. Single elements, which transposes move, have a separate path.
void CopyRuns(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, uint32_t count,
              uint32_t run) {
  if (run == 1) return CopyElements<1>(to, to_stride, from, from_stride, count);
  if (run == 2) return CopyElements<2>(to, to_stride, from, from_stride, count);
  if (run == 4) return CopyElements<4>(to, to_stride, from, from_stride, count);
  for (uint32_t i = 0; i < count; ++i) std::memcpy(to + int64_t{i} * to_stride, from + int64_t{i} * from_stride, run);
}

using Strides = std::array<int32_t, 5>;

void Move(const Transfer& t, std::byte* to, const Strides& to_stride, const std::byte* from, const Strides& from_stride,
          Steps& steps) {
  std::array<uint32_t, 4> at{};
  for (;;) {
    int64_t to_offset = 0;
    int64_t from_offset = 0;
    for (size_t i = 0; i < 4; ++i) {
      to_offset += int64_t{at[i]} * to_stride[i];
      from_offset += int64_t{at[i]} * from_stride[i];
    }
    steps.Count(t.count[4]);
    CopyRuns(to + to_offset, to_stride[4], from + from_offset, from_stride[4], t.count[4], t.run);
    int i = 3;
    while (i >= 0 && ++at[i] == t.count[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

}  // namespace

Device::Device(const Config& config) : scratchpad_(config.scratchpad_bytes), accumulators_(config.AccumulatorWords()) {}

void Device::Execute(const QuantizedOp& work, const ExternalMemory& memory, Steps& steps) {
  std::byte* scratchpad = scratchpad_.data();
  struct Visitor {
    Device& device;
    std::byte* scratchpad;
    const ExternalMemory& memory;
    Steps& steps;

    void operator()(const LoadCommand& c) const {
      const std::byte* from = c.region == kWeights   ? memory.weights
                              : c.region == kScratch ? memory.scratch
                                                     : memory.inputs[c.region - kInputs];
      Move(c, scratchpad + c.scratchpad_offset, c.scratchpad_stride, from + c.external_offset, c.external_stride,
           steps);
    }
    void operator()(const StoreCommand& c) const {
      std::byte* to = c.region == kScratch ? memory.scratch : memory.outputs[c.region - kOutputs];
      Move(c, to + c.external_offset, c.external_stride, scratchpad + c.scratchpad_offset, c.scratchpad_stride, steps);
    }
    void operator()(const FillCommand& c) const { RunFill(c, scratchpad); }
    void operator()(const ConvCommand& c) const {
      device.convolution_.Run(c, scratchpad, device.accumulators_.data(), &steps);
    }
    void operator()(const PostCommand& c) const { RunPost(c, device.accumulators_.data(), scratchpad, &steps); }
    void operator()(const ElementwiseCommand& c) const { RunElementwise(c, scratchpad, &steps); }
    void operator()(const PoolCommand& c) const { RunPool(c, scratchpad, &steps); }
    void operator()(const LookupCommand& c) const { RunLookup(c, scratchpad, &steps); }
    void operator()(const SoftmaxCommand& c) const { RunSoftmax(c, scratchpad, &steps); }
    void operator()(const LayerNormCommand& c) const { RunLayerNorm(c, scratchpad, &steps); }
    void operator()(const ResizeCommand& c) const { RunResize(c, scratchpad, &steps); }
  };
  std::visit(Visitor{*this, scratchpad, memory, steps}, work);
}

bool Device::Run(std::span<const Command> program, const ExternalMemory& memory,
                 const std::function<bool(size_t)>& go_on) {
  std::fill(scratchpad_.begin(), scratchpad_.end(), std::byte{0});
  std::fill(accumulators_.begin(), accumulators_.end(), 0);
  size_t done = 0;
  Steps steps(go_on ? std::function<bool()>([&] { return go_on(done); }) : nullptr);
  try {
    for (; done < program.size(); ++done) {
      if (go_on && !go_on(done)) return false;
      Execute(program[done].work, memory, steps);
    }
  } catch (const Steps::Stopped&) {
    return false;
  }
  return true;
}

}  // namespace epiphyte::npusim
