// DepthToSpace and SpaceToDepth.
#include "epiphyte/kit/shape/depth_space.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

void Permute(OpContext& context, const Tensor& x, const kit::BlockMove& move) {
  const Dims strides = kit::RowMajorStrides(move.split);
  Dims dims(move.order.size(), 0), from(move.order.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = move.split[static_cast<size_t>(move.order[i])];
    from[i] = strides[static_cast<size_t>(move.order[i])];
  }
  WithUnit(x.type, [&](auto unit) {
    using T = typename decltype(unit)::type;
    MoveSource<T> source(context, x);
    MoveTarget<T> target(context, 0, x.type, move.dims);
    StridedMove(context, dims, source.data(), from, target.data());
  });
}

class DepthToSpaceKernel : public Kernel {
 public:
  explicit DepthToSpaceKernel(const KernelInit& init) : block_(kit::CheckedBlockSize(init.node().Int("blocksize", 0))) {
    const std::string mode = init.node().String("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") FailOp("mode '{}' found, DCR or CRD expected", mode);
    depth_first_ = mode == "DCR";
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Permute(context, x, kit::DepthToSpaceMove(x.dims, block_, depth_first_));
  }

 private:
  int64_t block_;
  bool depth_first_;
};

// SpaceToDepth with blocks of two: adjacent elements of a row go to two planes together, so that the row is read once.
void SplitPairs(OpContext& context, const Dims& x, const uint32_t* from, uint32_t* to) {
  const int64_t channels = x[1], height = x[2], width = x[3], half = width / 2;
  const int64_t plane = height / 2 * half;
  Parallel(context, x[0] * channels * height, MoveGrain(width * 4), [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t row = r % height, channel = r / height % channels, image = r / height / channels;
      const uint32_t* __restrict const source = from + r * width;
      uint32_t* __restrict const even = to + ((image * 4 + row % 2 * 2) * channels + channel) * plane + row / 2 * half;
      uint32_t* __restrict const odd = even + channels * plane;
      for (int64_t i = 0; i < half; ++i) {
        even[i] = source[2 * i];
        odd[i] = source[2 * i + 1];
      }
    }
  });
}

class SpaceToDepthKernel : public Kernel {
 public:
  explicit SpaceToDepthKernel(const KernelInit& init)
      : block_(kit::CheckedBlockSize(init.node().Int("blocksize", 0))) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const kit::BlockMove move = kit::SpaceToDepthMove(x.dims, block_);
    if (block_ == 2 && x.type != EP_TYPE_STRING && UnitBytes(x.type) == 4)
      return SplitPairs(context, x.dims, x.as<uint32_t>(), context.Output(0, x.type, move.dims).as<uint32_t>());
    Permute(context, x, move);
  }

 private:
  int64_t block_;
};

}  // namespace

void Register_depth_space(KernelRegistry& registry) {
  registry.Add<DepthToSpaceKernel>("DepthToSpace");
  registry.Add<SpaceToDepthKernel>("SpaceToDepth");
}

}  // namespace epiphyte::cpu
