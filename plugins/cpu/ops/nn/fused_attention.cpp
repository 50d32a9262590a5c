// epiphyte.kit.Attention: softmax(q k * scale + mask) v over views of four dimensions, a tile of rows at a time, so
// that scores never leave the cache. See epiphyte/kit/fuse/operators.hpp.
#include <algorithm>
#include <array>
#include <memory>

#include "epiphyte/kit/fuse/operators.hpp"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/attention_rows.h"
#include "plugins/cpu/simd/row_dots.h"
#include "plugins/cpu/simd/tile_matmul.h"

namespace epiphyte::cpu {
namespace {

// One of q, k, v: element (b, h, i, j) lies at the sum of index times stride.
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
  // The matrix of a batch and a head; one stands for all, and a head for its group.
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

class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const KernelInit& init)
      : q_perm_(ReadPerm(init.node(), "q_perm")),
        k_perm_(ReadPerm(init.node(), "k_perm")),
        v_perm_(ReadPerm(init.node(), "v_perm")),
        y_perm_(ReadPerm(init.node(), "y_perm")),
        scale_(init.node().Float("scale", 1)) {
    const ir::Node& node = init.node();
    if (node.inputs.size() > 4 || node.outputs.size() > 1)
      NotImplemented("{} inputs and {} outputs found; queries, keys, values and a mask expected, and one result",
                     node.inputs.size(), node.outputs.size());
  }

  void Run(OpContext& context) const override {
    const Strided q(context.Input(0), q_perm_);
    const Strided k(context.Input(1), k_perm_);
    const Strided v(context.Input(2), v_perm_);
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
    std::array<int64_t, 4> mask_strides{};
    if (mask != nullptr) mask_strides = MaskStrides(*mask, {batches, heads, rows, keys});

    const std::array<int64_t, 4> logical = {batches, heads, rows, width};
    Dims y_dims;
    for (int64_t d : y_perm_) y_dims.push_back(logical[d]);
    Tensor& y = context.Output(0, EP_TYPE_FLOAT, y_dims);
    if (y.Count() == 0) return;
    std::array<int64_t, 4> y_strides{};
    int64_t stride = 1;
    for (size_t d = 4; d-- > 0;) {
      y_strides[y_perm_[d]] = stride;
      stride *= y_dims[d];
    }

    // Whole heads when there are enough of them for the threads; keys are packed once a share.
    int64_t tile = std::min<int64_t>(rows, 256);
    if (batches * heads < 2 * static_cast<int64_t>(context.thread_count())) tile = std::min<int64_t>(tile, 32);
    const int64_t tiles = (rows + tile - 1) / tile;
    const int64_t shares = batches * heads * tiles;
    const int64_t work = tile * keys * (depth + width);
    context.ParallelFor(
        shares, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
          Scratch scratch(tile, keys, depth, width);
          for (int64_t share = begin; share < end; ++share) {
            const int64_t head_index = share / tiles;
            const int64_t b = head_index / heads;
            const int64_t h = head_index % heads;
            const int64_t first = share % tiles * tile;
            const int64_t count = std::min(tile, rows - first);
            const float* mask_data = mask == nullptr ? nullptr
                                                     : mask->as<float>() + b * mask_strides[0] + h * mask_strides[1] +
                                                           first * mask_strides[2];
            RunTile(scratch, q, k, v, b, h, heads, first, count, mask_data, mask_strides,
                    y.as<float>() + b * y_strides[0] + h * y_strides[1] + first * y_strides[2], y_strides[2],
                    y_strides[3]);
          }
        });
  }

 private:
  struct Scratch {
    std::unique_ptr<float[]> memory;
    float *scores, *q, *k, *v, *y;
    const float* packed_k = nullptr;  // the matrix that `k` holds, packed
    Scratch(int64_t tile, int64_t keys, int64_t depth, int64_t width) {
      memory.reset(
          new float[static_cast<size_t>(tile * keys + tile * depth + depth * keys + keys * width + tile * width)]);
      scores = memory.get();
      q = scores + tile * keys;
      k = q + tile * depth;
      v = k + depth * keys;
      y = v + keys * width;
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

  // rows x columns with the columns side by side: in place, or copied to `to`.
  static const float* Dense(const float* from, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                            float* to, int64_t* stride) {
    if (column_stride == 1 || columns == 1) {
      *stride = row_stride;
      return from;
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) to[r * columns + c] = from[r * row_stride + c * column_stride];
    *stride = columns;
    return to;
  }

  void RunTile(Scratch& scratch, const Strided& q, const Strided& k, const Strided& v, int64_t b, int64_t h,
               int64_t heads, int64_t first, int64_t rows, const float* mask,
               const std::array<int64_t, 4>& mask_strides, float* y, int64_t y_row, int64_t y_column) const {
    const int64_t depth = q.sizes[3], keys = k.sizes[3], width = v.sizes[3];
    int64_t q_row = 0;
    const float* queries =
        Dense(q.Matrix(b, h, heads) + first * q.strides[2], q.strides[2], q.strides[3], rows, depth, scratch.q, &q_row);
    const float* key_matrix = k.Matrix(b, h, heads);
    if (rows < 4 && k.strides[2] == 1) {
      // For few queries the keys are read once, as they are.
      for (int64_t r = 0; r < rows; ++r)
        simd::RowDots(queries + r * q_row, key_matrix, k.strides[3], keys, depth, scratch.scores + r * keys);
    } else {
      int64_t k_row = 0;
      const float* packed = nullptr;
      if (scratch.packed_k == key_matrix) {
        packed = scratch.k;
        k_row = keys;
      } else {
        packed = Dense(key_matrix, k.strides[2], k.strides[3], depth, keys, scratch.k, &k_row);
        if (packed == scratch.k) scratch.packed_k = key_matrix;
      }
      std::fill_n(scratch.scores, rows * keys, 0.0f);
      simd::TileMatMul(queries, q_row, packed, k_row, scratch.scores, keys, rows, keys, depth);
    }
    for (int64_t r = 0; r < rows; ++r)
      simd::MaskedSoftmax(scratch.scores + r * keys, mask == nullptr ? nullptr : mask + r * mask_strides[2],
                          mask_strides[3], scale_, keys);
    int64_t v_row = 0;
    const float* values = Dense(v.Matrix(b, h, heads), v.strides[2], v.strides[3], keys, width, scratch.v, &v_row);
    const bool direct = y_column == 1;
    float* to = direct ? y : scratch.y;
    const int64_t to_row = direct ? y_row : width;
    for (int64_t r = 0; r < rows; ++r) std::fill_n(to + r * to_row, width, 0.0f);
    simd::TileMatMul(static_cast<const float*>(scratch.scores), keys, values, v_row, to, to_row, rows, width, keys);
    if (!direct)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c) y[r * y_row + c * y_column] = to[r * width + c];
  }

  std::array<int64_t, 4> q_perm_, k_perm_, v_perm_, y_perm_;
  float scale_;
};

}  // namespace

void Register_fused_attention(KernelRegistry& registry) {
  registry.Add<AttentionKernel>(kit::fuse::kAttention, 1, Types(EP_TYPE_FLOAT), INT64_MAX, kit::fuse::kDomain);
}

}  // namespace epiphyte::cpu
