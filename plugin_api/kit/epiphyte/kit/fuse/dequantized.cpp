#include "epiphyte/kit/fuse/dequantized.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "epiphyte/kit/shape/float_types.hpp"

namespace epiphyte::kit::fuse {
namespace {

// A DequantizeLinear of constants with available bytes, and its quantisation.
struct Weights {
  ir::Tensor numbers;  // a copy of the view, because adding constants moves the views of the graph
  qdq::Quantization quantization;
};

std::optional<Weights> WeightsOf(const ir::Editor& editor, int32_t node) {
  if (node < 0 || editor.removed(node) || !qdq::IsDequantize(editor.node(node))) return {};
  const ir::Node& dequantize = editor.node(node);
  if (!dequantize.HasInput(0) || !dequantize.HasOutput(0)) return {};
  const ir::Tensor* numbers = ir::ElementsOf(editor.graph(), dequantize.inputs[0]);
  std::string unused;
  std::optional<qdq::Quantization> found;
  if (numbers != nullptr) found = qdq::ReadQuantization(editor.graph(), dequantize, &unused);
  if (!found || found->type != numbers->type) return {};
  return Weights{*numbers, std::move(*found)};
}

float NumberOr(const ir::Tensor& tensor, size_t index, float fallback) {
  double number = 0;
  return ir::NumberAt(tensor, index, &number) ? static_cast<float>(number) : fallback;
}

// --- products

// Weights in the layout of MatMulNBits: [columns, blocks, bytes of a block]. The first number is in the lowest bits.
class BlockedWeights {
 public:
  // `transposed`: the matrix is [columns, rows].
  BlockedWeights(const Weights& weights, bool transposed)
      : numbers_(weights.numbers),
        quantization_(weights.quantization),
        transposed_(transposed),
        rows_(numbers_.dims[transposed ? 1 : 0]),
        columns_(numbers_.dims[transposed ? 0 : 1]),
        bits_(qdq::BitsOf(quantization_.type)),
        blocks_((rows_ + quantization_.block - 1) / quantization_.block),
        // Signed numbers are shifted to unsigned ones.
        offset_(static_cast<int32_t>(-qdq::LowestOf(quantization_.type))) {}

  static bool Fits(const Weights& weights, bool transposed) {
    const qdq::Quantization& quantization = weights.quantization;
    const int bits = qdq::BitsOf(quantization.type);
    return weights.numbers.rank() == 2 && weights.numbers.Count() > 0 && (bits == 2 || bits == 4 || bits == 8) &&
           quantization.axis == (transposed ? 1 : 0) && quantization.block >= 16 && quantization.block <= 1 << 20 &&
           std::has_single_bit(static_cast<uint64_t>(quantization.block));
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int bits() const { return bits_; }

  int32_t AddNumbers(ir::Editor& editor, const std::string& name) const {
    const int64_t blob = quantization_.block * bits_ / 8;
    return AddPacked(editor, name, {columns_, blocks_, blob}, [&](int64_t first, int64_t count, uint8_t* to) {
      // Flipping the highest bit shifts signed numbers to unsigned ones.
      const uint32_t mask = (1u << bits_) - 1u, sign = static_cast<uint32_t>(offset_);
      const auto* const from = numbers_.as<uint8_t>();
      for (int64_t k = 0; k < rows_; ++k) {
        for (int64_t c = 0; c < count; ++c) {
          const auto bit = static_cast<int64_t>(Index(k, first + c, rows_, transposed_)) * bits_;
          const uint32_t number = static_cast<uint32_t>(from[bit / 8]) >> (bit % 8) & mask;
          Put(to + c * blocks_ * blob, k, static_cast<int32_t>(number ^ sign));
        }
      }
    });
  }
  // Returns -1 when all zero points are in the middle of the range, which is the operator's default.
  int32_t AddZeros(ir::Editor& editor, const std::string& name) const {
    bool middle = true;
    for (int64_t i = 0; i < columns_ * blocks_ && middle; ++i)
      middle = quantization_.ZeroPoint(static_cast<size_t>(i)) + offset_ == 1 << (bits_ - 1);
    if (middle) return -1;
    const int64_t bytes = (blocks_ * bits_ + 7) / 8;
    return AddPacked(editor, name, {columns_, bytes}, [&](int64_t first, int64_t count, uint8_t* to) {
      for (int64_t c = 0; c < count; ++c, to += bytes) {
        for (int64_t block = 0; block < blocks_; ++block)
          Put(to, block,
              static_cast<int32_t>(quantization_.ZeroPoint(Index(block, first + c, blocks_, transposed_))) + offset_);
      }
    });
  }
  int32_t AddScales(ir::Editor& editor, const std::string& name) const {
    const ir::Tensor& from = quantization_.scale;
    const auto size = static_cast<size_t>(ElementBytes(from.type, 1));
    ir::Tensor tensor;
    tensor.type = from.type;
    tensor.dims = {columns_, blocks_};
    const std::shared_ptr<void> owner = AllocateWeights(tensor.Bytes());
    auto* to = static_cast<std::byte*>(owner.get());
    for (int64_t column = 0; column < columns_; ++column)
      for (int64_t block = 0; block < blocks_; ++block, to += size)
        std::memcpy(to, from.as<std::byte>() + Index(block, column, blocks_, transposed_) * size, size);
    tensor.data = owner.get();
    return editor.AddTensor(name, std::move(tensor), owner);
  }

 private:
  // Index of an element in a tensor of `rows` rows.
  size_t Index(int64_t row, int64_t column, int64_t rows, bool transposed) const {
    return static_cast<size_t>(transposed ? column * rows + row : row * columns_ + column);
  }
  void Put(uint8_t* row, int64_t index, int32_t number) const {
    const int64_t bit = index * bits_;
    const uint32_t kept = static_cast<uint32_t>(number) & ((1u << bits_) - 1u);
    row[bit / 8] = static_cast<uint8_t>(row[bit / 8] | kept << (bit % 8));
  }
  // fill(first, count, to) writes `count` columns from `first` on.
  template <typename Fill>
  int32_t AddPacked(ir::Editor& editor, const std::string& name, Dims dims, const Fill& fill) const {
    ir::Tensor tensor;
    tensor.type = EP_TYPE_UINT8;
    tensor.dims = std::move(dims);
    const uint64_t bytes = tensor.Bytes();
    const std::shared_ptr<void> owner = AllocateWeights(bytes);
    std::memset(owner.get(), 0, static_cast<size_t>(bytes));
    constexpr int64_t kTogether = 64;  // columns for each call of `fill`
    const int64_t column_bytes = static_cast<int64_t>(bytes) / columns_;
    for (int64_t first = 0; first < columns_; first += kTogether)
      fill(first, std::min(kTogether, columns_ - first), static_cast<uint8_t*>(owner.get()) + first * column_bytes);
    tensor.data = owner.get();
    return editor.AddTensor(name, std::move(tensor), owner);
  }

  const ir::Tensor& numbers_;
  const qdq::Quantization& quantization_;
  const bool transposed_;
  const int64_t rows_, columns_;
  const int bits_;
  const int64_t blocks_;
  const int32_t offset_;
};

void FuseProduct(ir::Editor& editor, int32_t n, const BlockedWeightsOptions& options) {
  const ir::Node& product = editor.node(n);
  const bool is_gemm = product.Is("Gemm");
  if (!product.HasInput(0) || !product.HasInput(1) || !product.HasOutput(0)) return;
  const bool transposed = is_gemm && product.Int("transB", 0) != 0;
  const std::optional<Weights> weights = WeightsOf(editor, editor.Producer(product.inputs[1]));
  const ir::Value& a = editor.info(product.inputs[0]);
  if (!weights || !BlockedWeights::Fits(*weights, transposed) || a.rank < 1 ||
      a.type != weights->quantization.scale.type || (a.type != EP_TYPE_FLOAT && a.type != EP_TYPE_FLOAT16))
    return;
  const BlockedWeights blocked(*weights, transposed);
  int32_t bias = -1;
  if (is_gemm) {
    if (product.Int("transA", 0) != 0 || product.Float("alpha", 1) != 1 || product.Float("beta", 1) != 1) return;
    if (product.HasInput(2)) {
      const ir::Value& c = editor.info(product.inputs[2]);
      if (c.type != a.type || c.rank != 1 || c.dims[0] != blocked.columns()) return;
      bias = product.inputs[2];
    }
  }
  const std::string name = editor.info(product.inputs[1]).name;
  ir::Node fused;
  fused.op_type = "MatMulNBits";
  fused.domain = "com.microsoft";
  fused.since_version = 1;
  fused.name = product.name;
  fused.handle = product.handle;
  fused.attributes = {ir::Attribute::Int("K", blocked.rows()), ir::Attribute::Int("N", blocked.columns()),
                      ir::Attribute::Int("bits", blocked.bits()),
                      ir::Attribute::Int("block_size", weights->quantization.block)};
  fused.inputs = {product.inputs[0]};
  fused.outputs = product.outputs;
  const int32_t numbers = blocked.AddNumbers(editor, name + "_numbers");
  const int32_t scales = blocked.AddScales(editor, name + "_scales");
  fused.inputs.insert(fused.inputs.end(), {numbers, scales, blocked.AddZeros(editor, name + "_zeros"), -1, bias});
  while (fused.inputs.back() < 0) fused.inputs.pop_back();
  if (!options.takes || options.takes(editor, fused)) editor.Replace(n, std::move(fused));
}

// --- floats

// The index of the scale that belongs to an element.
class ScaleOf {
 public:
  explicit ScaleOf(const Weights& weights) : block_(weights.quantization.block) {
    if (weights.quantization.IsPerTensor()) return;
    const AxisView view(weights.numbers.dims, static_cast<size_t>(weights.quantization.axis));
    several_ = true;
    size_ = view.size;
    inner_ = view.inner;
    // The number of blocks is taken from the scales' shape, because the block size may be any number.
    if (block_ != 0) blocks_ = weights.quantization.scale.dims[static_cast<size_t>(weights.quantization.axis)];
  }
  size_t operator()(int64_t element) const {
    if (!several_) return 0;
    const int64_t position = element / inner_ % size_;
    if (block_ == 0) return static_cast<size_t>(position);
    return static_cast<size_t>((element / (inner_ * size_) * blocks_ + position / block_) * inner_ + element % inner_);
  }

 private:
  const int64_t block_;
  bool several_ = false;
  int64_t size_ = 1, inner_ = 1, blocks_ = 1;
};

uint64_t Fold(ir::Editor& editor, int32_t n, uint64_t most_bytes) {
  const std::optional<Weights> weights = WeightsOf(editor, n);
  const int32_t value = weights ? editor.node(n).outputs[0] : -1;
  if (!weights) return 0;
  const ir::Value& info = editor.info(value);
  if (info.type != EP_TYPE_FLOAT && info.type != EP_TYPE_FLOAT16) return 0;
  ir::Tensor tensor;
  tensor.type = info.type;
  tensor.dims = weights->numbers.dims;
  const uint64_t bytes = tensor.Bytes();
  if (bytes > most_bytes) return 0;
  const std::shared_ptr<void> owner = AllocateWeights(bytes);
  const ir::Tensor& numbers = weights->numbers;
  const qdq::Quantization& quantization = weights->quantization;
  const ScaleOf scale_of(*weights);
  std::vector<float> scales, zeros;
  for (size_t i = 0; i < quantization.Count(); ++i) {
    scales.push_back(NumberOr(quantization.scale, i, 0));
    zeros.push_back(NumberOr(quantization.zero_point, i, 0));
  }
  const auto fold = [&](const auto& number_at) {
    for (int64_t i = 0; i < tensor.Count(); ++i) {
      const size_t at = scale_of(i);
      const float real = (number_at(i) - zeros[at]) * scales[at];
      if (tensor.type == EP_TYPE_FLOAT) {
        static_cast<float*>(owner.get())[i] = real;
      } else {
        static_cast<uint16_t*>(owner.get())[i] = Float16(real).bits;
      }
    }
  };
  switch (numbers.type) {
    case EP_TYPE_INT8: fold([&](int64_t i) { return static_cast<float>(numbers.as<int8_t>()[i]); }); break;
    case EP_TYPE_UINT8: fold([&](int64_t i) { return static_cast<float>(numbers.as<uint8_t>()[i]); }); break;
    default: fold([&](int64_t i) { return NumberOr(numbers, static_cast<size_t>(i), 0); }); break;
  }
  tensor.data = owner.get();
  const int32_t folded = editor.AddTensor(editor.info(value).name + "_folded", std::move(tensor), owner);
  editor.ReplaceUses(value, folded);
  return bytes;
}

}  // namespace

void FuseBlockedWeights(ir::Editor& editor, const BlockedWeightsOptions& options) {
  for (int32_t n = 0; n < editor.node_count(); ++n)
    if (editor.Is(n, "MatMul") || editor.Is(n, "Gemm")) FuseProduct(editor, n, options);
}

void FoldDequantized(ir::Editor& editor, uint64_t most_bytes, const std::function<void(uint64_t bytes)>& made) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    const uint64_t bytes = Fold(editor, n, most_bytes);
    if (bytes != 0 && made) made(bytes);
  }
}

}  // namespace epiphyte::kit::fuse
