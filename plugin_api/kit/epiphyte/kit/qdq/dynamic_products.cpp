#include "epiphyte/kit/qdq/dynamic_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::kit::qdq {
namespace {

constexpr int64_t kFewestProducts = 64;  // minimum number of products in each sum

// The integer operator that replaces a float GEMM or convolution.
struct Product {
  std::string_view op_type;  // MatMulInteger or ConvInteger
  int32_t weights = -1;
  bool transposed = false;  // the weights of a column or filter are contiguous
  float factor = 1;         // multiplies the sums
  int32_t bias = -1;        // value to add with broadcasting; -1: none
};

// Weights after quantisation.
struct QuantizedWeights {
  int32_t numbers = -1;
  std::vector<float> scales;  // one for each column or filter
};

// The outputs of a DynamicQuantizeLinear.
struct QuantizedInput {
  int32_t numbers = -1, scale = -1, zero_point = -1;
};

class ProductQuantizer {
 public:
  ProductQuantizer(ir::Editor& editor, const std::function<void(uint64_t)>& made) : editor_(editor), made_(made) {}

  void Quantize(int32_t n) {
    const std::optional<Product> product = ProductOf(n);
    if (!product) return;
    const QuantizedWeights* const weights = WeightsOf(*product);
    if (weights != nullptr) Replace(n, *product, *weights);
  }

 private:
  std::optional<Product> ProductOf(int32_t n) const {
    const ir::Node& node = editor_.node(n);
    Product product;
    if (!node.HasInput(0) || !node.HasInput(1) || !node.HasOutput(0) || !editor_.IsFloat(node.inputs[0]) ||
        editor_.info(node.inputs[0]).rank < 2)
      return {};
    if (node.Is("MatMul")) {
      product.op_type = "MatMulInteger";
    } else if (node.Is("Gemm") && node.since_version >= 7) {  // before version 7, C was broadcast differently
      if (node.Int("transA", 0) != 0 || node.Float("beta", 1) != 1) return {};
      product.op_type = "MatMulInteger";
      product.transposed = node.Int("transB", 0) != 0;
      product.factor = node.Float("alpha", 1);
      if (node.HasInput(2)) product.bias = node.inputs[2];
    } else if (node.Is("Conv") && node.Int("group", 1) == 1) {
      product.op_type = "ConvInteger";
      product.transposed = true;
      if (node.HasInput(2)) product.bias = node.inputs[2];
    } else {
      return {};
    }
    product.weights = node.inputs[1];
    const ir::Tensor* const weights = editor_.ConstantOf(product.weights);
    if (weights == nullptr || weights->type != EP_TYPE_FLOAT || weights->Count() == 0) return {};
    const bool is_conv = product.op_type == "ConvInteger";
    if (is_conv ? weights->rank() < 3 : weights->rank() != 2) return {};
    if (weights->Count() / Columns(*weights, product) < kFewestProducts) return {};
    // A convolution's bias has one number for each filter, which is added to the whole plane.
    if (is_conv && product.bias >= 0 && !editor_.Floats(product.bias)) return {};
    return product;
  }

  static int64_t Columns(const ir::Tensor& weights, const Product& product) {
    return weights.dims[product.transposed ? 0 : weights.rank() - 1];
  }

  // Null for weights that can't be quantised.
  const QuantizedWeights* WeightsOf(const Product& product) {
    const auto [found, is_new] = weights_.try_emplace({product.weights, product.transposed});
    QuantizedWeights& made = found->second;
    if (is_new) MakeWeights(product, &made);
    return made.numbers >= 0 ? &made : nullptr;
  }

  void MakeWeights(const Product& product, QuantizedWeights* made) {
    const ir::Tensor from = *editor_.ConstantOf(product.weights);
    const int64_t columns = Columns(from, product), rows = from.Count() / columns;
    const auto at = [&](int64_t i) {
      float number;
      std::memcpy(&number, from.as<std::byte>() + i * int64_t{sizeof number}, sizeof number);
      return number;
    };
    const auto column_of = [&](int64_t i) { return product.transposed ? i / rows : i % columns; };
    std::vector<float> largest(static_cast<size_t>(columns), 0.0f);
    bool finite = true;
    for (int64_t i = 0; i < from.Count(); ++i) {
      const float number = std::fabs(at(i));
      finite = finite && std::isfinite(number);
      float& most = largest[static_cast<size_t>(column_of(i))];
      most = std::max(most, number);
    }
    if (!finite) return;
    made->scales.resize(largest.size());
    for (size_t c = 0; c < largest.size(); ++c)
      made->scales[c] = std::max(largest[c] / 127.0f, 0x1p-126f);  // a column of zeros may have any scale
    const bool is_conv = product.op_type == "ConvInteger";
    ir::Tensor tensor;
    tensor.type = EP_TYPE_INT8;
    tensor.dims = from.dims;
    if (product.transposed && !is_conv) std::swap(tensor.dims[0], tensor.dims[1]);
    const std::shared_ptr<void> owner = AllocateWeights(tensor.Bytes());
    auto* const to = static_cast<int8_t*>(owner.get());
    for (int64_t i = 0; i < from.Count(); ++i) {
      const int64_t column = column_of(i);
      const int64_t place = product.transposed && !is_conv ? i % rows * columns + column : i;
      const float steps = std::nearbyint(at(i) / made->scales[static_cast<size_t>(column)]);
      to[place] = static_cast<int8_t>(std::clamp(steps, -127.0f, 127.0f));
    }
    tensor.data = owner.get();
    const uint64_t bytes = tensor.Bytes();
    made->numbers = editor_.AddTensor(NameOf(product.weights, "_quantized"), std::move(tensor), owner);
    if (made_) made_(bytes);
  }

  QuantizedInput InputOf(int32_t place, int32_t x) {
    const auto [found, is_new] = inputs_.try_emplace(x);
    if (!is_new) return found->second;
    ir::Value numbers = editor_.info(x);
    numbers.type = EP_TYPE_UINT8;
    QuantizedInput& made = found->second;
    made.numbers = AddValue(std::move(numbers), NameOf(x, "_quantized"));
    made.scale = AddScalar(EP_TYPE_FLOAT, NameOf(x, "_scale"));
    made.zero_point = AddScalar(EP_TYPE_UINT8, NameOf(x, "_zero_point"));
    ir::Node node;
    node.op_type = "DynamicQuantizeLinear";
    node.since_version = 11;
    node.name = NameOf(x, "_quantize");
    node.inputs = {x};
    node.outputs = {made.numbers, made.scale, made.zero_point};
    editor_.InsertBefore(place, std::move(node));
    return made;
  }

  void Replace(int32_t n, const Product& product, const QuantizedWeights& weights) {
    const ir::Node node = editor_.node(n);
    const int32_t y = node.outputs[0];
    const QuantizedInput x = InputOf(n, node.inputs[0]);
    const bool is_conv = product.op_type == "ConvInteger";

    ir::Node integers;
    integers.op_type = product.op_type;
    integers.since_version = 10;
    integers.name = node.name + "_integers";
    integers.inputs = {x.numbers, weights.numbers, x.zero_point};
    if (is_conv) integers.attributes = node.attributes;
    const int32_t sums = AddLike(y, EP_TYPE_INT32, "_sums");
    integers.outputs = {sums};
    editor_.InsertBefore(n, std::move(integers));

    ir::Node cast;
    cast.op_type = "Cast";
    cast.since_version = 13;
    cast.name = node.name + "_cast";
    cast.attributes = {ir::Attribute::Int("to", EP_TYPE_FLOAT)};
    cast.inputs = {sums};
    const int32_t floats = AddLike(y, EP_TYPE_FLOAT, "_floats");
    cast.outputs = {floats};
    editor_.InsertBefore(n, std::move(cast));

    std::vector<float> each = weights.scales;
    for (float& scale : each) scale *= product.factor;
    // One number for each column, or for each filter with ones for the spatial dimensions.
    std::vector<int64_t> dims = {static_cast<int64_t>(each.size())};
    if (is_conv) dims.insert(dims.end(), editor_.ConstantOf(product.weights)->rank() - 2, 1);
    const int32_t scales = editor_.AddConstant(NameOf(y, "_weight_scales"), dims, each);
    ir::Value both;
    both.type = EP_TYPE_FLOAT;
    both.kind = EP_KIND_TENSOR;
    both.rank = static_cast<int32_t>(dims.size());
    both.dims = dims;
    const int32_t scale = AddValue(std::move(both), NameOf(y, "_scale"));
    editor_.InsertBefore(n, Arithmetic("Mul", node.name + "_scale", x.scale, scales, scale));

    if (product.bias < 0) {
      editor_.Replace(n, Arithmetic("Mul", node.name, floats, scale, y));
      return;
    }
    int32_t bias = product.bias;
    if (is_conv) bias = editor_.AddConstant(NameOf(y, "_bias"), dims, *editor_.Floats(bias));
    const int32_t scaled = AddLike(y, EP_TYPE_FLOAT, "_scaled");
    editor_.InsertBefore(n, Arithmetic("Mul", node.name + "_scaled", floats, scale, scaled));
    editor_.Replace(n, Arithmetic("Add", node.name, scaled, bias, y));
  }

  static ir::Node Arithmetic(std::string op_type, std::string name, int32_t a, int32_t b, int32_t y) {
    ir::Node node;
    node.op_type = std::move(op_type);
    node.since_version = 14;
    node.name = std::move(name);
    node.inputs = {a, b};
    node.outputs = {y};
    return node;
  }
  std::string NameOf(int32_t value, const char* suffix) const { return editor_.info(value).name + suffix; }
  int32_t AddValue(ir::Value value, std::string name) {
    value.name = std::move(name);
    return editor_.AddValue(std::move(value));
  }
  int32_t AddLike(int32_t value, EpElementType type, const char* suffix) {
    ir::Value info = editor_.info(value);
    info.type = type;
    return AddValue(std::move(info), NameOf(value, suffix));
  }
  int32_t AddScalar(EpElementType type, std::string name) {
    ir::Value info;
    info.type = type;
    info.kind = EP_KIND_TENSOR;
    info.rank = 0;
    return AddValue(std::move(info), std::move(name));
  }

  ir::Editor& editor_;
  const std::function<void(uint64_t)>& made_;
  std::map<std::pair<int32_t, bool>, QuantizedWeights> weights_;  // key: value, and whether the weights are transposed
  std::map<int32_t, QuantizedInput> inputs_;                      // key: value
};

}  // namespace

void QuantizeProducts(ir::Editor& editor, const std::function<void(uint64_t bytes)>& made) {
  ProductQuantizer quantizer(editor, made);
  const int32_t count = editor.node_count();
  for (int32_t n = 0; n < count; ++n)
    if (!editor.removed(n)) quantizer.Quantize(n);
}

}  // namespace epiphyte::kit::qdq
