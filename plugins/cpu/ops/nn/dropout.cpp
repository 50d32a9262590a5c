// Dropout: passes its input through, unless the model asks for training mode.
#include <algorithm>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/ops/math/random_source.h"

namespace epiphyte::cpu {
namespace {

class DropoutKernel : public Kernel {
 public:
  explicit DropoutKernel(const KernelInit& init)
      : version_(init.node().since_version), ratio_(init.node().Float("ratio", 0.5f)), seed_(init.node()) {
    // Before opset 7, the attribute is_test selected inference; the default was training.
    if (version_ < 7 && init.node().Int("is_test", 0) == 0) trains_ = true;
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    double ratio = ratio_;
    bool trains = trains_;
    if (version_ >= 12) {
      ratio = context.HasInput(1) ? RealParameter(context, 1, "ratio") : 0.5;
      trains = context.HasInput(2) && FlagParameter(context, 2, "training_mode");
    }
    if (!(ratio >= 0.0 && ratio < 1.0)) FailOp("ratio is {}, expected 0 to below 1", ratio);
    // Up to opset 9, the mask had the type of the data.
    const ElementType mask_type = version_ < 10 ? x.type : EP_TYPE_BOOL;
    const bool has_mask = context.HasOutput(1);
    if (!trains || ratio == 0.0) {
      if (has_mask) StoreMask(context.Output(1, mask_type, x.dims), [](int64_t) { return 1.0f; });
      return context.OutputAlias(0, 0, x.dims);
    }
    const int64_t count = x.Count();
    float* keep = static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    RandomSource source = seed_.Start();
    for (int64_t i = 0; i < count; ++i) keep[i] = source.Uniform() >= ratio ? 1.0f : 0.0f;
    Tensor& y = context.Output(0, x.type, x.dims);
    DispatchFloats(x.type, "Dropout", [&]<typename T>() {
      using C = Compute<T>;
      const C scale = static_cast<C>(1.0 / (1.0 - ratio));
      for (int64_t i = 0; i < count; ++i) {
        y.as<T>()[i] = static_cast<T>(keep[i] != 0 ? static_cast<C>(x.as<T>()[i]) * scale : C(0));
      }
    });
    if (has_mask) StoreMask(context.Output(1, mask_type, x.dims), [keep](int64_t i) { return keep[i]; });
  }

 private:
  template <typename Keep>
  static void StoreMask(Tensor& mask, const Keep& keep) {
    const int64_t count = mask.Count();
    for (int64_t at = 0; at < count; at += kConvertChunk) {
      float values[kConvertChunk];
      const int64_t n = std::min(kConvertChunk, count - at);
      for (int64_t i = 0; i < n; ++i) values[i] = keep(at + i);
      StoreFloats(values, at, n, mask);
    }
  }

  int64_t version_;
  float ratio_;
  Seed seed_;
  bool trains_ = false;
};

}  // namespace

void Register_dropout(KernelRegistry& registry) { registry.Add<DropoutKernel>("Dropout", 1); }

}  // namespace epiphyte::cpu
