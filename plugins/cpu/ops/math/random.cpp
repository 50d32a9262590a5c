// RandomNormal, RandomUniform, their Like forms, Bernoulli and Multinomial.
#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/ops/math/random_source.h"

namespace epiphyte::cpu {
namespace {

template <bool kNormal, bool kLike>
class RandomKernel : public Kernel {
 public:
  explicit RandomKernel(const KernelInit& init)
      : shape_(init.node().Ints("shape")),
        type_(static_cast<ElementType>(init.node().Int("dtype", kLike ? EP_TYPE_UNDEFINED : EP_TYPE_FLOAT))),
        first_(kNormal ? init.node().Float("mean", 0.0f) : init.node().Float("low", 0.0f)),
        second_(kNormal ? init.node().Float("scale", 1.0f) : init.node().Float("high", 1.0f)),
        seed_(init.node()) {
    for (int64_t dim : shape_) {
      if (dim < 0) FailOp("shape {} has a negative dimension", ShapeText(shape_));
    }
  }

  void Run(OpContext& context) const override {
    ElementType type = type_;
    Dims dims{std::span<const int64_t>(shape_)};
    if (kLike) {
      const Tensor& like = context.Input(0);
      dims = like.dims;
      if (type == EP_TYPE_UNDEFINED) type = like.type;
    }
    Tensor& y = context.Output(0, type, dims);
    RandomSource source = seed_.Start();
    DispatchFloats(type, kNormal ? "RandomNormal" : "RandomUniform", [&]<typename T>() {
      constexpr int64_t kBlock = 512;
      double values[kBlock];
      const int64_t count = y.Count();
      const double scale = kNormal ? second_ : second_ - first_;
      for (int64_t at = 0; at < count; at += kBlock) {
        const int64_t n = std::min(kBlock, count - at);
        if (kNormal) {
          for (int64_t i = 0; i < n; ++i) values[i] = source.Normal();
        } else {
          source.Uniforms(values, n);
        }
        T* const to = y.as<T>() + at;
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(static_cast<Compute<T>>(first_ + scale * values[i]));
      }
    });
  }

 private:
  std::vector<int64_t> shape_;
  ElementType type_;
  double first_;
  double second_;
  Seed seed_;
};

class BernoulliKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit BernoulliKernel(const KernelInit& init)
      : type_(static_cast<ElementType>(init.node().Int("dtype", EP_TYPE_UNDEFINED))), seed_(init.node()) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& y = context.Output(0, type_ == EP_TYPE_UNDEFINED ? x.type : type_, x.dims);
    RandomSource source = seed_.Start();
    const int64_t count = x.Count();
    for (int64_t at = 0; at < count; at += kConvertChunk) {
      float values[kConvertChunk];
      double numbers[kConvertChunk];
      const int64_t n = std::min(kConvertChunk, count - at);
      LoadFloats(x, at, n, values);
      source.Uniforms(numbers, n);
      for (int64_t i = 0; i < n; ++i) {
        // As in numpy's binomial: the rarer outcome corresponds to a large number.
        const double p = values[i];
        const double u = numbers[i];
        // branchless, because branches would be mispredicted
        const bool drawn = ((p <= 0.5) & (u > 1.0 - p)) | ((p > 0.5) & (u <= p));
        values[i] = drawn ? 1.0f : 0.0f;
      }
      StoreFloats(values, at, n, y);
    }
  }

 private:
  ElementType type_;
  Seed seed_;
};

// Draws samples from unnormalised log-probabilities.
class MultinomialKernel : public Kernel {
 public:
  static Float32Promotion PromotionOf(const ir::Node&) { return Float32Promotion::kNever; }

  explicit MultinomialKernel(const KernelInit& init)
      : samples_(init.node().Int("sample_size", 1)),
        type_(static_cast<ElementType>(init.node().Int("dtype", EP_TYPE_INT32))),
        seed_(init.node()) {
    if (samples_ < 0) FailOp("sample_size is {}, expected a positive number", samples_);
    if (type_ != EP_TYPE_INT32 && type_ != EP_TYPE_INT64)
      FailOp("dtype is {}, expected int32 or int64", TypeName(type_));
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 2 || x.dims[1] == 0) FailOp("input has shape {}, expected [batch,classes]", ShapeText(x.dims));
    const int64_t classes = x.dims[1];
    Tensor& y = context.Output(0, type_, Dims{x.dims[0], samples_});
    RandomSource source = seed_.Start();
    std::vector<float> logits(static_cast<size_t>(classes));
    std::vector<double> cumulative(static_cast<size_t>(classes));
    for (int64_t row = 0; row < x.dims[0]; ++row) {
      LoadFloats(x, row * classes, classes, logits.data());
      const float largest = *std::max_element(logits.begin(), logits.end());
      double sum = 0;
      for (size_t i = 0; i < logits.size(); ++i)
        cumulative[i] = sum += std::exp(static_cast<double>(logits[i] - largest));
      for (int64_t i = 0; i < samples_; ++i) {
        const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), source.Uniform() * sum);
        const int64_t drawn = std::min<int64_t>(found - cumulative.begin(), classes - 1);
        if (type_ == EP_TYPE_INT32) {
          y.as<int32_t>()[row * samples_ + i] = static_cast<int32_t>(drawn);
        } else {
          y.as<int64_t>()[row * samples_ + i] = drawn;
        }
      }
    }
  }

 private:
  int64_t samples_;
  ElementType type_;
  Seed seed_;
};

}  // namespace

void Register_random(KernelRegistry& registry) {
  registry.Add<RandomKernel<true, false>>("RandomNormal", 1);
  registry.Add<RandomKernel<false, false>>("RandomUniform", 1);
  registry.Add<RandomKernel<true, true>>("RandomNormalLike", 1);
  registry.Add<RandomKernel<false, true>>("RandomUniformLike", 1);
  registry.Add<BernoulliKernel>("Bernoulli", 15, kFloats);
  registry.Add<MultinomialKernel>("Multinomial", 7, kFloats);
}

}  // namespace epiphyte::cpu
