// RotaryEmbedding: rotates pairs of elements in each head by an angle that depends on the position. ONNX defines the
// rows of the caches by Gather: a negative position counts from the end, and one out of range is an error.
#include <algorithm>

#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/sequence/rotary.h"

namespace epiphyte::cpu {
namespace {

class RotaryEmbeddingKernel : public Kernel {
 public:
  explicit RotaryEmbeddingKernel(const KernelInit& init)
      : interleaved_(init.node().Int("interleaved", 0) != 0),
        heads_(init.node().Int("num_heads", 0)),
        dim_(init.node().Int("rotary_embedding_dim", 0)) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& cosines = context.Input(1);
    const Tensor& sines = context.Input(2);
    const Tensor* positions = context.OptionalInput(3);
    const Layout layout = ReadLayout(x.dims);
    const int64_t rotated = dim_ > 0 ? dim_ : layout.size;
    if (rotated > layout.size || rotated % 2 != 0) {
      FailOp("rotary dimension is {}, expected an even number up to the head's {}", rotated, layout.size);
    }
    CheckCaches(layout, rotated / 2, cosines, sines, positions, x.type);
    const int64_t rows = cosines.dims.Count(0, cosines.rank() - 1);
    Tensor& y = context.Output(0, x.type, x.dims);
    DispatchFloats(x.type, "RotaryEmbedding", [&]<typename T>() {
      // Heads are contiguous in either layout.
      ParallelLoop(
          context, layout.batch * layout.length * layout.heads, layout.size * kCost, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t token = layout.TokenOf(i);
              int64_t row = positions == nullptr ? token : positions->as<int64_t>()[token];
              if (row < 0) row += rows;
              const T* const from = x.as<T>() + i * layout.size;
              T* const to = y.as<T>() + i * layout.size;
              const int64_t angle = row * (rotated / 2);
              simd::TurnPairs(from, cosines.as<T>() + angle, sines.as<T>() + angle, to, rotated / 2, interleaved_);
              std::copy(from + rotated, from + layout.size, to + rotated);
            }
          });
    });
  }

 private:
  static constexpr int64_t kCost = 1;  // cost of an element, in additions

  struct Layout {
    int64_t batch, length, heads, size;
    bool heads_first;  // [batch, heads, length, size]; otherwise [batch, length, heads * size]
    // batch * length + position in the sequence
    int64_t TokenOf(int64_t head) const {
      return heads_first ? head / (heads * length) * length + head % length : head / heads;
    }
  };

  Layout ReadLayout(const Dims& dims) const {
    if (dims.size() == 4) return {dims[0], dims[2], dims[1], dims[3], true};
    if (dims.size() != 3 || heads_ <= 0 || dims[2] % heads_ != 0) {
      FailOp("input has shape {}, expected [batch,heads,length,size], or [batch,length,hidden] with num_heads",
             ShapeText(dims));
    }
    return {dims[0], dims[1], heads_, dims[2] / heads_, false};
  }

  static void CheckCaches(const Layout& layout, int64_t half, const Tensor& cosines, const Tensor& sines,
                          const Tensor* positions, ElementType type) {
    const int64_t tokens = layout.batch * layout.length;
    if (!(cosines.dims == sines.dims) || cosines.rank() < 2 || cosines.dims.back() != half || cosines.type != type ||
        sines.type != type) {
      FailOp("caches have shapes {} and {}, expected [...,{}] of {}", ShapeText(cosines.dims), ShapeText(sines.dims),
             half, TypeName(type));
    }
    const int64_t rows = cosines.dims.Count(0, cosines.rank() - 1);
    if (positions == nullptr) {
      if (rows != tokens) FailOp("caches have {} rows, expected one for each of {} tokens", rows, tokens);
      return;
    }
    if (positions->type != EP_TYPE_INT64 || positions->Count() != tokens) {
      FailOp("position_ids have shape {}, expected [{},{}] of int64", ShapeText(positions->dims), layout.batch,
             layout.length);
    }
    for (int64_t i = 0; i < tokens; ++i) {
      const int64_t position = positions->as<int64_t>()[i];
      if (position < -rows || position >= rows) FailOp("position {} is outside of the caches' {} rows", position, rows);
    }
  }

  bool interleaved_;
  int64_t heads_;
  int64_t dim_;
};

}  // namespace

void Register_rotary_embedding(KernelRegistry& registry) {
  registry.Add<RotaryEmbeddingKernel>("RotaryEmbedding", 23, kFloats);
}

}  // namespace epiphyte::cpu
