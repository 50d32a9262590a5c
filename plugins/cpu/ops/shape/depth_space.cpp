// DepthToSpace and SpaceToDepth: transposes of six axes, in which a block's rows and columns are axes of their own.
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

int64_t BlockSize(const NodeDef& node) {
  const int64_t size = node.Int("blocksize", 0);
  if (size < 1 || size > INT32_MAX) FailOp("blocksize {} found, at least 1 expected", size);
  return size;
}

// Moves x, seen with the dimensions `split`, into output 0 with axis order `order`.
void Permute(OpContext& context, const Tensor& x, const Dims& split, const Dims& order, const Dims& output) {
  const Dims strides = kit::RowMajorStrides(split);
  Dims dims(order.size(), 0), from(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    dims[i] = split[static_cast<size_t>(order[i])];
    from[i] = strides[static_cast<size_t>(order[i])];
  }
  WithUnit(x.type, [&](auto unit) {
    using T = typename decltype(unit)::type;
    MoveSource<T> source(context, x);
    MoveTarget<T> target(context, 0, x.type, output);
    StridedMove(context, dims, source.data(), from, target.data());
  });
}

class DepthToSpaceKernel : public Kernel {
 public:
  explicit DepthToSpaceKernel(const KernelInit& init) : block_(BlockSize(init.node())) {
    const std::string mode = init.node().String("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") FailOp("mode '{}' found, DCR or CRD expected", mode);
    depth_first_ = mode == "DCR";
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const int64_t square = kit::CheckedMultiply(block_, block_);
    if (x.rank() != 4 || x.dims[1] % square != 0)
      FailOp("input of shape {} found, rank 4 and a multiple of {} channels expected", ShapeText(x.dims), square);
    const int64_t n = x.dims[0], c = x.dims[1] / square, h = x.dims[2], w = x.dims[3];
    const Dims output{n, c, kit::CheckedMultiply(h, block_), kit::CheckedMultiply(w, block_)};
    kit::CheckedCount(output);
    if (depth_first_)
      Permute(context, x, Dims{n, block_, block_, c, h, w}, Dims{0, 3, 4, 1, 5, 2}, output);
    else
      Permute(context, x, Dims{n, c, block_, block_, h, w}, Dims{0, 1, 4, 2, 5, 3}, output);
  }

 private:
  int64_t block_;
  bool depth_first_;
};

class SpaceToDepthKernel : public Kernel {
 public:
  explicit SpaceToDepthKernel(const KernelInit& init) : block_(BlockSize(init.node())) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 4 || x.dims[2] % block_ != 0 || x.dims[3] % block_ != 0)
      FailOp("input of shape {} found, rank 4 and height and width that are multiples of {} expected",
             ShapeText(x.dims), block_);
    const int64_t n = x.dims[0], c = x.dims[1], h = x.dims[2] / block_, w = x.dims[3] / block_;
    const Dims output{n, kit::CheckedMultiply(c, kit::CheckedMultiply(block_, block_)), h, w};
    kit::CheckedCount(output);
    Permute(context, x, Dims{n, c, h, block_, w, block_}, Dims{0, 3, 5, 1, 2, 4}, output);
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
