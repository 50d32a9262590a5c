// Trilu and EyeLike: triangles and diagonals of matrices.
#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

class TriluKernel : public Kernel {
 public:
  explicit TriluKernel(const KernelInit& init) : upper_(init.node().Int("upper", 1) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 2) FailOp("input has shape {}, expected a matrix or a batch of them", ShapeText(x.dims));
    int64_t k = context.HasInput(1) ? IntegerParameter(context, 1, "k") : 0;
    const uint64_t bytes = ElementBytes(x.type, 1);
    if (ElementBytes(x.type, 2) != 2 * bytes) {
      NotImplemented("Trilu has no kernel for {}", TypeName(x.type));
    }
    Tensor& y = context.Output(0, x.type, x.dims);
    const int64_t columns = x.dims.back();
    const int64_t rows = x.dims[x.rank() - 2];
    if (x.Count() == 0) return;
    k = std::clamp(k, -rows - 1, columns + 1);  // a larger k makes no difference and could overflow
    const auto kept = [&](int64_t line) -> std::pair<int64_t, int64_t> {
      // The split is the column at which the triangle begins or ends; the diagonal belongs to both triangles.
      const int64_t split = std::clamp<int64_t>(line % rows + k + (upper_ ? 0 : 1), 0, columns);
      return upper_ ? std::pair(split, columns) : std::pair(int64_t{0}, split);
    };
    if (x.type == EP_TYPE_STRING) {  // the other elements stay empty
      for (int64_t i = 0; i < x.Count() / columns; ++i) {
        const auto [from, to] = kept(i);
        std::copy(x.strings->begin() + i * columns + from, x.strings->begin() + i * columns + to,
                  y.strings->begin() + i * columns + from);
      }
      return;
    }
    const auto row_bytes = static_cast<uint64_t>(columns) * bytes;
    const uint64_t matrix_bytes = static_cast<uint64_t>(rows) * row_bytes;
    // Matrices up to this size use a mask, which fits in a cache; calls for each row would cost more.
    constexpr uint64_t kSmallMatrix = 16384;
    if (matrix_bytes <= kSmallMatrix && x.Count() / columns >= 4 * rows) {
      auto* const mask = static_cast<uint8_t*>(context.Scratch(matrix_bytes));
      std::memset(mask, 0, matrix_bytes);
      for (int64_t i = 0; i < rows; ++i) {
        const auto [from, to] = kept(i);
        std::memset(mask + static_cast<uint64_t>(i) * row_bytes + static_cast<uint64_t>(from) * bytes, 0xFF,
                    static_cast<uint64_t>(to - from) * bytes);
      }
      const auto n = static_cast<int64_t>(matrix_bytes);
      Parallel(context, x.Count() / columns / rows, MoveGrain(n), [&](int64_t begin, int64_t end) {
        for (int64_t matrix = begin; matrix < end; ++matrix) {
          and_(x.as<uint8_t>() + matrix * n, 1, mask, 1, y.as<uint8_t>() + matrix * n, n);
        }
      });
      return;
    }
    ParallelLoop(context, x.Count() / columns, columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [from, to] = kept(i);
        const uint8_t* source = x.as<uint8_t>() + static_cast<uint64_t>(i) * row_bytes;
        uint8_t* target = y.as<uint8_t>() + static_cast<uint64_t>(i) * row_bytes;
        std::memset(target, 0, row_bytes);
        std::memcpy(target + static_cast<uint64_t>(from) * bytes, source + static_cast<uint64_t>(from) * bytes,
                    static_cast<uint64_t>(to - from) * bytes);
      }
    });
  }

 private:
  bool upper_;
  simd::NumberLoop<uint8_t> and_{simd::NumberFunction::kAnd};
};

class EyeLikeKernel : public Kernel {
 public:
  explicit EyeLikeKernel(const KernelInit& init)
      : type_(static_cast<ElementType>(init.node().Int("dtype", EP_TYPE_UNDEFINED))), k_(init.node().Int("k", 0)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 2) FailOp("input has shape {}, expected a matrix", ShapeText(x.dims));
    Tensor& y = context.Output(0, type_ == EP_TYPE_UNDEFINED ? x.type : type_, x.dims);
    if (y.Bytes() == 0) return;
    std::memset(y.data, 0, y.Bytes());
    constexpr float kOne = 1.0f;
    const int64_t columns = x.dims[1];
    for (int64_t row = 0; row < x.dims[0]; ++row) {
      if (k_ >= -row && k_ < columns - row) StoreFloats(&kOne, row * columns + row + k_, 1, y);
    }
  }

 private:
  ElementType type_;
  int64_t k_;
};

}  // namespace

void Register_trilu_eye(KernelRegistry& registry) {
  registry.Add<TriluKernel>("Trilu", 14);
  registry.Add<EyeLikeKernel>("EyeLike", 9);
}

}  // namespace epiphyte::cpu
