#include "epiphyte/kit/fuse/fold.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/memory/heap.hpp"

namespace epiphyte::kit::fuse {
namespace {

// The convolution that makes input `index` of `follower`, if `follower` is its only reader; else -1.
int32_t FoldableConvolution(const ir::Editor& editor, int32_t follower, size_t index) {
  const int32_t value = editor.node(follower).inputs[index];
  if (value < 0 || editor.OnlyReader(value) != follower) return -1;
  const int32_t conv = Maker(editor, value, "Conv", 2);
  return conv >= 0 ? conv : Maker(editor, value, "ConvTranspose", 2);
}

// `from` need not be aligned.
void ScaleFloats(const std::byte* from, int64_t count, double scale, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    float number;
    std::memcpy(&number, from + static_cast<size_t>(i) * sizeof number, sizeof number);
    to[i] = static_cast<float>(number * scale);
  }
}

// Weights and bias of a convolution, to be scaled and shifted for each output channel. The weights are not copied
// before Store.
class Weights {
 public:
  // Returns nothing if weights and bias are not constant or not float, or if their shapes do not fit together.
  static std::optional<Weights> Of(const ir::Editor& editor, const ir::Node& conv) {
    const ir::Tensor* const weights = editor.ConstantOf(conv.inputs[1]);
    if (weights == nullptr || weights->type != EP_TYPE_FLOAT || weights->Count() == 0) return {};
    const Dims& dims = weights->dims;
    if (dims.size() < 3) return {};
    Weights result;
    result.dims_.assign(dims.begin(), dims.end());
    result.data_ = static_cast<const std::byte*>(weights->data);
    result.bytes_ = weights->Bytes();
    result.transposed_ = conv.op_type == "ConvTranspose";
    result.groups_ = conv.Int("group", 1);
    if (result.groups_ < 1 || dims[0] % result.groups_ != 0) return {};
    result.bias_.assign(static_cast<size_t>(result.transposed_ ? dims[1] * result.groups_ : dims[0]), 0.0);
    if (conv.HasInput(2)) {
      const auto bias = editor.Floats(conv.inputs[2]);
      if (!bias || bias->size() != result.bias_.size()) return {};
      result.bias_.assign(bias->begin(), bias->end());
    }
    return result;
  }

  size_t channels() const { return bias_.size(); }
  size_t rank() const { return dims_.size(); }

  // Call it at most once.
  void Scale(std::vector<double> scale) {
    for (size_t c = 0; c < bias_.size(); ++c) bias_[c] *= scale[c];
    scale_ = std::move(scale);
  }

  void Shift(const std::vector<double>& shift) {
    for (size_t c = 0; c < bias_.size(); ++c) bias_[c] += shift[c];
    shifted_ = true;
  }

  // Gives `conv` the changed constants; unchanged weights stay shared. Returns the number of bytes of new weights.
  uint64_t Store(ir::Editor& editor, ir::Node& conv) const {
    const std::string stem = editor.info(conv.inputs[1]).name;
    uint64_t made = 0;
    if (!scale_.empty()) {
      std::shared_ptr<void> owner = AllocateWeights(bytes_);
      WriteScaled(static_cast<float*>(owner.get()));
      ir::Tensor tensor;
      tensor.type = EP_TYPE_FLOAT;
      tensor.dims.assign(dims_.data(), dims_.size());
      tensor.data = owner.get();
      conv.inputs[1] = editor.AddTensor(stem + "_folded", std::move(tensor), std::move(owner));
      made = bytes_;
    }
    const bool has_bias = conv.HasInput(2);
    if (!shifted_ && !has_bias) return made;
    const std::vector<float> bias(bias_.begin(), bias_.end());
    conv.inputs.resize(std::max<size_t>(conv.inputs.size(), 3), -1);
    conv.inputs[2] = editor.AddConstant(stem + "_bias", {static_cast<int64_t>(bias.size())}, bias);
    return made + bias.size() * sizeof(float);
  }

 private:
  // Weights are [out, in / groups, …] for Conv and [in, out / groups, …] for ConvTranspose.
  void WriteScaled(float* to) const {
    const int64_t filters = dims_[0] * dims_[1], kernel = static_cast<int64_t>(bytes_ / sizeof(float)) / filters;
    const int64_t together = transposed_ ? 1 : dims_[1];  // number of adjacent filters of one output channel
    for (int64_t filter = 0; filter < filters; filter += together) {
      const int64_t first = filter / dims_[1];
      const int64_t channel = transposed_ ? first / (dims_[0] / groups_) * dims_[1] + filter % dims_[1] : first;
      const int64_t at = filter * kernel;
      ScaleFloats(data_ + static_cast<size_t>(at) * sizeof(float), together * kernel,
                  scale_[static_cast<size_t>(channel)], to + at);
    }
  }

  std::vector<int64_t> dims_;
  const std::byte* data_ = nullptr;  // bytes of the constant
  uint64_t bytes_ = 0;
  std::vector<double> bias_;
  std::vector<double> scale_;  // empty: the weights are not scaled
  int64_t groups_ = 1;
  bool transposed_ = false;
  bool shifted_ = false;
};

// Replaces `follower` by the convolution with new weights.
uint64_t Store(ir::Editor& editor, int32_t follower, int32_t conv, const Weights& weights) {
  ir::Node folded = editor.node(conv);
  const uint64_t made = weights.Store(editor, folded);
  folded.outputs = {editor.node(follower).outputs[0]};
  editor.Replace(follower, std::move(folded));
  return made;
}

std::optional<uint64_t> FoldBatchNormalization(ir::Editor& editor, int32_t n) {
  const ir::Node& node = editor.node(n);
  const int32_t conv = FoldableConvolution(editor, n, 0);
  if (conv < 0 || node.Int("training_mode", 0) != 0 || node.Int("spatial", 1) != 1) return {};
  const auto is_used = [&](int32_t value) {
    return value >= 0 && (editor.IsOutput(value) || !editor.Readers(value).empty());
  };
  if (std::any_of(node.outputs.begin() + 1, node.outputs.end(), is_used)) return {};
  auto weights = Weights::Of(editor, editor.node(conv));
  const auto gamma = editor.Floats(node.inputs[1]);
  const auto beta = editor.Floats(node.inputs[2]);
  const auto mean = editor.Floats(node.inputs[3]);
  const auto variance = editor.Floats(node.inputs[4]);
  if (!weights || !gamma || !beta || !mean || !variance) return {};
  for (const auto* parameter : {&*gamma, &*beta, &*mean, &*variance})
    if (parameter->size() != weights->channels()) return {};
  const double epsilon = node.Float("epsilon", 1e-5f);
  std::vector<double> scale(weights->channels());
  std::vector<double> shift(weights->channels());
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] = (*gamma)[c] / std::sqrt((*variance)[c] + epsilon);
    if (!std::isfinite(scale[c])) return {};
    shift[c] = (*beta)[c] - (*mean)[c] * scale[c];
  }
  weights->Scale(std::move(scale));
  weights->Shift(shift);
  return Store(editor, n, conv, *weights);
}

// Folds the Add, Sub, Mul or Div at `n`. Input `data` comes from a convolution, the other operand is constant.
std::optional<uint64_t> FoldArithmetic(ir::Editor& editor, int32_t n, size_t data) {
  const ir::Node& node = editor.node(n);
  const int32_t conv = FoldableConvolution(editor, n, data);
  if (conv < 0) return {};
  auto weights = Weights::Of(editor, editor.node(conv));
  if (!weights) return {};
  auto operand = PerChannel(editor, node.inputs[1 - data], weights->channels(), weights->rank());
  if (!operand) return {};
  if (node.op_type == "Mul" || node.op_type == "Div") {
    if (node.op_type == "Div") {
      if (std::find(operand->begin(), operand->end(), 0.0) != operand->end()) return {};
      std::transform(operand->begin(), operand->end(), operand->begin(), [](double x) { return 1 / x; });
    }
    // An infinite factor can't be distributed over the terms of a sum.
    if (!std::all_of(operand->begin(), operand->end(), [](double x) { return std::isfinite(x); })) return {};
    weights->Scale(std::move(*operand));
  } else {
    if (node.op_type == "Sub") std::transform(operand->begin(), operand->end(), operand->begin(), std::negate<>());
    weights->Shift(*operand);
  }
  return Store(editor, n, conv, *weights);
}

}  // namespace

void FoldIntoConvolutions(ir::Editor& editor, const std::function<void(uint64_t bytes)>& made) {
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    std::optional<uint64_t> bytes;
    if (IsNode(editor, n, "BatchNormalization", 5)) {
      bytes = FoldBatchNormalization(editor, n);
    } else if (IsArithmetic(editor, n, "Add") || IsArithmetic(editor, n, "Mul")) {
      bytes = FoldArithmetic(editor, n, 0);
      if (!bytes) bytes = FoldArithmetic(editor, n, 1);
    } else if (IsArithmetic(editor, n, "Sub") || IsArithmetic(editor, n, "Div")) {
      bytes = FoldArithmetic(editor, n, 0);
    }
    if (bytes && made) made(*bytes);
  }
}

}  // namespace epiphyte::kit::fuse
