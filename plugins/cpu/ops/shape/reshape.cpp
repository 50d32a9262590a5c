// Operators that change only the shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.
#include "epiphyte/kit/shape/reshape.hpp"
#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {
namespace {

class ReshapeKernel : public Kernel {
 public:
  explicit ReshapeKernel(const KernelInit& init) : allow_zero_(init.node().Int("allowzero", 0) != 0) {
    if (init.node().since_version < 5) {
      wanted_ = Dims(std::span<const int64_t>(init.node().Ints("shape")));
      fixed_ = true;
    } else if (const Tensor* shape = init.Constant(1); shape != nullptr && shape->data != nullptr) {
      wanted_ = IntegersOf(*shape, "shape");
      fixed_ = true;
    }
  }
  void Run(OpContext& context) const override {
    const Dims& input = context.AnyLayoutInput(0).dims;
    const Dims output = fixed_ ? kit::ReshapeDims(input, wanted_, allow_zero_)
                               : kit::ReshapeDims(input, IntegersOf(context.Input(1), "shape"), allow_zero_);
    context.OutputAlias(0, 0, output);
  }

 private:
  bool allow_zero_;
  bool fixed_ = false;
  Dims wanted_;
};

class FlattenKernel : public Kernel {
 public:
  explicit FlattenKernel(const KernelInit& init) : axis_(init.node().Int("axis", 1)) {}
  void Run(OpContext& context) const override {
    const Dims& input = context.AnyLayoutInput(0).dims;
    context.OutputAlias(0, 0, kit::FlattenDims(input, axis_));
  }

 private:
  int64_t axis_;
};

// Squeeze and Unsqueeze: the axes are an attribute up to version 12 and an input since then.
class AxesKernel : public Kernel {
 public:
  explicit AxesKernel(const KernelInit& init) {
    if (init.node().since_version < 13) {
      given_ = init.node().Has("axes");
      axes_ = Dims(std::span<const int64_t>(init.node().Ints("axes")));
      fixed_ = true;
    } else if (!init.HasInput(1)) {
      fixed_ = true;
    } else if (const Tensor* axes = init.Constant(1); axes != nullptr && axes->data != nullptr) {
      axes_ = IntegersOf(*axes, "axes");
      given_ = fixed_ = true;
    }
  }

 protected:
  // The axes in the model; *given: true when it has any.
  Dims Axes(OpContext& context, bool* given) const {
    *given = given_ || !fixed_;
    return fixed_ ? axes_ : IntegersOf(context.Input(1), "axes");
  }

 private:
  bool fixed_ = false;
  bool given_ = false;
  Dims axes_;
};

class SqueezeKernel : public AxesKernel {
 public:
  using AxesKernel::AxesKernel;
  void Run(OpContext& context) const override {
    const Dims& input = context.AnyLayoutInput(0).dims;
    bool given = false;
    const Dims axes = Axes(context, &given);
    context.OutputAlias(0, 0, given ? kit::SqueezeDims(input, axes) : kit::SqueezeDims(input));
  }
};

class UnsqueezeKernel : public AxesKernel {
 public:
  using AxesKernel::AxesKernel;
  void Run(OpContext& context) const override {
    const Dims& input = context.AnyLayoutInput(0).dims;
    bool given = false;
    context.OutputAlias(0, 0, kit::UnsqueezeDims(input, Axes(context, &given)));
  }
};

class IdentityKernel : public Kernel {
 public:
  explicit IdentityKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const Datum& input = context.InputDatum(0);
    if (input.kind == Datum::Kind::kTensor)
      context.OutputAlias(0, 0, input.tensor.dims);
    else
      context.SetOutput(0, input);
  }
};

}  // namespace

void Register_reshape(KernelRegistry& registry) {
  registry.Add<ReshapeKernel>("Reshape");
  registry.Add<FlattenKernel>("Flatten");
  registry.Add<SqueezeKernel>("Squeeze");
  registry.Add<UnsqueezeKernel>("Unsqueeze");
  registry.Add<IdentityKernel>("Identity");
}

}  // namespace epiphyte::cpu
