// RotaryEmbedding: pairs of elements of each head are turned by an angle that depends on the position. ONNX defines the
// rows of the caches by Gather: a negative position counts from their end, one outside of them is an error.
#include <vector>

#include "plugins/cpu/ops/math/elementwise.h"

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
      ParallelLoop(context, layout.batch * layout.length * layout.heads, layout.size * 2,
                   [&](int64_t begin, int64_t end) {
                     Angles<T> angles(rotated / 2);
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t token = i / layout.heads;  // batch * length + position in the sequence
                       if (i == begin || i % layout.heads == 0) {
                         int64_t row = positions == nullptr ? token : positions->as<int64_t>()[token];
                         if (row < 0) row += rows;
                         angles.Load(cosines.as<T>() + row * (rotated / 2), sines.as<T>() + row * (rotated / 2));
                       }
                       const int64_t offset = layout.Offset(token, i % layout.heads);
                       Rotate(x.as<T>() + offset, angles, y.as<T>() + offset, rotated / 2, layout.size);
                     }
                   });
    });
  }

 private:
  // The cosines and sines of a token, which are the same for all heads; the 16-bit formats go through floats.
  template <typename T>
  struct Angles {
    explicit Angles(int64_t half) {
      if constexpr (kIsSmallFloat<T>) wide.resize(static_cast<size_t>(6 * half));
      n = half;
    }
    void Load(const T* cosine_row, const T* sine_row) {
      if constexpr (kIsSmallFloat<T>) {
        SmallFloats<T>().load(cosine_row, wide.data(), n);
        SmallFloats<T>().load(sine_row, wide.data() + n, n);
        cosines = wide.data(), sines = wide.data() + n;
      } else {
        cosines = cosine_row, sines = sine_row;
      }
    }
    // Room for a head's elements, and behind them for what becomes of them.
    float* room() { return wide.data() + 2 * n; }

    int64_t n;
    const Compute<T>* cosines = nullptr;
    const Compute<T>* sines = nullptr;
    std::vector<float> wide;
  };

  struct Layout {
    int64_t batch, length, heads, size;
    bool heads_first;  // [batch, heads, length, size]; otherwise [batch, length, heads * size]
    int64_t Offset(int64_t token, int64_t head) const {
      if (!heads_first) return (token * heads + head) * size;
      return ((token / length * heads + head) * length + token % length) * size;
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

  template <typename T>
  void Rotate(const T* x, Angles<T>& angles, T* y, int64_t half, int64_t size) const {
    if constexpr (kIsSmallFloat<T>) {
      const SmallFloats<T> small;
      float* const from = angles.room();
      float* const to = from + 2 * half;
      small.load(x, from, 2 * half);
      RotateHead(from, angles.cosines, angles.sines, to, half);
      small.store(to, y, 2 * half);
    } else {
      RotateHead(x, angles.cosines, angles.sines, y, half);
    }
    std::copy(x + 2 * half, x + size, y + 2 * half);
  }
  template <typename C>
  void RotateHead(const C* x, const C* cosines, const C* sines, C* y, int64_t half) const {
    if (interleaved_) {
      RotatePairs<2>(x, x + 1, cosines, sines, y, y + 1, half);
    } else {
      RotatePairs<1>(x, x + half, cosines, sines, y, y + half, half);
    }
  }

  // The rows overlap nowhere, of which the compiler is told, because it wouldn't make vectors otherwise.
  template <int kStep, typename C>
  static void RotatePairs(const C* __restrict a, const C* __restrict b, const C* __restrict cosines,
                          const C* __restrict sines, C* __restrict y_a, C* __restrict y_b, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const C first = a[i * kStep], second = b[i * kStep], c = cosines[i], s = sines[i];
      y_a[i * kStep] = c * first - s * second;
      y_b[i * kStep] = s * first + c * second;
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
