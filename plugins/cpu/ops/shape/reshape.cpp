// Operators that give the same elements another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.
#include <algorithm>

#include "plugins/cpu/kernel/move.h"

namespace epiphyte::cpu {
namespace {

// `wanted` with 0 (take the input's dimension, unless `allow_zero`) and -1 (whatever is left) resolved.
Dims Resolve(const Dims& input, std::span<const int64_t> wanted, bool allow_zero) {
  const int64_t count = input.Count();
  Dims output(wanted);
  size_t left_over = wanted.size();
  // Copied dimensions cancel out on both sides, so that [0,-1] works for an input that is empty.
  int64_t known = 1, available = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (left_over != wanted.size()) FailOp("shape {} found, at most one -1 expected", DimsText(wanted));
      left_over = i;
    } else if (wanted[i] == 0 && !allow_zero) {
      if (i >= input.size())
        FailOp("shape {} found for an input of rank {}: dimension {} to copy expected", DimsText(wanted), input.size(),
               i);
      output[i] = input[i];
    } else if (wanted[i] < 0) {
      FailOp("shape {} found, dimensions of at least -1 expected", DimsText(wanted));
    } else {
      known = CheckedMultiply(known, wanted[i]);
    }
  }
  if (left_over != wanted.size()) {
    for (size_t i = 0; i < input.size(); ++i)
      if (i >= wanted.size() || wanted[i] != 0 || allow_zero) available *= input[i];
    if (known == 0 || available % known != 0)
      FailOp("input of shape {} found, a count of elements that fits shape {} expected", DimsText(input),
             DimsText(wanted));
    output[left_over] = available / known;
  }
  if (CheckedCount(output) != count)
    FailOp("input of shape {} found, a count of elements that fits shape {} expected", DimsText(input),
           DimsText(wanted));
  return output;
}

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
    const Dims output = fixed_ ? Resolve(input, wanted_, allow_zero_)
                               : Resolve(input, IntegersOf(context.Input(1), "shape"), allow_zero_);
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
    const int64_t rank = static_cast<int64_t>(input.size());
    const int64_t axis = axis_ == rank ? rank : NormalizeAxis(axis_, std::max<int64_t>(rank, 1));
    const size_t split = static_cast<size_t>(std::min(axis, rank));
    context.OutputAlias(0, 0, Dims{input.Count(0, split), input.Count(split, input.size())});
  }

 private:
  int64_t axis_;
};

// Squeeze and Unsqueeze: their axes are an attribute up to version 12 and an input since.
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
  // The axes as the model has them; *given: whether it has any.
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
    const Dims axes = NormalizeAxes(Axes(context, &given), static_cast<int64_t>(input.size()));
    for (int64_t axis : axes)
      if (input[static_cast<size_t>(axis)] != 1)
        FailOp("axis {} of shape {} found, a dimension of 1 expected", axis, DimsText(input));
    Dims output;
    for (size_t i = 0; i < input.size(); ++i) {
      const bool dropped =
          given ? std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end() : input[i] == 1;
      if (!dropped) output.push_back(input[i]);
    }
    context.OutputAlias(0, 0, output);
  }
};

class UnsqueezeKernel : public AxesKernel {
 public:
  using AxesKernel::AxesKernel;
  void Run(OpContext& context) const override {
    const Dims& input = context.AnyLayoutInput(0).dims;
    bool given = false;
    const Dims wanted = Axes(context, &given);
    const size_t rank = input.size() + wanted.size();
    const Dims axes = NormalizeAxes(wanted, static_cast<int64_t>(rank));
    Dims output(rank, 0);
    for (int64_t axis : axes) output[static_cast<size_t>(axis)] = 1;
    // What is not new is marked by the 0 it was made with; input dimensions of 0 fill their own place.
    size_t next = 0;
    for (size_t i = 0; i < rank; ++i)
      if (output[i] == 0) output[i] = input[next++];
    context.OutputAlias(0, 0, output);
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
