// Folding what follows a convolution into its weights and bias.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// A copy: mapped weights need not be aligned.
std::optional<std::vector<float>> Floats(const Constant* constant) {
  if (constant == nullptr || constant->type() != DataType::kFloat) return std::nullopt;
  std::vector<float> values(constant->element_count());
  if (!values.empty()) std::memcpy(values.data(), constant->data(), constant->byte_size());
  return values;
}

Node* FoldableConvolution(const Node& follower, size_t index) {
  const ValueDef* value = follower.input(index);
  Node* conv = ProducedBy(value, "Conv");
  if (conv == nullptr) conv = ProducedBy(value, "ConvTranspose");
  return conv != nullptr && HasSingleUse(value) ? conv : nullptr;
}

// Weights and bias of a convolution, to be scaled and shifted for each output channel.
class Weights {
 public:
  // nullopt: not constant, not float, or of shapes that don't fit together.
  static std::optional<Weights> Of(const Node& conv) {
    const Constant* weights = ConstantInput(conv, 1);
    auto values = Floats(weights);
    if (!values || weights->dims().size() < 3 || values->empty()) return std::nullopt;
    Weights result;
    result.dims_ = weights->dims();
    result.values_ = std::move(*values);
    result.transposed_ = conv.Is("ConvTranspose");
    result.groups_ = conv.IntAttribute("group", 1);
    if (result.groups_ < 1 || result.dims_[0] % result.groups_ != 0) return std::nullopt;
    result.channels_ = result.transposed_ ? result.dims_[1] * result.groups_ : result.dims_[0];
    result.bias_.assign(static_cast<size_t>(result.channels_), 0.0);
    if (conv.input(2) != nullptr) {
      const auto bias = Floats(ConstantInput(conv, 2));
      if (!bias || bias->size() != result.bias_.size()) return std::nullopt;
      result.bias_.assign(bias->begin(), bias->end());
    }
    return result;
  }

  size_t channels() const { return bias_.size(); }
  size_t rank() const { return dims_.size(); }

  void Scale(const std::vector<double>& scale) {
    const auto kernel = static_cast<int64_t>(values_.size()) / (dims_[0] * dims_[1]);
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(values_[i] * scale[ChannelOf(static_cast<int64_t>(i) / kernel)]);
    }
    for (size_t c = 0; c < bias_.size(); ++c) bias_[c] *= scale[c];
    scaled_ = true;
  }

  void Shift(const std::vector<double>& shift) {
    for (size_t c = 0; c < bias_.size(); ++c) bias_[c] += shift[c];
    shifted_ = true;
  }

  // Only what has changed: weights that stay the same stay shared.
  void Store(Graph& graph, Node* conv) const {
    const std::string stem = conv->input(1)->name();
    if (scaled_) {
      graph.ReplaceInput(
          conv, 1,
          AddNamedConstant(graph, stem + "_folded",
                           Constant::Copy(DataType::kFloat, dims_, values_.data(), values_.size() * sizeof(float))));
    }
    if (!shifted_ && conv->input(2) == nullptr) return;
    const std::vector<float> bias(bias_.begin(), bias_.end());
    graph.ReplaceInput(
        conv, 2,
        AddNamedConstant(graph, stem + "_bias",
                         Constant::Copy(DataType::kFloat, {channels_}, bias.data(), bias.size() * sizeof(float))));
  }

 private:
  // Conv has weights [out, in / groups, …], ConvTranspose [in, out / groups, …].
  size_t ChannelOf(int64_t filter) const {
    const int64_t first = filter / dims_[1];
    if (!transposed_) return static_cast<size_t>(first);
    return static_cast<size_t>(first / (dims_[0] / groups_) * dims_[1] + filter % dims_[1]);
  }

  std::vector<int64_t> dims_;
  std::vector<float> values_;
  std::vector<double> bias_;
  int64_t channels_ = 0;
  int64_t groups_ = 1;
  bool transposed_ = false;
  bool scaled_ = false;
  bool shifted_ = false;
};

class FuseConvBatchNormalization final : public BasicRule {
 public:
  FuseConvBatchNormalization() : BasicRule("FuseConvBatchNormalization", {"BatchNormalization"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    Node* conv = FoldableConvolution(node, 0);
    if (conv == nullptr || node.IntAttribute("training_mode", 0) != 0 || node.IntAttribute("spatial", 1) != 1) {
      return false;
    }
    auto weights = Weights::Of(*conv);
    const auto gamma = Floats(ConstantInput(node, 1));
    const auto beta = Floats(ConstantInput(node, 2));
    const auto mean = Floats(ConstantInput(node, 3));
    const auto variance = Floats(ConstantInput(node, 4));
    if (!weights || !gamma || !beta || !mean || !variance) return false;
    for (const auto* parameter : {&*gamma, &*beta, &*mean, &*variance}) {
      if (parameter->size() != weights->channels()) return false;
    }
    const double epsilon = node.FloatAttribute("epsilon", 1e-5f);
    std::vector<double> scale(weights->channels());
    std::vector<double> shift(weights->channels());
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] = (*gamma)[c] / std::sqrt((*variance)[c] + epsilon);
      if (!std::isfinite(scale[c])) return false;
      shift[c] = (*beta)[c] - (*mean)[c] * scale[c];
    }
    if (!BypassNode(graph, node, conv->output(0))) return false;
    weights->Scale(scale);
    weights->Shift(shift);
    weights->Store(graph, conv);
    return true;
  }
};

// A scalar, or one value for each channel of a tensor [batch, channel, …] of `rank` dimensions.
std::optional<std::vector<double>> PerChannel(const Constant* constant, size_t channels, size_t rank) {
  const auto values = Floats(constant);
  if (!values || constant->dims().size() > rank) return std::nullopt;
  if (values->size() == 1) return std::vector<double>(channels, values->front());
  const std::vector<int64_t>& dims = constant->dims();
  if (values->size() != channels || dims.size() + 1 < rank) return std::nullopt;
  const size_t channel_axis = dims.size() + 1 - rank;
  if (dims[channel_axis] != static_cast<int64_t>(channels)) return std::nullopt;
  return std::vector<double>(values->begin(), values->end());
}

// Add, Sub, Mul or Div of a convolution and a constant.
class FuseConvArithmetic final : public BasicRule {
 public:
  FuseConvArithmetic(std::string_view name, std::vector<std::string_view> operators)
      : BasicRule(name, std::move(operators)) {}

  bool Apply(Graph& graph, Node& node, const TransformContext&) override {
    const bool commutes = node.Is("Add") || node.Is("Mul");
    return Fold(graph, node, 0) || (commutes && Fold(graph, node, 1));
  }

 private:
  static bool Fold(Graph& graph, Node& node, size_t data) {
    Node* conv = FoldableConvolution(node, data);
    // `axis` is the broadcasting of opset 6 and before.
    if (conv == nullptr || node.FindAttribute("axis") != nullptr) return false;
    auto weights = Weights::Of(*conv);
    if (!weights) return false;
    auto operand = PerChannel(ConstantInput(node, 1 - data), weights->channels(), weights->rank());
    if (!operand) return false;
    if (node.Is("Div") && std::find(operand->begin(), operand->end(), 0.0) != operand->end()) return false;
    if (node.Is("Mul") || node.Is("Div")) {
      if (node.Is("Div"))
        std::transform(operand->begin(), operand->end(), operand->begin(), [](double x) { return 1 / x; });
      weights->Scale(*operand);
    } else {
      if (node.Is("Sub")) std::transform(operand->begin(), operand->end(), operand->begin(), std::negate<>());
      weights->Shift(*operand);
    }
    if (!BypassNode(graph, node, conv->output(0))) return false;
    weights->Store(graph, conv);
    return true;
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeFuseConvBatchNormalization() { return std::make_unique<FuseConvBatchNormalization>(); }
std::unique_ptr<RewriteRule> MakeFuseConvAdd() {
  return std::make_unique<FuseConvArithmetic>("FuseConvAdd", std::vector<std::string_view>{"Add", "Sub"});
}
std::unique_ptr<RewriteRule> MakeFuseConvMul() {
  return std::make_unique<FuseConvArithmetic>("FuseConvMul", std::vector<std::string_view>{"Mul", "Div"});
}

}  // namespace epiphyte::core
