// ai.onnx.ml, numbers to numbers: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler.
#include <algorithm>
#include <cmath>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"

namespace epiphyte::cpu {
namespace {

template <typename Body>
void DispatchFeatures(ElementType type, std::string_view what, Body&& body) {
  Dispatch<float, double, int64_t, int32_t>(type, what, std::forward<Body>(body));
}

class ArrayFeatureExtractorKernel : public Kernel {
 public:
  explicit ArrayFeatureExtractorKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& y = context.Input(1);
    if (x.rank() == 0) FailOp("a scalar found, at least one dimension expected");
    const int64_t width = x.dims.back(), count = y.Count();
    const int64_t* at = Int64Data(context, y, "Y");
    for (int64_t i = 0; i < count; ++i)
      if (at[i] < 0 || at[i] >= width) FailOp("index {} found, a value in [0, {}] expected", at[i], width - 1);
    Dims dims = x.dims;
    dims.back() = count;
    if (x.rank() == 1) dims = Dims{1, count};
    kit::CheckedCount(dims);
    const int64_t rows = x.dims.Count(0, x.rank() - 1);
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      MoveTarget<T> target(context, 0, x.type, dims);
      CountTexts<T>(context, rows * count,
                    [&](int64_t i) -> const T& { return source.data()[i / count * width + at[i % count]]; });
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < count; ++i) target.data()[r * count + i] = source.data()[r * width + at[i]];
    });
  }
};

class BinarizerKernel : public Kernel {
 public:
  explicit BinarizerKernel(const KernelInit& init) : threshold_(init.node().Float("threshold", 0)) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    DispatchFeatures(x.type, "Binarizer", [&]<typename T>() {
      const T* from = x.as<T>();
      T* to = context.Output(0, x.type, x.dims).template as<T>();
      for (int64_t i = 0; i < x.Count(); ++i) to[i] = static_cast<double>(from[i]) > threshold_ ? T{1} : T{0};
    });
  }

 private:
  double threshold_;
};

// With two or more dimensions, the first one is that of rows, and the others are joined to a row's features.
Rows FeaturesOf(const Tensor& x) { return x.rank() <= 2 ? RowsOf(x) : Rows{x.dims[0], x.dims.Count(1, x.rank())}; }

class FeatureVectorizerKernel : public Kernel {
 public:
  explicit FeatureVectorizerKernel(const KernelInit& init) : widths_(init.node().Ints("inputdimensions")) {}
  void Run(OpContext& context) const override {
    if (!widths_.empty() && widths_.size() != context.InputCount())
      FailOp("{} inputdimensions found for {} inputs, as many expected", widths_.size(), context.InputCount());
    int64_t rows = -1, width = 0;
    std::vector<int64_t> own(context.InputCount());
    std::vector<int64_t> taken(context.InputCount());
    for (size_t i = 0; i < context.InputCount(); ++i) {
      const Tensor& x = context.Input(i);
      const Rows r = FeaturesOf(x);
      if (rows >= 0 && r.count != rows) FailOp("input {} with {} rows found, {} expected", i, r.count, rows);
      rows = r.count;
      own[i] = r.width;
      // A width in the attribute is fixed: longer rows are cut, shorter ones are padded with zeros.
      taken[i] = widths_.empty() ? r.width : widths_[i];
      if (taken[i] < 0) FailOp("inputdimensions {} found, at least 0 expected", taken[i]);
      width = kit::CheckedAdd(width, taken[i]);
    }
    const Dims dims{std::max<int64_t>(rows, 0), width};
    kit::CheckedCount(dims);
    float* y = context.Output(0, EP_TYPE_FLOAT, dims).as<float>();
    int64_t column = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      const std::vector<float> numbers = NumbersOf<float>(context.Input(i), "FeatureVectorizer");
      const int64_t copied = std::min(own[i], taken[i]);
      for (int64_t r = 0; r < rows; ++r) {
        float* to = std::copy_n(numbers.data() + r * own[i], copied, y + r * width + column);
        std::fill_n(to, taken[i] - copied, 0.0f);
      }
      column += taken[i];
    }
  }

 private:
  std::vector<int64_t> widths_;
};

class ImputerKernel : public Kernel {
 public:
  explicit ImputerKernel(const KernelInit& init)
      : floats_(init.node().Floats("imputed_value_floats")),
        integers_(init.node().Ints("imputed_value_int64s")),
        replaced_float_(init.node().Float("replaced_value_float", 0)),
        replaced_integer_(init.node().Int("replaced_value_int64", 0)) {
    if (floats_.empty() == integers_.empty())
      FailOp("imputed_value_floats or imputed_value_int64s expected, one of them and not both");
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    DispatchFeatures(x.type, "Imputer", [&]<typename T>() {
      if constexpr (std::is_integral_v<T>)
        Replace<T>(context, x, integers_, static_cast<T>(replaced_integer_), false);
      else
        Replace<T>(context, x, floats_, static_cast<T>(replaced_float_), std::isnan(replaced_float_));
    });
  }

 private:
  template <typename T, typename Value>
  static void Replace(OpContext& context, const Tensor& x, const std::vector<Value>& values, T replaced, bool nan) {
    const auto width = static_cast<size_t>(x.rank() == 0 ? 1 : x.dims.back());
    if (values.empty() || (values.size() != 1 && values.size() != width))
      FailOp("{} imputed values of the input's kind found, 1 or {} expected", values.size(), width);
    const T* from = x.as<T>();
    T* to = context.Output(0, x.type, x.dims).template as<T>();
    for (int64_t i = 0; i < x.Count(); ++i) {
      const bool hit = nan ? from[i] != from[i] : from[i] == replaced;
      to[i] = hit ? static_cast<T>(values[values.size() == 1 ? 0 : static_cast<size_t>(i) % width]) : from[i];
    }
  }

  std::vector<float> floats_;
  std::vector<int64_t> integers_;
  float replaced_float_;
  int64_t replaced_integer_;
};

class NormalizerKernel : public Kernel {
 public:
  explicit NormalizerKernel(const KernelInit& init) : norm_(init.node().String("norm", "MAX")) {
    if (norm_ != "MAX" && norm_ != "L1" && norm_ != "L2") FailOp("norm '{}' found, MAX, L1 or L2 expected", norm_);
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = RowsOf(x);
    const std::vector<float> numbers = NumbersOf<float>(x, "Normalizer");
    float* y = context.Output(0, EP_TYPE_FLOAT, x.dims).as<float>();
    for (int64_t r = 0; r < rows.count; ++r) {
      const float* row = numbers.data() + r * rows.width;
      double scale = norm_ == "MAX" ? -std::numeric_limits<double>::infinity() : 0;
      for (int64_t i = 0; i < rows.width; ++i) {
        const double value = row[i];
        if (norm_ == "MAX") scale = std::max(scale, value);
        if (norm_ == "L1") scale += std::abs(value);
        if (norm_ == "L2") scale += value * value;
      }
      if (norm_ == "L2") scale = std::sqrt(scale);
      for (int64_t i = 0; i < rows.width; ++i)
        y[r * rows.width + i] = scale != 0 ? static_cast<float>(row[i] / scale) : row[i];
    }
  }

 private:
  std::string norm_;
};

class ScalerKernel : public Kernel {
 public:
  explicit ScalerKernel(const KernelInit& init)
      : offset_(init.node().Floats("offset")), scale_(init.node().Floats("scale")) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const auto width = static_cast<size_t>(x.rank() == 0 ? 1 : x.dims.back());
    const auto fits = [&](const std::vector<float>& v) { return v.size() == 1 || v.size() == width; };
    if (!fits(offset_) || !fits(scale_))
      FailOp("{} offsets and {} scales found, 1 or {} of each expected", offset_.size(), scale_.size(), width);
    const std::vector<double> numbers = NumbersOf<double>(x, "Scaler");
    float* y = context.Output(0, EP_TYPE_FLOAT, x.dims).as<float>();
    const auto at = [&](const std::vector<float>& v, size_t i) {
      return static_cast<double>(v[v.size() == 1 ? 0 : i % width]);
    };
    for (size_t i = 0; i < numbers.size(); ++i)
      y[i] = static_cast<float>((numbers[i] - at(offset_, i)) * at(scale_, i));
  }

 private:
  std::vector<float> offset_;
  std::vector<float> scale_;
};

}  // namespace

void Register_ml_features(KernelRegistry& registry) {
  const auto add = [&]<typename K>(std::string_view name) { registry.Add<K>(name, 1, kAnyType, INT64_MAX, kMlDomain); };
  add.operator()<ArrayFeatureExtractorKernel>("ArrayFeatureExtractor");
  add.operator()<BinarizerKernel>("Binarizer");
  add.operator()<FeatureVectorizerKernel>("FeatureVectorizer");
  add.operator()<ImputerKernel>("Imputer");
  add.operator()<NormalizerKernel>("Normalizer");
  add.operator()<ScalerKernel>("Scaler");
}

}  // namespace epiphyte::cpu
