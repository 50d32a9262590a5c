// Activations of recurrent networks, by the names and parameters in the node's attributes.
//
//     ActivationReader reader(node.Floats("activation_alpha"), node.Floats("activation_beta"));
//     const RnnActivation squash = reader.Read("Sigmoid");
//     squash(row, n);
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/simd/elementwise/unary.h"

namespace epiphyte::cpu {

// One of ONNX's activation functions over a row.
class RnnActivation {
 public:
  RnnActivation() : RnnActivation(simd::Unary::kTanh, 0, 0) {}
  RnnActivation(simd::Unary function, float alpha, float beta) : function_(function), loop_(function, alpha, beta) {}
  // alpha tanh(beta x)
  static RnnActivation ScaledTanh(float alpha, float beta) {
    RnnActivation activation;
    constexpr float kNothing = -0.0f;  // -0 keeps the sign of zeros
    activation.before_.emplace(simd::Unary::kAffine, beta, kNothing);
    activation.after_.emplace(simd::Unary::kAffine, alpha, kNothing);
    return activation;
  }

  void operator()(float* x, int64_t n) const {
    if (before_) (*before_)(x, x, n);
    loop_(x, x, n);
    if (after_) (*after_)(x, x, n);
  }
  bool Is(simd::Unary function) const { return function_ == function && !before_; }

 private:
  simd::Unary function_;
  simd::UnaryLoop loop_;
  std::optional<simd::UnaryLoop> before_, after_;
};

// Reads the activations of a node. Their parameters are in common lists; each activation takes its own, in order.
class ActivationReader {
 public:
  ActivationReader(std::vector<float> alpha, std::vector<float> beta)
      : alpha_(std::move(alpha)), beta_(std::move(beta)) {}

  RnnActivation Read(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    using simd::Unary;
    static constexpr struct {
      std::string_view name;
      Unary function;
      int parameters;
      float alpha, beta;
    } kKnown[] = {{"sigmoid", Unary::kSigmoid, 0, 0, 0},
                  {"tanh", Unary::kTanh, 0, 0, 0},
                  {"relu", Unary::kRelu, 0, 0, 0},
                  {"affine", Unary::kAffine, 2, 1, 0},
                  {"leakyrelu", Unary::kLeakyRelu, 1, 0.01f, 0},
                  {"thresholdedrelu", Unary::kThresholdedRelu, 1, 1, 0},
                  {kScaledTanh, Unary::kTanh, 2, 1, 1},
                  {"hardsigmoid", Unary::kHardSigmoid, 2, 0.2f, 0.5f},
                  {"elu", Unary::kElu, 1, 1, 0},
                  {"softsign", Unary::kSoftsign, 0, 0, 0},
                  {"softplus", Unary::kSoftplus, 0, 0, 0}};
    for (const auto& known : kKnown) {
      if (name != known.name) continue;
      float alpha = known.alpha, beta = known.beta;
      if (known.parameters >= 1 && next_alpha_ < alpha_.size()) alpha = alpha_[next_alpha_++];
      if (known.parameters >= 2 && next_beta_ < beta_.size()) beta = beta_[next_beta_++];
      if (name == kScaledTanh) return RnnActivation::ScaledTanh(alpha, beta);
      return RnnActivation(known.function, alpha, beta);
    }
    FailOp("unknown activation '{}'", name);
  }

 private:
  std::vector<float> alpha_, beta_;
  static constexpr std::string_view kScaledTanh = "scaledtanh";
  size_t next_alpha_ = 0, next_beta_ = 0;
};

}  // namespace epiphyte::cpu
