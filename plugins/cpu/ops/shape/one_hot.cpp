// OneHot.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"

namespace epiphyte::cpu {
namespace {

// Indices and depth may have any numeric type; fractions are dropped. Values beyond all integers are out of any range.
void ToIntegers(const Tensor& tensor, int64_t count, int64_t* out) {
  DispatchNumbers(tensor.type, "OneHot", [&]<typename T>() {
    const T* from = tensor.as<T>();
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        out[i] = static_cast<uint64_t>(from[i]) > INT64_MAX && from[i] > 0 ? INT64_MAX : static_cast<int64_t>(from[i]);
      } else {
        const double value = static_cast<double>(static_cast<Compute<T>>(from[i]));
        out[i] = value > -0x1p62 && value < 0x1p62 ? static_cast<int64_t>(value) : INT64_MAX;
      }
    }
  });
}

class OneHotKernel : public Kernel {
 public:
  explicit OneHotKernel(const KernelInit& init) : axis_(init.node().Int("axis", -1)) {}
  void Run(OpContext& context) const override {
    const Tensor& indices = context.Input(0);
    const Tensor& depth_input = Parameter(context, 1, "depth", kNumbers);
    const Tensor& values = context.Input(2);
    int64_t depth = 0;
    ToIntegers(depth_input, 1, &depth);
    if (depth < 0) FailOp("depth {} found, at least 0 expected", depth);
    if (values.Count() != 2) FailOp("values of shape {} found, off and on expected", ShapeText(values.dims));
    const size_t axis = kit::NormalizeAxis(axis_, indices.rank() + 1);

    Dims dims;
    for (size_t i = 0; i <= indices.rank(); ++i) dims.push_back(i == axis ? depth : indices.dims[i < axis ? i : i - 1]);
    const int64_t total = kit::CheckedCount(dims);
    const int64_t count = indices.Count(), inner = indices.dims.Count(axis, indices.rank());
    auto* hot = static_cast<int64_t*>(context.Scratch(static_cast<uint64_t>(count + 1) * sizeof(int64_t)));
    ToIntegers(indices, count, hot);
    WithUnit(values.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, values);
      MoveTarget<T> target(context, 0, values.type, dims);
      const T off = source.data()[0], on = source.data()[1];
      if constexpr (std::is_same_v<T, std::string>)
        for (const auto& [text, copies] : {std::pair(&off, total), std::pair(&on, count)})
          context.CountMemory(TextBytes(*text, copies));
      T* to = target.data();
      std::fill_n(to, total, off);
      for (int64_t i = 0; i < count; ++i) {
        if (hot[i] < -depth || hot[i] >= depth) continue;
        const int64_t at = hot[i] < 0 ? hot[i] + depth : hot[i];
        to[(i / inner * depth + at) * inner + i % inner] = on;
      }
    });
  }

 private:
  int64_t axis_;
};

}  // namespace

void Register_one_hot(KernelRegistry& registry) { registry.Add<OneHotKernel>("OneHot", 1, kNumbers); }

}  // namespace epiphyte::cpu
