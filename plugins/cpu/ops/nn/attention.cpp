// Attention: softmax(Q K^T * scale + mask) V, with a cache of past keys and values.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "epiphyte/kit/shape/attention.hpp"
#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/gemm/row_dots.h"
#include "plugins/cpu/simd/gemm/tile_matmul.h"
#include "plugins/cpu/simd/reduce/normalize.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kQueryBlock = 32;
// Up to this number of queries, as in text generation, keys and values are read once and in place.
constexpr int64_t kFewQueries = 4;
// Number of 16-bit keys or values that are converted to floats at a time.
constexpr int64_t kKeyBlock = 64;

// Rounds up to whole cache lines: rows of scores and of transposed keys start at cache lines and are whole vectors.
int64_t WholeLines(int64_t elements) {
  constexpr int64_t kLine = 16;
  return kit::RoundUp(elements, kLine);
}
int64_t PaddedKeys(const kit::AttentionShape& shape) { return WholeLines(shape.total); }

// Stage of the scores in the fourth output.
enum ScoreStage : int64_t { kRaw = 0, kCapped = 1, kMasked = 2, kSoftmaxed = 3 };

// Addends of the scores: a mask that broadcasts to [batch, heads, queries, total] and may be short in the last
// dimension, the causal mask, and the number of keys that are not padding.
class Bias {
 public:
  Bias(const kit::AttentionShape& shape, const Tensor* mask, const Tensor* lengths, bool causal)
      : shape_(shape), mask_(mask), lengths_(lengths), causal_(causal) {
    if (lengths != nullptr && (lengths->type != EP_TYPE_INT64 || lengths->Count() != shape.batch)) {
      FailOp("nonpad_kv_seqlen has shape {}, expected [{}] of int64", ShapeText(lengths->dims), shape.batch);
    }
    if (mask == nullptr) return;
    lies_ = kit::AttentionMask(shape, mask->dims);
    constexpr TypeSet kMasks = kFloats | kIntegers | TypeBit(EP_TYPE_BOOL);
    if (mask->type <= 0 || mask->type >= 64 || (kMasks & TypeBit(mask->type)) == 0)
      FailOp("mask is {}, expected bool or numbers", TypeName(mask->type));
  }

  template <typename C>
  void AddTo(C* scores, int64_t image, int64_t head, int64_t query) const {
    constexpr C kNever = -std::numeric_limits<C>::infinity();
    if (mask_ != nullptr) {
      const int64_t base = image * lies_.strides[0] + head * lies_.strides[1] + query * lies_.strides[2];
      for (int64_t i = 0; i < lies_.length; ++i) {
        const int64_t at = base + i * lies_.strides[3];
        if (mask_->type == EP_TYPE_BOOL) {
          if (!mask_->as<bool>()[at]) scores[i] = kNever;
        } else if (mask_->type == EP_TYPE_DOUBLE) {
          scores[i] += static_cast<C>(mask_->as<double>()[at]);
        } else if ((kIntegers & TypeBit(mask_->type)) != 0) {
          // Integer masks are added as numbers.
          DispatchIntegers(mask_->type, "the mask",
                           [&]<typename T>() { scores[i] += static_cast<C>(mask_->as<T>()[at]); });
        } else {
          float value;
          LoadFloats(*mask_, at, 1, &value);
          scores[i] += static_cast<C>(value);
        }
      }
      std::fill(scores + lies_.length, scores + shape_.total, kNever);
    }
    int64_t visible = shape_.total;
    if (lengths_ != nullptr) visible = std::clamp<int64_t>(lengths_->as<int64_t>()[image], 0, visible);
    if (causal_) {
      const int64_t before =
          lengths_ != nullptr && shape_.past == 0 ? lengths_->as<int64_t>()[image] - shape_.queries : shape_.past;
      visible = std::clamp<int64_t>(std::min(visible, query + before + 1), 0, shape_.total);
    }
    std::fill(scores + visible, scores + shape_.total, kNever);
  }

 private:
  const kit::AttentionShape& shape_;
  const Tensor* mask_;
  const Tensor* lengths_;
  bool causal_;
  kit::AttentionMask lies_;
};

// Softmax of a row. A row without any visible key becomes 0.
template <typename C>
void Softmax(C* row, int64_t n) {
  if (n == 0) return;
  if constexpr (std::is_same_v<C, float>) {
    const simd::NormalizeLoops& loops = simd::ChosenNormalizeLoops();
    if (loops.largest(row, n) == -std::numeric_limits<float>::infinity()) {
      std::fill_n(row, n, 0.0f);
    } else {
      loops.softmax(row, row, n);
    }
  } else {
    const C largest = *std::max_element(row, row + n);
    const bool visible = largest != -std::numeric_limits<C>::infinity();
    C sum = visible ? C(0) : C(1);
    for (int64_t i = 0; i < n; ++i) sum += row[i] = visible ? std::exp(row[i] - largest) : C(0);
    for (int64_t i = 0; i < n; ++i) row[i] /= sum;
  }
}

// Concatenates the cache and the new keys or values to [batch, kv_heads, total, width].
void Concatenate(const kit::AttentionShape& shape, const Tensor* past, const Tensor& fresh, int64_t width,
                 Tensor& present) {
  const uint64_t row = static_cast<uint64_t>(width) * ElementBytes(fresh.type, 1);
  uint8_t* to = present.as<uint8_t>();
  for (int64_t i = 0; i < shape.batch * shape.kv_heads; ++i) {
    if (past != nullptr) {
      const uint64_t bytes = static_cast<uint64_t>(shape.past) * row;
      if (bytes != 0) std::memcpy(to, past->as<uint8_t>() + static_cast<uint64_t>(i) * bytes, bytes);
      to += bytes;
    }
    for (int64_t j = 0; j < shape.fresh; ++j) {
      const int64_t at = shape.Offset(i / shape.kv_heads, i % shape.kv_heads, j, shape.kv_heads, shape.fresh, 1);
      if (row != 0) std::memcpy(to, fresh.as<uint8_t>() + static_cast<uint64_t>(at) * row, row);
      to += row;
    }
  }
}

// Values as type C: in place if they have it, otherwise in scratch memory.
template <typename C>
const C* AsNumbers(OpContext& context, const Tensor& tensor) {
  if (tensor.type == kTypeOf<C>) return tensor.as<C>();
  const int64_t count = tensor.Count();
  C* numbers = static_cast<C*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(C)));
  DispatchFloats(tensor.type, "Attention", [&]<typename T>() {
    const T* const from = tensor.as<T>();
    ParallelLoop(context, count, 1, [&](int64_t begin, int64_t end) {
      if constexpr (kIsSmallFloat<T> && std::is_same_v<C, float>) {
        SmallFloats<T>().load(from + begin, numbers + begin, end - begin);
      } else {
        for (int64_t i = begin; i < end; ++i) numbers[i] = static_cast<C>(static_cast<Compute<T>>(from[i]));
      }
    });
  });
  return numbers;
}

class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const KernelInit& init)
      : causal_(init.node().Int("is_causal", 0) != 0),
        q_heads_(init.node().Int("q_num_heads", 0)),
        kv_heads_(init.node().Int("kv_num_heads", 0)),
        softcap_(init.node().Float("softcap", 0.0f)),
        stage_(init.node().Int("qk_matmul_output_mode", 0)) {
    if (init.node().Has("scale")) scale_ = init.node().Float("scale", 1.0f);
    if (stage_ < kRaw || stage_ > kSoftmaxed) FailOp("qk_matmul_output_mode is {}, expected 0 to 3", stage_);
  }

  void Run(OpContext& context) const override {
    const Tensor& q = context.Input(0);
    const Tensor& k = context.Input(1);
    const Tensor& v = context.Input(2);
    const Tensor* past_key = context.OptionalInput(4);
    const Tensor* past_value = context.OptionalInput(5);
    const kit::AttentionShape shape(q.dims, k.dims, v.dims, past_key == nullptr ? nullptr : &past_key->dims,
                                    past_value == nullptr ? nullptr : &past_value->dims, q_heads_, kv_heads_);
    if (k.type != q.type || (past_key != nullptr && (past_key->type != k.type || past_value->type != v.type))) {
      FailOp("Q, K, V and the cache have different types");
    }
    const Bias bias(shape, context.OptionalInput(3), context.OptionalInput(6), causal_);
    const Tensor& keys = Present(context, shape, 1, past_key, k, shape.size);
    const Tensor& values = Present(context, shape, 2, past_value, v, shape.v_size);
    Tensor& y = context.Output(0, q.type, shape.Output());
    Tensor* scores = nullptr;
    if (context.HasOutput(3)) {
      scores = &context.Output(3, q.type, shape.Scores());
    }
    DispatchFloats(q.type, "Attention",
                   [&]<typename T>() { RunTyped<T>(context, shape, bias, q, keys, values, y, scores); });
  }

 private:
  // Output j: the cache and the new values. Without a cache, it is the input itself unless its heads are not first.
  static const Tensor& Present(OpContext& context, const kit::AttentionShape& shape, size_t j, const Tensor* past,
                               const Tensor& fresh, int64_t width) {
    if (past == nullptr && shape.heads_first && !context.HasOutput(j)) return fresh;
    Tensor& present = context.Output(j, fresh.type, Dims{shape.batch, shape.kv_heads, shape.total, width});
    Concatenate(shape, past, fresh, width, present);
    return present;
  }

  // [batch, kv_heads, …] each. Keys are [size, total], or [total, size] when `key_rows` is not null.
  template <typename T>
  struct Operands {
    const T* key_rows = nullptr;
    const T* value_rows = nullptr;
    const Compute<T>* keys = nullptr;
    const Compute<T>* values = nullptr;
    const T* q = nullptr;
    T* y = nullptr;
    T* shown = nullptr;  // scores at stage_; null: not asked for
  };

  template <typename T>
  void RunTyped(OpContext& context, const kit::AttentionShape& shape, const Bias& bias, const Tensor& q,
                const Tensor& keys, const Tensor& values, Tensor& y, Tensor* shown) const {
    using C = Compute<T>;
    Operands<T> operands;
    operands.q = q.as<T>();
    operands.y = y.as<T>();
    operands.shown = shown == nullptr ? nullptr : shown->as<T>();
    if (shape.queries <= kFewQueries && values.type == keys.type) {
      operands.key_rows = keys.as<T>();
      operands.value_rows = values.as<T>();
    } else {
      operands.keys = Transpose(context, shape, AsNumbers<C>(context, keys));
      operands.values = AsNumbers<C>(context, values);
    }
    const int64_t blocks = (shape.queries + kQueryBlock - 1) / kQueryBlock;
    const int64_t tasks = shape.batch * shape.heads * blocks;
    // Each share has its own buffers, so the number of shares is fixed here.
    const int64_t shares = std::min<int64_t>(context.thread_count(), tasks);
    const int64_t block = std::min(kQueryBlock, shape.queries);
    const int64_t buffer = WholeLines(block * (shape.size + PaddedKeys(shape) + shape.v_size) +
                                      kKeyBlock * std::max(shape.size, shape.v_size));
    C* buffers = static_cast<C*>(context.Scratch(static_cast<uint64_t>(shares * buffer) * sizeof(C)));
    const double work = static_cast<double>(tasks * block) * static_cast<double>(shape.total) *
                        static_cast<double>(shape.size + shape.v_size) / 8;
    const double cost = work / static_cast<double>(std::max<int64_t>(shares, 1));
    if (WarmUpScope::LeavesOut(y.Count())) return;
    ParallelLoop(context, shares, SaturateTo<int64_t>(cost), [&](int64_t first, int64_t last) {
      for (int64_t share = first; share < last; ++share) {
        // Blocks of one head are adjacent, so that its keys and values stay in the cache.
        for (int64_t task = share * tasks / shares; task < (share + 1) * tasks / shares; ++task) {
          RunBlock<T>(shape, bias, operands, task / blocks, task % blocks * kQueryBlock, buffers + share * buffer);
        }
      }
    });
  }

  // Transposes keys to [batch, kv_heads, size, padded keys], so that a plain GEMM computes the scores.
  template <typename C>
  static const C* Transpose(OpContext& context, const kit::AttentionShape& shape, const C* keys) {
    const int64_t matrices = shape.batch * shape.kv_heads;
    const int64_t count = shape.total * shape.size, padded = PaddedKeys(shape);
    C* transposed = static_cast<C*>(context.Scratch(static_cast<uint64_t>(matrices * padded * shape.size) * sizeof(C)));
    ParallelLoop(context, matrices, count * 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const C* from = keys + i * count;
        C* to = transposed + i * padded * shape.size;
        for (int64_t row = 0; row < shape.size; ++row)
          std::fill_n(to + row * padded + shape.total, padded - shape.total, C(0));
        constexpr int64_t kTile = 32;
        for (int64_t row = 0; row < shape.total; row += kTile)
          for (int64_t column = 0; column < shape.size; column += kTile)
            strided::TransposeTile(from + row * shape.size + column, shape.size, to + column * padded + row, padded,
                                   std::min(kTile, shape.size - column), std::min(kTile, shape.total - row));
      }
    });
    return transposed;
  }

  // Computes up to kQueryBlock queries of one head of one batch item.
  template <typename T>
  void RunBlock(const kit::AttentionShape& shape, const Bias& bias, const Operands<T>& operands, int64_t item,
                int64_t first, Compute<T>* buffer) const {
    using C = Compute<T>;
    const int64_t image = item / shape.heads, head = item % shape.heads;
    const int64_t kv = image * shape.kv_heads + shape.SharedHead(head);
    const int64_t rows = std::min(kQueryBlock, shape.queries - first);
    const int64_t total = shape.total, padded = PaddedKeys(shape);
    C* scores = buffer;
    C* queries = scores + rows * padded;
    C* results = queries + rows * shape.size;
    C* room = results + rows * shape.v_size;
    const C scale = scale_ ? static_cast<C>(*scale_) : C(1) / std::sqrt(static_cast<C>(shape.size));
    for (int64_t i = 0; i < rows; ++i) {
      const T* from = operands.q + shape.Offset(image, head, first + i, shape.heads, shape.queries, shape.size);
      if constexpr (std::is_same_v<T, float>) {
        multiply_(from, 1, &scale, 0, queries + i * shape.size, shape.size);
      } else {
        for (int64_t j = 0; j < shape.size; ++j) queries[i * shape.size + j] = static_cast<C>(from[j]) * scale;
      }
    }
    if (operands.key_rows != nullptr) {
      ScoreRows(queries, operands.key_rows + kv * total * shape.size, rows, total, shape.size, scores, padded, room);
    } else {
      simd::TileMatMul(simd::TileOperands<C>{queries, shape.size, operands.keys + kv * shape.size * padded, padded,
                                             scores, padded, rows, padded, shape.size, true});
    }
    for (int64_t i = 0; i < rows; ++i) {
      C* row = scores + i * padded;
      const auto show = [&](ScoreStage stage) {
        if (operands.shown == nullptr || stage != stage_) return;
        T* to = operands.shown + (item * shape.queries + first + i) * total;
        for (int64_t j = 0; j < total; ++j) to[j] = static_cast<T>(row[j]);
      };
      show(kRaw);
      if (softcap_ > 0) {
        for (int64_t j = 0; j < total; ++j) row[j] = std::tanh(row[j] / C(softcap_)) * C(softcap_);
      }
      show(kCapped);
      bias.AddTo(row, image, head, first + i);
      show(kMasked);
      Softmax(row, total);
      show(kSoftmaxed);
    }
    if constexpr (std::is_same_v<T, C>) {
      if (operands.value_rows == nullptr) {
        const int64_t at = shape.Offset(image, head, first, shape.heads, shape.queries, shape.v_size);
        const int64_t stride = shape.heads_first ? shape.v_size : shape.heads * shape.v_size;
        return simd::TileMatMul(simd::TileOperands<C>{scores, padded, operands.values + kv * total * shape.v_size,
                                                      shape.v_size, operands.y + at, stride, rows, shape.v_size, total,
                                                      true});
      }
    }
    if (operands.value_rows != nullptr) {
      std::fill_n(results, rows * shape.v_size, C(0));
      const T* const values = operands.value_rows + kv * total * shape.v_size;
      ForEachRows(values, total, shape.v_size, room, [&](int64_t at, int64_t count, const C* block) {
        simd::TileMatMul(simd::TileOperands<C>{scores + at, padded, block, shape.v_size, results, shape.v_size, rows,
                                               shape.v_size, count});
      });
    } else {
      simd::TileMatMul(simd::TileOperands<C>{scores, padded, operands.values + kv * total * shape.v_size, shape.v_size,
                                             results, shape.v_size, rows, shape.v_size, total, true});
    }
    for (int64_t i = 0; i < rows; ++i) {
      T* to = operands.y + shape.Offset(image, head, first + i, shape.heads, shape.queries, shape.v_size);
      const C* const from = results + i * shape.v_size;
      if constexpr (kIsSmallFloat<T>) {
        SmallFloats<T>().store(from, to, shape.v_size);
      } else {
        std::copy_n(from, shape.v_size, to);
      }
    }
  }

  // Calls visit(at, count, rows) for `n` rows of `width` numbers. 16-bit rows come kKeyBlock at a time, as floats in
  // `room`.
  template <typename T, typename Visit>
  static void ForEachRows(const T* rows, int64_t n, int64_t width, Compute<T>* room, const Visit& visit) {
    if constexpr (kIsSmallFloat<T>) {
      for (int64_t at = 0; at < n; at += kKeyBlock) {
        const int64_t count = std::min(kKeyBlock, n - at);
        SmallFloats<T>().load(rows + at * width, room, count * width);
        visit(at, count, room);
      }
    } else {
      visit(int64_t{0}, n, rows);
    }
  }

  // scores[rows, total] = queries[rows, size] times the transposed keys.
  template <typename T>
  static void ScoreRows(const Compute<T>* queries, const T* keys, int64_t rows, int64_t total, int64_t size,
                        Compute<T>* scores, int64_t stride, Compute<T>* room) {
    ForEachRows(keys, total, size, room, [&](int64_t at, int64_t count, const Compute<T>* block) {
      for (int64_t i = 0; i < rows; ++i) {
        const Compute<T>* const query = queries + i * size;
        Compute<T>* const to = scores + i * stride + at;
        if constexpr (std::is_same_v<Compute<T>, float>) {
          simd::RowDots(query, block, size, count, size, to);
        } else {
          for (int64_t j = 0; j < count; ++j) to[j] = std::inner_product(query, query + size, block + j * size, 0.0);
        }
      }
    });
  }

  bool causal_;
  int64_t q_heads_;
  int64_t kv_heads_;
  std::optional<float> scale_;
  float softcap_;
  int64_t stage_;
  simd::BinaryLoop multiply_{simd::Binary::kMul};
};

}  // namespace

void Register_attention(KernelRegistry& registry) { registry.Add<AttentionKernel>("Attention", 23, kFloats); }

}  // namespace epiphyte::cpu
