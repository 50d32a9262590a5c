// MatMulNBits of com.microsoft: y = A W^T + bias. W [N, K] has 2, 4 or 8 bits for each number, and a scale and an
// optional zero point for each block of a row. If accuracy_level allows bytes (4), A is quantized in the same blocks.
// Otherwise, a few rows of A are represented by three bytes for each element, if the CPU has the dot-product
// instructions; many rows are multiplied as floats.
#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/gemm/block_quantized.h"
#include "plugins/cpu/simd/gemm/byte_product.h"
#include "plugins/cpu/simd/gemm/panel_product.h"

namespace epiphyte::cpu {
namespace {

constexpr size_t kNumbers = 1, kScales = 2, kZeros = 3, kGroups = 4, kBias = 5;
static_assert(simd::kBlockPanel == simd::kPanelWidth);

using ParallelLoopCall = std::function<void(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body)>;

void CheckCount(const Tensor& tensor, std::string_view what, int64_t expected) {
  if (tensor.Count() != expected)
    FailOp("{} has shape {}, expected {} elements", what, ShapeText(tensor.dims), expected);
}

// Attributes of the node.
struct Sizes {
  int64_t k, n, block, blocks;
  int bits;

  explicit Sizes(const ir::Node& node)
      : k(node.Int("K", 0)),
        n(node.Int("N", 0)),
        block(node.Int("block_size", 32)),
        bits(static_cast<int>(node.Int("bits", 4))) {
    if (bits != 2 && bits != 4 && bits != 8) NotImplemented("weights of {} bits; 2, 4 and 8 are possible", bits);
    if (block < 16 || !std::has_single_bit(static_cast<uint64_t>(block)) || block > (int64_t{1} << 20))
      FailOp("block_size is {}, expected a power of 2 from 16 to 2^20", block);
    if (k < 1 || n < 1) FailOp("K is {} and N is {}, expected positive numbers", k, n);
    blocks = (k - 1) / block + 1;
  }
  int64_t bytes_of_block() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks * bits + 7) / 8; }  // bytes of a column

  void Check(const Tensor& numbers, const Tensor& scales, const Tensor* zeros) const {
    const int64_t all = kit::CheckedMultiply(n, blocks);
    CheckCount(numbers, "B", kit::CheckedMultiply(all, bytes_of_block()));
    CheckCount(scales, "scales", all);
    if (zeros == nullptr) return;
    CheckCount(*zeros, "zero_points", zeros->type == EP_TYPE_UINT8 ? kit::CheckedMultiply(n, zero_bytes()) : all);
  }
  int NumberAt(const uint8_t* column, int64_t i) const {
    return column[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
  }
};

// Order of W's rows in panels: the original one, or grouped by g_idx with each group padded to whole blocks.
struct Order {
  int64_t blocks = 0, block = 0;
  std::vector<int64_t> rows;    // W's row for each packed row, or -1 for padding; empty: original order
  std::vector<int64_t> groups;  // group with the scale for each block; empty: block b has group b

  Order() = default;
  Order(const Sizes& sizes, const Tensor* g_idx) : blocks(sizes.blocks), block(sizes.block) {
    // A single block needs no room beyond W.
    if (blocks == 1) block = std::min(block, (sizes.k + 15) / 16 * 16);
    if (g_idx == nullptr) return;
    if (g_idx->data == nullptr) throw kit::Error(EP_STATUS_INVALID_GRAPH, "the context lacks g_idx");
    if (g_idx->Count() != sizes.k) CheckCount(*g_idx, "g_idx", sizes.blocks * sizes.block);
    const int32_t* const group_of = g_idx->as<int32_t>();
    bool sorted = true;
    std::vector<std::vector<int64_t>> rows_of(static_cast<size_t>(sizes.blocks));
    for (int64_t i = 0; i < sizes.k; ++i) {
      const int64_t group = group_of[i];
      if (group < 0 || group >= sizes.blocks)
        FailOp("g_idx[{}] is {}, expected a block from 0 to {}", i, group, sizes.blocks - 1);
      rows_of[static_cast<size_t>(group)].push_back(i);
      sorted = sorted && group == i / sizes.block;
    }
    if (sorted) return;
    for (size_t group = 0; group < rows_of.size(); ++group) {
      rows.insert(rows.end(), rows_of[group].begin(), rows_of[group].end());
      while (rows.size() % static_cast<size_t>(block) != 0) rows.push_back(-1);
      groups.resize(rows.size() / static_cast<size_t>(block), static_cast<int64_t>(group));
    }
    blocks = static_cast<int64_t>(groups.size());
  }
  int64_t size() const { return blocks * block; }
  int64_t GroupOf(int64_t packed) const { return groups.empty() ? packed : groups[static_cast<size_t>(packed)]; }
};

// Packs W into panels.
class Packer {
 public:
  Packer(const Sizes& sizes, const Order& order) : sizes_(sizes), order_(order) {}

  int64_t panels() const { return simd::BlockPanels(sizes_.n); }
  uint64_t NumberBytes() const {
    return static_cast<uint64_t>(panels() * simd::BlockPanelWords(sizes_.bits, order_.size())) * sizeof(uint32_t);
  }
  uint64_t ParameterCount() const { return static_cast<uint64_t>(panels() * order_.blocks * simd::kBlockPanel); }

  void PackNumbers(const uint8_t* numbers, void* to, const ParallelLoopCall& parallel) const {
    const int64_t words = simd::BlockPanelWords(sizes_.bits, order_.size());
    const int64_t stride = sizes_.blocks * sizes_.bytes_of_block(), packed = order_.size() * sizes_.bits / 8;
    parallel(panels(), 1, [&](int64_t begin, int64_t end) {
      std::vector<uint8_t> reordered(order_.rows.empty() ? 0 : static_cast<size_t>(packed * simd::kBlockPanel));
      for (int64_t panel = begin; panel < end; ++panel) {
        const uint8_t* columns[simd::kBlockPanel] = {};
        for (int64_t c = 0; c < simd::kBlockPanel && panel * simd::kBlockPanel + c < sizes_.n; ++c) {
          columns[c] = numbers + (panel * simd::kBlockPanel + c) * stride;
          if (!reordered.empty()) columns[c] = Reorder(columns[c], reordered.data() + c * packed);
        }
        simd::PackBlockPanel(columns, sizes_.bits, order_.size(), static_cast<uint32_t*>(to) + panel * words);
      }
    });
  }
  // `value(column, group)`: returns the parameter of a block in a column.
  template <typename T, typename Value>
  void PackParameters(void* to, const Value& value) const {
    auto* out = static_cast<T*>(to);
    for (int64_t first = 0; first < panels() * simd::kBlockPanel; first += simd::kBlockPanel) {
      for (int64_t block = 0; block < order_.blocks; ++block) {
        for (int64_t c = first; c < first + simd::kBlockPanel; ++c)
          *out++ = c < sizes_.n ? value(c, order_.GroupOf(block)) : T();
      }
    }
  }

 private:
  const uint8_t* Reorder(const uint8_t* column, uint8_t* to) const {
    std::fill_n(to, order_.size() * sizes_.bits / 8, uint8_t{0});
    for (int64_t i = 0; i < order_.size(); ++i) {
      const int64_t row = order_.rows[static_cast<size_t>(i)];
      if (row < 0) continue;
      uint8_t& byte = to[i * sizes_.bits / 8];
      byte = static_cast<uint8_t>(byte | sizes_.NumberAt(column, row) << (i * sizes_.bits % 8));
    }
    return to;
  }

  const Sizes& sizes_;
  const Order& order_;
};

// Floats aligned to a cache line: a vector that crosses two lines takes twice as long to read.
class LineFloats {
 public:
  explicit LineFloats(int64_t count)
      : floats_(count == 0 ? nullptr : kit::AllocateHeap(static_cast<uint64_t>(count) * sizeof(float))) {}
  float* get() const { return static_cast<float*>(floats_.get()); }

 private:
  struct Free {
    void operator()(void* memory) const { kit::FreeHeap(memory); }
  };
  std::unique_ptr<void, Free> floats_;
};

class MatMulNBitsKernel : public Kernel {
 public:
  // No promotion: float16 inputs are read directly, and their scales stay 16-bit.
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit MatMulNBitsKernel(const KernelInit& init)
      : sizes_(init.node()), takes_bytes_(init.node().Int("accuracy_level", 0) == 4) {
    const Tensor *numbers = init.PeekConstant(kNumbers), *scales = init.PeekConstant(kScales);
    const Tensor* const zeros = init.HasInput(kZeros) ? init.PeekConstant(kZeros) : nullptr;
    const Tensor* const g_idx = init.HasInput(kGroups) ? init.Constant(kGroups) : nullptr;
    if (numbers == nullptr || scales == nullptr || (zeros == nullptr && init.HasInput(kZeros)) ||
        (g_idx == nullptr && init.HasInput(kGroups)))
      return;
    order_ = Order(sizes_, g_idx);
    const auto parallel = [&](int64_t count, int64_t grain, const auto& body) { init.ParallelFor(count, grain, body); };
    weights_ = Pack(
        order_, *numbers, *scales, zeros, parallel,
        [&](std::string_view key, ElementType type, uint64_t bytes, const std::function<void(void*)>& fill) {
          return init.Packed(
              key, FormatText("panels of 64 of {} for {} bits by {}, 1", TypeName(type), sizes_.bits, order_.block),
              bytes, fill);
        });
    packed_ = true;
    for (const size_t input : {kNumbers, kScales, kZeros})
      if (init.HasInput(input)) init.Drop(input);
  }

  void Run(OpContext& context) const override {
    const Tensor& a = context.Input(0);
    if (a.rank() == 0 || a.dims.back() != sizes_.k)
      FailOp("A has shape {}, expected [..., {}]", ShapeText(a.dims), sizes_.k);
    Dims dims = a.dims;
    dims.back() = sizes_.n;
    const Tensor* const bias = context.OptionalInput(kBias);
    if (bias != nullptr) CheckCount(*bias, "bias", sizes_.n);
    Tensor& y = context.Output(0, a.type, dims);
    const int64_t rows = a.Count() / sizes_.k;
    if (rows == 0) return;

    if (packed_) return Multiply(context, order_, weights_, a, bias, y);
    const Order order(sizes_, context.OptionalInput(kGroups));
    const auto parallel = [&](int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
      context.ParallelFor(count, grain, body);
    };
    const simd::BlockQuantized weights =
        Pack(order, context.Input(kNumbers), context.Input(kScales), context.OptionalInput(kZeros), parallel,
             [&](std::string_view, ElementType, uint64_t bytes, const auto& fill) {
               void* const memory = context.Scratch(bytes);
               fill(memory);
               return memory;
             });
    Multiply(context, order, weights, a, bias, y);
  }

 private:
  // Rows of a share; their results are stored together. A multiple of the rows that a SIMD kernel processes.
  static constexpr int64_t kRows = 24;
  // Minimum number of left rows for which weights are widened to floats; all of them then read the widened weights.
  static constexpr int64_t kWidens = 12;
  static constexpr int64_t kRowsOfWidened = 192;
  static constexpr int64_t kWidened = 256;  // rows of W that are widened at a time, such that they stay in the cache
  // Maximum block size for which the sums of byte products fit in an int32.
  static constexpr int64_t kMostByteBlock = 65536;

  // `make(key, type, bytes, fill)`: returns memory filled by fill(memory).
  template <typename Make>
  simd::BlockQuantized Pack(const Order& order, const Tensor& numbers, const Tensor& scales, const Tensor* zeros,
                            const ParallelLoopCall& parallel, const Make& make) const {
    sizes_.Check(numbers, scales, zeros);
    const Packer packer(sizes_, order);
    const auto need = [](const Tensor& tensor) {
      if (tensor.data == nullptr)
        throw kit::Error(EP_STATUS_INVALID_GRAPH, "the context lacks weights of this kind; compile the model again");
    };
    simd::BlockQuantized packed;
    packed.bits = sizes_.bits;
    packed.blocks = order.blocks;
    packed.block = order.block;
    packed.words = static_cast<const uint32_t*>(make("numbers", numbers.type, packer.NumberBytes(), [&](void* to) {
      need(numbers);
      packer.PackNumbers(numbers.as<uint8_t>(), to, parallel);
    }));
    const auto pack = [&]<typename T>(std::string_view key, const Tensor& from) {
      return static_cast<const T*>(make(key, from.type, packer.ParameterCount() * sizeof(T), [&](void* to) {
        need(from);
        packer.PackParameters<T>(
            to, [&](int64_t column, int64_t group) { return from.as<T>()[column * sizes_.blocks + group]; });
      }));
    };
    if (scales.type == EP_TYPE_FLOAT) {
      packed.scales = pack.template operator()<float>("scales", scales);
    } else {
      packed.half_scales = pack.template operator()<kit::Float16>("scales", scales);
    }
    if (zeros == nullptr) return packed;
    if (zeros->type == EP_TYPE_FLOAT) {
      packed.real_zeros = pack.template operator()<float>("zeros", *zeros);
    } else if (zeros->type == EP_TYPE_UINT8) {
      packed.zeros = static_cast<const uint8_t*>(make("zeros", zeros->type, packer.ParameterCount(), [&](void* to) {
        need(*zeros);
        packer.PackParameters<uint8_t>(to, [&](int64_t column, int64_t group) {
          return static_cast<uint8_t>(sizes_.NumberAt(zeros->as<uint8_t>() + column * sizes_.zero_bytes(), group));
        });
      }));
    } else {
      packed.real_zeros =
          static_cast<const float*>(make("zeros", zeros->type, packer.ParameterCount() * sizeof(float), [&](void* to) {
            need(*zeros);
            packer.PackParameters<float>(to, [&](int64_t column, int64_t group) {
              float zero;
              LoadFloats(*zeros, column * sizes_.blocks + group, 1, &zero);
              return zero;
            });
          }));
    }
    return packed;
  }

  void Multiply(OpContext& context, const Order& order, const simd::BlockQuantized& weights, const Tensor& a,
                const Tensor* bias, Tensor& y) const {
    const int64_t rows = a.Count() / sizes_.k, size = order.size();
    const auto floats = [&](int64_t count) {
      return static_cast<float*>(context.Scratch(static_cast<uint64_t>(count) * sizeof(float)));
    };
    const bool fits = order.block <= kMostByteBlock;
    const bool widens = !(takes_bytes_ && fits) && rows >= kWidens;
    const int digits = !fits || widens ? 0 : takes_bytes_ ? 1 : simd::UsesVnni() ? 3 : 0;
    const bool by_bytes = digits > 0;
    const bool in_place = a.type == EP_TYPE_FLOAT && size == sizes_.k && order.rows.empty();
    float* const made = in_place ? nullptr : floats(rows * size);
    const float* const left = in_place ? a.as<float>() : made;
    float* const sums = widens ? nullptr : floats(rows * order.blocks);
    float* const scales = by_bytes ? floats(rows * order.blocks) : nullptr;
    const int64_t stride = digits * size;
    int8_t* const bytes =
        by_bytes ? static_cast<int8_t*>(context.Scratch(static_cast<uint64_t>(rows * stride))) : nullptr;
    if (!in_place || !widens) {
      ParallelLoop(context, rows, size, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const float* const from = left + row * size;
          if (!in_place) LoadRow(order, a, row, made + row * size);
          if (by_bytes) {
            simd::QuantizeBlocks(from, order.blocks, order.block, digits, bytes + row * stride,
                                 scales + row * order.blocks, sums + row * order.blocks);
          } else if (!widens) {
            simd::SumBlocks(from, order.blocks, order.block, sums + row * order.blocks);
          }
        }
      });
    }
    const float* added = nullptr;
    if (bias != nullptr) {
      float* const values = floats(sizes_.n);
      LoadFloats(*bias, 0, sizes_.n, values);
      added = values;
    }

    const int64_t step = widens ? kRowsOfWidened : kRows, steps = (rows + step - 1) / step;
    // A task has one panel and all rows, so that the panel is read from memory once.
    const int64_t cost = std::min(rows, step) * size * simd::kBlockPanel / 16;
    ParallelLoop(context, simd::BlockPanels(sizes_.n) * steps, cost, [&](int64_t begin, int64_t end) {
      alignas(64) float few[kRows * simd::kBlockPanel];
      const LineFloats widened(widens ? std::min(kWidened, size) * simd::kBlockPanel : 0);
      const LineFloats many(widens ? std::min(rows, step) * simd::kBlockPanel : 0);
      float* const results = widens ? many.get() : few;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t panel = i / steps, row = i % steps * step, count = std::min(step, rows - row);
        if (widens) {
          std::fill_n(results, count * simd::kBlockPanel, 0.0f);
          for (int64_t at = 0; at < size; at += kWidened) {
            const int64_t part = std::min(kWidened, size - at);
            simd::WidenBlockPanel(weights, panel, at, part, widened.get());
            simd::PanelProduct product;
            product.a = left + row * size + at;
            product.a_stride = size;
            product.panels = widened.get();
            product.y = results;
            product.y_stride = simd::kBlockPanel;
            product.sum = product.y;
            product.rows = count;
            product.n = simd::kBlockPanel;
            product.k = part;
            simd::RunPanelProduct(product);
          }
        } else if (by_bytes) {
          simd::RowsTimesBlockPanel(weights, panel,
                                    simd::ByteBlockLeft{bytes + row * stride, stride, count,
                                                        scales + row * order.blocks, sums + row * order.blocks, digits},
                                    results);
        } else {
          simd::RowsTimesBlockPanel(
              weights, panel, simd::BlockLeft{left + row * size, size, count, sums + row * order.blocks}, results);
        }
        Store(results, row, count, panel * simd::kBlockPanel, added, y);
      }
    });
  }

  void LoadRow(const Order& order, const Tensor& a, int64_t row, float* to) const {
    if (order.rows.empty()) {
      LoadFloats(a, row * sizes_.k, sizes_.k, to);
      std::fill(to + sizes_.k, to + order.size(), 0.0f);
      return;
    }
    std::vector<float> floats(static_cast<size_t>(sizes_.k));
    LoadFloats(a, row * sizes_.k, sizes_.k, floats.data());
    for (const int64_t from : order.rows) *to++ = from < 0 ? 0.0f : floats[static_cast<size_t>(from)];
  }

  // Stores the columns of a panel, from `column` on, for some rows.
  void Store(float* results, int64_t row, int64_t count, int64_t column, const float* bias, Tensor& y) const {
    const int64_t columns = std::min(simd::kBlockPanel, sizes_.n - column);
    for (int64_t r = 0; r < count; ++r, results += simd::kBlockPanel) {
      if (bias != nullptr)
        for (int64_t c = 0; c < columns; ++c) results[c] += bias[column + c];
      StoreFloats(results, (row + r) * sizes_.n + column, columns, y);
    }
  }

  const Sizes sizes_;
  const bool takes_bytes_;
  Order order_;
  simd::BlockQuantized weights_;
  bool packed_ = false;
};

}  // namespace

void Register_matmul_nbits(KernelRegistry& registry) {
  registry.Add<MatMulNBitsKernel>("MatMulNBits", 1, Types(EP_TYPE_FLOAT, EP_TYPE_FLOAT16), INT64_MAX, "com.microsoft");
}

}  // namespace epiphyte::cpu
