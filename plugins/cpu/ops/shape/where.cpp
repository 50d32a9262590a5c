// Where: selects elements of two tensors by a condition.
#include <algorithm>

#include "epiphyte/kit/shape/broadcast.hpp"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ops/math/binary.h"
#include "plugins/cpu/simd/elementwise/select.h"

namespace epiphyte::cpu {
namespace {

// Elements are only moved, so only their size matters.
struct alignas(16) Bytes16 {
  uint64_t halves[2];
};

class WhereKernel : public Kernel {
 public:
  explicit WhereKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& condition = context.Input(0);
    const Tensor& x = context.Input(1);
    const Tensor& y = context.Input(2);
    if (condition.type != EP_TYPE_BOOL) FailOp("condition is {}, expected bool", TypeName(condition.type));
    RequireSameType(x, y);
    const Dims* const shapes[] = {&condition.dims, &x.dims, &y.dims};
    const Dims out = kit::BroadcastShape(shapes);
    Tensor& result = context.Output(0, x.type, out);
    if (x.type == EP_TYPE_STRING) {
      return Run(context, condition, x.dims, y.dims, x.strings->data(), y.strings->data(), result.strings->data(), out);
    }
    switch (ElementBytes(x.type, 8)) {
      case 8: return RunBytes<uint8_t>(context, condition, x, y, result);
      case 16: return RunBytes<uint16_t>(context, condition, x, y, result);
      case 32: return RunBytes<uint32_t>(context, condition, x, y, result);
      case 64: return RunBytes<uint64_t>(context, condition, x, y, result);
      case 128: return RunBytes<Bytes16>(context, condition, x, y, result);
      default: NotImplemented("Where has no kernel for {}", TypeName(x.type));
    }
  }

 private:
  template <typename T>
  static void RunBytes(OpContext& context, const Tensor& condition, const Tensor& x, const Tensor& y, Tensor& result) {
    Run(context, condition, x.dims, y.dims, x.as<T>(), y.as<T>(), result.as<T>(), result.dims);
  }

  // Conditions are read as bytes, because bytes from a file may be neither 0 nor 1.
  template <typename T>
  static void Run(OpContext& context, const Tensor& condition, const Dims& x_dims, const Dims& y_dims, const T* x,
                  const T* y, T* result, const Dims& out) {
    const uint8_t* conditions = condition.as<uint8_t>();
    const kit::BroadcastLoop<3> loop(out, {&condition.dims, &x_dims, &y_dims});
    const auto run = [&](const auto& select) {
      ParallelLoop(context, loop.count(), 1, [&](int64_t begin, int64_t end) {
        loop.Run(begin, end, [&](int64_t n, int64_t offset, const kit::BroadcastLoop<3>::Operands& in) {
          const uint8_t* c = conditions + in[0].offset;
          const T* from_x = x + in[1].offset;
          const T* from_y = y + in[2].offset;
          if (in[0].stride != 0) return select(c, from_x, in[1].stride, from_y, in[2].stride, result + offset, n);
          const T* from = *c != 0 ? from_x : from_y;
          if ((*c != 0 ? in[1] : in[2]).stride != 0) {
            std::copy_n(from, n, result + offset);
          } else {
            std::fill_n(result + offset, n, *from);
          }
        });
      });
    };
    if constexpr (std::is_same_v<T, std::string>) {
      uint64_t bytes = 0;
      loop.Run(0, loop.count(), [&](int64_t n, int64_t, const kit::BroadcastLoop<3>::Operands& in) {
        for (int64_t i = 0; i < n; ++i) {
          const bool first = conditions[in[0].offset + i * in[0].stride] != 0;
          bytes += TextBytes(first ? x[in[1].offset + i * in[1].stride] : y[in[2].offset + i * in[2].stride]);
        }
      });
      context.CountMemory(bytes);
    }
    if constexpr (std::is_integral_v<T>) {
      run(simd::SelectLoop<T>());
    } else {
      run([](const uint8_t* c, const T* from_x, int64_t x_stride, const T* from_y, int64_t y_stride, T* to, int64_t n) {
        for (int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? from_x[i * x_stride] : from_y[i * y_stride];
      });
    }
  }
};

}  // namespace

void Register_where(KernelRegistry& registry) { registry.Add<WhereKernel>("Where", 9); }

}  // namespace epiphyte::cpu
