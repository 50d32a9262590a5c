// ReverseSequence.
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

class ReverseSequenceKernel : public Kernel {
 public:
  explicit ReverseSequenceKernel(const KernelInit& init)
      : batch_axis_(init.node().Int("batch_axis", 1)), time_axis_(init.node().Int("time_axis", 0)) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& lengths = context.Input(1);
    const auto rank = static_cast<int64_t>(x.rank());
    const size_t batch = kit::NormalizeAxis(batch_axis_, rank, "batch_axis");
    const size_t time = kit::NormalizeAxis(time_axis_, rank, "time_axis");
    if (batch + time != 1)
      FailOp("batch_axis {} and time_axis {} found, 0 and 1 in either order expected", batch_axis_, time_axis_);
    const int64_t batches = x.dims[batch], steps = x.dims[time];
    if (lengths.rank() != 1 || lengths.Count() != batches)
      FailOp("sequence_lens of shape {} found, {} numbers expected", ShapeText(lengths.dims), batches);
    const int64_t* length = Int64Data(context, lengths, "sequence_lens");
    for (int64_t b = 0; b < batches; ++b)
      if (length[b] < 0 || length[b] > steps)
        FailOp("a length of {} found, a value in [0, {}] expected", length[b], steps);

    const int64_t run = x.dims.Count(2, x.rank());
    const bool batch_first = batch == 0;
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, x.dims);
      const T* from = source.data();
      T* to = target.data();
      Parallel(context, batches * steps, MoveGrain(run * static_cast<int64_t>(sizeof(T))),
               [=](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t b = batch_first ? i / steps : i % batches;
                   const int64_t t = batch_first ? i % steps : i / batches;
                   const int64_t other = t < length[b] ? length[b] - 1 - t : t;
                   std::copy_n(from + (batch_first ? b * steps + other : other * batches + b) * run, run, to + i * run);
                 }
               });
    });
  }

 private:
  int64_t batch_axis_;
  int64_t time_axis_;
};

}  // namespace

void Register_reverse_sequence(KernelRegistry& registry) { registry.Add<ReverseSequenceKernel>("ReverseSequence"); }

}  // namespace epiphyte::cpu
