// epiphyte.kit.Attention: softmax(q k * scale + mask) v over 4-D views, one tile of rows at a time, so that scores
// never leave the cache. See epiphyte/kit/fuse/operators.hpp.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/shape/round_up.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/kernel/strided.h"
#include "plugins/cpu/onednn/split.h"
#include "plugins/cpu/onednn/warm_up_scope.h"
#include "plugins/cpu/ops/nn/bfloat16_attention.h"
#include "plugins/cpu/simd/gemm/row_dots.h"
#include "plugins/cpu/simd/gemm/tile_matmul.h"
#include "plugins/cpu/simd/sequence/attention_rows.h"

namespace epiphyte::cpu {
namespace {

// One of q, k, v: element (b, h, i, j) is at the sum of index times stride.
struct Strided {
  const float* data = nullptr;
  std::array<int64_t, 4> sizes{};
  std::array<int64_t, 4> strides{};

  Strided(const Tensor& tensor, const std::array<int64_t, 4>& perm) : data(tensor.as<float>()) {
    if (tensor.type != EP_TYPE_FLOAT || tensor.rank() != 4) FailOp("float tensors of rank 4 expected");
    std::array<int64_t, 4> own{};
    int64_t stride = 1;
    for (size_t d = 4; d-- > 0;) {
      own[d] = stride;
      stride *= tensor.dims[d];
    }
    for (size_t d = 0; d < 4; ++d) {
      sizes[d] = tensor.dims[perm[d]];
      strides[d] = own[perm[d]];
    }
  }
  // Matrix of a batch and a head. A batch of one is broadcast; a key/value head serves its group of heads.
  const float* Matrix(int64_t batch, int64_t head, int64_t heads) const {
    const int64_t b = sizes[0] == 1 ? 0 : batch;
    const int64_t h = head / (heads / sizes[1]);
    return data + b * strides[0] + h * strides[1];
  }
};

std::array<int64_t, 4> ReadPerm(const ir::Node& node, std::string_view name) {
  const std::vector<int64_t> list = node.Ints(name);
  std::array<int64_t, 4> perm{};
  std::array<bool, 4> seen{};
  if (list.size() != 4) throw kit::Error(EP_STATUS_INVALID_GRAPH, "a permutation of 4 expected");
  for (size_t i = 0; i < 4; ++i) {
    if (list[i] < 0 || list[i] > 3 || seen[list[i]]) throw kit::Error(EP_STATUS_INVALID_GRAPH, "not a permutation");
    seen[list[i]] = true;
    perm[i] = list[i];
  }
  return perm;
}

class FusedAttentionKernel final : public Kernel {
 public:
  explicit FusedAttentionKernel(const KernelInit& init)
      : q_perm_(ReadPerm(init.node(), "q_perm")),
        k_perm_(ReadPerm(init.node(), "k_perm")),
        v_perm_(ReadPerm(init.node(), "v_perm")),
        y_perm_(ReadPerm(init.node(), "y_perm")),
        scale_(init.node().Float("scale", 1)),
        bfloat16_(init.AllowsBfloat16() && HasSplitProducts()) {
    const ir::Node& node = init.node();
    if (node.inputs.size() > 4 || node.outputs.size() > 1)
      NotImplemented("{} inputs and {} outputs found; queries, keys, values and a mask expected, and one result",
                     node.inputs.size(), node.outputs.size());
  }

  void Run(OpContext& context) const override {
    Operands all{Strided(context.Input(0), q_perm_), Strided(context.Input(1), k_perm_),
                 Strided(context.Input(2), v_perm_)};
    const Strided &q = all.q, &k = all.k, &v = all.v;
    const int64_t batches = std::max({q.sizes[0], k.sizes[0], v.sizes[0]});
    const int64_t heads = std::max({q.sizes[1], k.sizes[1], v.sizes[1]});
    const int64_t rows = q.sizes[2], depth = q.sizes[3], keys = k.sizes[3], width = v.sizes[3];
    for (const Strided* operand : {&q, &k, &v}) {
      if ((operand->sizes[0] != 1 && operand->sizes[0] != batches) || operand->sizes[1] == 0 ||
          heads % operand->sizes[1] != 0)
        FailOp("batches or heads of queries, keys and values don't fit together");
    }
    if (k.sizes[2] != depth || v.sizes[2] != keys) FailOp("queries, keys and values don't fit together");
    const Tensor* mask = context.OptionalInput(3);
    if (mask != nullptr) all.mask_strides = MaskStrides(*mask, {batches, heads, rows, keys});
    const std::array<int64_t, 4>& mask_strides = all.mask_strides;

    const std::array<int64_t, 4> logical = {batches, heads, rows, width};
    Dims y_dims;
    for (int64_t d : y_perm_) y_dims.push_back(logical[d]);
    Tensor& y = context.Output(0, EP_TYPE_FLOAT, y_dims);
    if (y.Count() == 0 || WarmUpScope::LeavesOut(y.Count())) return;
    std::array<int64_t, 4> y_strides{};
    int64_t stride = 1;
    for (size_t d = 4; d-- > 0;) {
      y_strides[y_perm_[d]] = stride;
      stride *= y_dims[d];
    }
    all.heads = heads;
    all.y_row = y_strides[2];
    all.y_column = y_strides[3];

    // Tasks are whole heads when there are enough of them for the threads. Keys and values are packed once in a task.
    int64_t tile = rows;
    if (batches * heads < 2 * static_cast<int64_t>(context.thread_count())) tile = std::min<int64_t>(tile, kRowBlock);
    const int64_t tiles = (rows + tile - 1) / tile;
    const int64_t shares = batches * heads * tiles;
    const int64_t work = tile * keys * (depth + width);
    context.ParallelFor(
        shares, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
          Scratch scratch(std::min(tile, kRowBlock), keys, depth, width);
          if (bfloat16_ && rows >= kFewestTileRows && keys >= kFewestTileRows && depth > 0)
            scratch.products.emplace(std::min(tile, kRowBlock), keys, depth, width);
          for (int64_t share = begin; share < end; ++share) {
            const int64_t head_index = share / tiles;
            const int64_t b = head_index / heads;
            const int64_t h = head_index % heads;
            const int64_t first = share % tiles * tile;
            const int64_t count = std::min(tile, rows - first);
            const float* mask_data = mask == nullptr ? nullptr
                                                     : mask->as<float>() + b * mask_strides[0] + h * mask_strides[1] +
                                                           first * mask_strides[2];
            RunTile(scratch, all,
                    {b, h, first, count, mask_data,
                     y.as<float>() + b * y_strides[0] + h * y_strides[1] + first * y_strides[2]});
          }
        });
  }

 private:
  // Operands and strides of all heads, in elements.
  struct Operands {
    Strided q, k, v;
    int64_t heads = 0;
    std::array<int64_t, 4> mask_strides{};
    int64_t y_row = 0, y_column = 0;
  };
  // Queries [first, first + count) of head `h` of batch item `b`. `mask`, or null, and `y` begin at the first of them.
  struct Queries {
    int64_t b, h, first, count;
    const float* mask;
    float* y;
  };

  // Number of query rows with scores that stay in the L1 cache.
  static constexpr int64_t kRowBlock = 32;
  // With fewer rows than this, keys and values are read once and in place.
  static constexpr int64_t kFewRows = 4;

  // Minimum number of queries and of keys for AMX tiles.
  static constexpr int64_t kFewestTileRows = 16;

  // Rounds up to whole cache lines: rows of scores and of packed keys are whole lines.
  static int64_t WholeLines(int64_t floats) {
    constexpr int64_t kLine = 16;
    return kit::RoundUp(floats, kLine);
  }

  struct Scratch {
    std::unique_ptr<float[]> memory;
    float *scores, *k, *v, *q, *y;
    const float* packed_k = nullptr;  // the source matrices that `k` and `v` hold in packed form
    const float* packed_v = nullptr;
    std::optional<Bfloat16Attention> products;  // replaces the float GEMMs, for the same matrices
    Scratch(int64_t block, int64_t keys, int64_t depth, int64_t width) {
      constexpr int64_t kLine = 16;
      const int64_t padded = WholeLines(keys);
      const int64_t floats =
          block * padded + depth * padded + WholeLines(keys * width) + WholeLines(block * depth) + block * width;
      memory.reset(new float[static_cast<size_t>(floats + kLine)]);
      const auto beyond = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory.get()) / sizeof(float)) % kLine;
      scores = memory.get() + (kLine - beyond);
      k = scores + block * padded;
      v = k + depth * padded;
      q = v + WholeLines(keys * width);
      y = q + WholeLines(block * depth);
    }
  };

  static std::array<int64_t, 4> MaskStrides(const Tensor& mask, const std::array<int64_t, 4>& scores) {
    if (mask.type != EP_TYPE_FLOAT || mask.rank() > 4) FailOp("a mask of floats and of rank 4 at most expected");
    std::array<int64_t, 4> strides{};
    int64_t stride = 1;
    for (size_t i = 0; i < mask.rank(); ++i) {
      const int64_t size = mask.dims[mask.rank() - 1 - i];
      if (size != 1 && size != scores[3 - i]) FailOp("a mask dimension of {} for {}", size, scores[3 - i]);
      strides[3 - i] = size == 1 ? 0 : stride;
      stride *= size;
    }
    return strides;
  }

  // Copies rows x columns to contiguous columns with row stride `to_row`; padding between rows becomes 0.
  static void Pack(const float* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                   float* to, int64_t to_row) {
    constexpr int64_t kTile = 32;
    for (int64_t r = 0; r < rows; ++r) {
      if (column_stride == 1) {
        std::copy_n(from + r * row_stride, columns, to + r * to_row);
      } else if (row_stride != 1) {
        for (int64_t c = 0; c < columns; ++c) to[r * to_row + c] = from[r * row_stride + c * column_stride];
      }
      std::fill(to + r * to_row + columns, to + (r + 1) * to_row, 0.0f);
    }
    if (row_stride != 1 || column_stride == 1) return;
    for (int64_t c = 0; c < columns; c += kTile)
      for (int64_t r = 0; r < rows; r += kTile)
        strided::TransposeTile(from + c * column_stride + r, column_stride, to + r * to_row + c, to_row,
                               std::min(kTile, rows - r), std::min(kTile, columns - c));
  }

  // Returns the matrix with contiguous columns: in place, or copied to `to`.
  static const float* Dense(const float* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                            float* to, int64_t* stride) {
    if (column_stride == 1 || columns == 1) {
      *stride = row_stride;
      return from;
    }
    Pack(from, row_stride, column_stride, rows, columns, to, columns);
    *stride = columns;
    return to;
  }

  void RunTile(Scratch& scratch, const Operands& all, const Queries& tile) const {
    for (int64_t at = 0; at < tile.count; at += kRowBlock)
      RunBlock(scratch, all,
               {tile.b, tile.h, tile.first + at, std::min(kRowBlock, tile.count - at),
                tile.mask == nullptr ? nullptr : tile.mask + at * all.mask_strides[2], tile.y + at * all.y_row});
  }

  void RunBlock(Scratch& scratch, const Operands& all, const Queries& block) const {
    const Strided &q = all.q, &k = all.k, &v = all.v;
    const auto [b, h, first, rows, mask, y] = block;
    const int64_t heads = all.heads, y_row = all.y_row, y_column = all.y_column;
    const int64_t depth = q.sizes[3], keys = k.sizes[3], width = v.sizes[3], padded = WholeLines(keys);
    const bool few = rows < kFewRows;
    int64_t q_row = 0;
    const float* queries =
        Dense(q.Matrix(b, h, heads) + first * q.strides[2], q.strides[2], q.strides[3], rows, depth, scratch.q, &q_row);
    const float* const key_matrix = k.Matrix(b, h, heads);
    const float* const value_matrix = v.Matrix(b, h, heads);
    if (scratch.products) {
      // The strides decide whether both can be packed, so the result is the same for all heads.
      const bool taken =
          (scratch.packed_k == key_matrix || scratch.products->TakeKeys(key_matrix, k.strides[2], k.strides[3])) &&
          (scratch.packed_v == value_matrix || scratch.products->TakeValues(value_matrix, v.strides[2], v.strides[3]));
      if (!taken) scratch.products.reset();
      scratch.packed_k = taken ? key_matrix : nullptr;
      scratch.packed_v = taken ? value_matrix : nullptr;
    }
    const bool direct = y_column == 1;
    float* to = direct ? y : scratch.y;
    const int64_t to_row = direct ? y_row : width;
    if (scratch.products) {
      scratch.products->Score(queries, q_row, rows, scratch.scores, padded);
    } else if (few && k.strides[2] == 1 && scratch.packed_k != key_matrix) {
      for (int64_t r = 0; r < rows; ++r)
        simd::RowDots(queries + r * q_row, key_matrix, k.strides[3], keys, depth, scratch.scores + r * padded);
    } else {
      if (scratch.packed_k != key_matrix) Pack(key_matrix, k.strides[2], k.strides[3], depth, keys, scratch.k, padded);
      scratch.packed_k = key_matrix;
      simd::TileMatMul(simd::TileOperands<float>{queries, q_row, scratch.k, padded, scratch.scores, padded, rows,
                                                 padded, depth, true});
    }
    for (int64_t r = 0; r < rows; ++r)
      simd::MaskedSoftmax(scratch.scores + r * padded, mask == nullptr ? nullptr : mask + r * all.mask_strides[2],
                          all.mask_strides[3], scale_, keys);
    if (scratch.products) {
      scratch.products->Weigh(scratch.scores, padded, rows, to, to_row);
    } else {
      const float* values = value_matrix;
      int64_t v_row = v.strides[2];
      const bool lies_well = v.strides[3] == 1 && (few || v_row == width);
      if (scratch.packed_v == values || !lies_well) {
        if (scratch.packed_v != values) Pack(values, v.strides[2], v.strides[3], keys, width, scratch.v, width);
        scratch.packed_v = values;
        values = scratch.v;
        v_row = width;
      }
      simd::TileMatMul(
          simd::TileOperands<float>{scratch.scores, padded, values, v_row, to, to_row, rows, width, keys, true});
    }
    if (!direct)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c) y[r * y_row + c * y_column] = to[r * width + c];
  }

  std::array<int64_t, 4> q_perm_, k_perm_, v_perm_, y_perm_;
  float scale_;
  bool bfloat16_;
};

}  // namespace

void Register_fused_attention(KernelRegistry& registry) {
  registry.Add<FusedAttentionKernel>(kit::fuse::kAttention, 1, Types(EP_TYPE_FLOAT), INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
