// Optional values. A present optional value is represented by the value itself.
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {
namespace {

void PassOn(OpContext& context) {
  const Datum& input = context.InputDatum(0);
  if (input.kind == Datum::Kind::kTensor)
    context.OutputAlias(0, 0, input.tensor.dims);
  else
    context.SetOutput(0, input);
}

bool HasValue(OpContext& context) {
  if (context.InputCount() == 0 || !context.HasInput(0)) return false;
  const Datum::Kind kind = context.InputDatum(0).kind;
  return kind != Datum::Kind::kEmptyOptional && kind != Datum::Kind::kAbsent;
}

class OptionalKernel : public Kernel {
 public:
  explicit OptionalKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    if (HasValue(context)) return PassOn(context);
    Datum empty;
    empty.kind = Datum::Kind::kEmptyOptional;
    context.SetOutput(0, std::move(empty));
  }
};

class OptionalGetElementKernel : public Kernel {
 public:
  explicit OptionalGetElementKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    if (!HasValue(context)) FailOp("an optional without a value found, one with a value expected");
    PassOn(context);
  }
};

class OptionalHasElementKernel : public Kernel {
 public:
  explicit OptionalHasElementKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const bool has = HasValue(context);
    *context.Output(0, EP_TYPE_BOOL, Dims{}).as<bool>() = has;
  }
};

}  // namespace

void Register_optional(KernelRegistry& registry) {
  registry.Add<OptionalKernel>("Optional");
  registry.Add<OptionalGetElementKernel>("OptionalGetElement");
  registry.Add<OptionalHasElementKernel>("OptionalHasElement");
}

}  // namespace epiphyte::cpu
