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

class SpaceToDepthKernel : public Kernel {
 public:
  explicit SpaceToDepthKernel(const KernelInit& init)
      : block_(kit::CheckedBlockSize(init.node().Int("blocksize", 0))) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Permute(context, x, kit::SpaceToDepthMove(x.dims, block_));
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
