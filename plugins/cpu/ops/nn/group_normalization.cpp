// GroupNormalization and InstanceNormalization: the channels of each image are normalized in groups. In
// InstanceNormalization, each channel is a group.
#include <cmath>

#include "plugins/cpu/kernel/row_math.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

class GroupNormalizationKernel : public Kernel {
 public:
  explicit GroupNormalizationKernel(const KernelInit& init)
      : name_(init.node().op_type),
        epsilon_(init.node().Float("epsilon", 1e-5f)),
        groups_(init.node().Int("num_groups", 0)),
        instance_(name_ == "InstanceNormalization"),
        // GroupNormalization-18 had one scale and bias for each group.
        per_group_(!instance_ && init.node().since_version < 21) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& scale = context.Input(1);
    const Tensor& bias = context.Input(2);
    if (x.rank() < 2) FailOp("input has shape {}, expected [batch,channels,...]", ShapeText(x.dims));
    const int64_t channels = x.dims[1];
    const int64_t groups = instance_ ? channels : groups_;
    if (groups <= 0 || channels % groups != 0) {
      if (x.Count() != 0) FailOp("{} channels can't be divided into {} groups", channels, groups);
    }
    const int64_t parameters = per_group_ ? groups : channels;
    if (scale.Count() != parameters || bias.Count() != parameters || scale.type != x.type || bias.type != x.type) {
      FailOp("scale and bias have shapes {} and {}, expected {} elements of {} each", ShapeText(scale.dims),
             ShapeText(bias.dims), parameters, TypeName(x.type));
    }
    const void* data = x.data;
    const int64_t batch = x.dims[0];
    const int64_t plane = x.dims.Count(2, x.rank());
    Tensor& y = OutputLike(context, 0, x);
    if (y.Count() == 0) return;
    const int64_t group_channels = channels / groups;
    DispatchFloats(y.type, name_, [&]<typename T>() {
      using C = Compute<T>;
      const RowMath math;
      const int64_t n = group_channels * plane;
      ParallelLoop(context, batch * groups, n * 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* from = static_cast<const T*>(data) + i * n;
          const C mean = math.Sum(from, n) / static_cast<C>(n);
          const C variance = math.Squares(from, n, mean) / static_cast<C>(n);
          const C inverse = C(1) / std::sqrt(variance + static_cast<C>(epsilon_));
          for (int64_t j = 0; j < group_channels; ++j) {
            const int64_t at = per_group_ ? i % groups : i % groups * group_channels + j;
            const C factor = inverse * static_cast<C>(scale.as<T>()[at]);
            const C offset = static_cast<C>(bias.as<T>()[at]) - mean * factor;
            math.Affine(from + j * plane, y.as<T>() + i * n + j * plane, plane, factor, offset);
          }
        }
      });
    });
  }

 private:
  std::string name_;
  float epsilon_;
  int64_t groups_;
  bool instance_;
  bool per_group_;
};

}  // namespace

void Register_group_normalization(KernelRegistry& registry) {
  registry.Add<GroupNormalizationKernel>("GroupNormalization", 18, kFloats);
  registry.Add<GroupNormalizationKernel>("InstanceNormalization", 1, kFloats);
}

}  // namespace epiphyte::cpu
