// ai.onnx.ml: SVMClassifier and SVMRegressor with models of libsvm (support vectors) and of liblinear (one vector of
// coefficients for each class).
#include <algorithm>
#include <cmath>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"

namespace epiphyte::cpu {
namespace {

enum class KernelType { kLinear, kPolynomial, kRadial, kSigmoid };

struct SvmModel {
  KernelType kernel = KernelType::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;
  std::vector<float> coefficients;
  std::vector<float> vectors;
  std::vector<float> rho;
  int64_t vector_count = 0;
  int64_t width = 0;

  // Without support vectors, the coefficients are `linear_rows` rows.
  SvmModel(const ir::Node& node, int64_t support_vectors, int64_t linear_rows)
      : coefficients(node.Floats("coefficients")),
        vectors(node.Floats("support_vectors")),
        rho(node.Floats("rho")),
        vector_count(support_vectors) {
    const std::string type = node.String("kernel_type", "LINEAR");
    if (type == "POLY") {
      kernel = KernelType::kPolynomial;
    } else if (type == "RBF") {
      kernel = KernelType::kRadial;
    } else if (type == "SIGMOID") {
      kernel = KernelType::kSigmoid;
    } else if (type != "LINEAR") {
      FailOp("kernel_type '{}' found, LINEAR, POLY, RBF or SIGMOID expected", type);
    }
    const std::vector<float> parameters = node.Floats("kernel_params");
    if (!parameters.empty()) {
      if (parameters.size() != 3) FailOp("{} kernel_params found, gamma, coef0 and degree expected", parameters.size());
      gamma = parameters[0], coef0 = parameters[1], degree = parameters[2];
    }
    if (vector_count > 0) {
      if (vectors.empty() || vectors.size() % static_cast<size_t>(vector_count) != 0)
        FailOp("{} numbers in support_vectors found, a multiple of {} expected", vectors.size(), vector_count);
      width = static_cast<int64_t>(vectors.size()) / vector_count;
    } else {
      kernel = KernelType::kLinear;
      if (coefficients.empty() || linear_rows < 1 || coefficients.size() % static_cast<size_t>(linear_rows) != 0)
        FailOp("{} coefficients found, a multiple of {} expected", coefficients.size(), linear_rows);
      width = static_cast<int64_t>(coefficients.size()) / linear_rows;
    }
    if (rho.empty()) FailOp("no rho found, at least one number expected");
  }

  double Product(const double* x, const float* y) const {
    double sum = 0;
    if (kernel == KernelType::kRadial) {
      for (int64_t i = 0; i < width; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
      return std::exp(-gamma * sum);
    }
    for (int64_t i = 0; i < width; ++i) sum += x[i] * y[i];
    if (kernel == KernelType::kPolynomial) return std::pow(gamma * sum + coef0, degree);
    return kernel == KernelType::kSigmoid ? std::tanh(gamma * sum + coef0) : sum;
  }
  std::vector<double> Products(const double* x) const {
    std::vector<double> products(static_cast<size_t>(vector_count));
    for (size_t i = 0; i < products.size(); ++i)
      products[i] = Product(x, vectors.data() + i * static_cast<size_t>(width));
    return products;
  }
  Rows Check(const Tensor& x) const {
    const Rows rows = RowsOf(x);
    if (rows.width != width) FailOp("input of shape {} found, {} columns expected", ShapeText(x.dims), width);
    return rows;
  }
};

class SvmRegressorKernel : public Kernel {
 public:
  explicit SvmRegressorKernel(const KernelInit& init)
      : model_(init.node(), init.node().Int("n_supports", 0), 1),
        transform_(PostTransformOf(init.node())),
        one_class_(init.node().Int("one_class", 0) != 0) {
    if (model_.vector_count < 0 ||
        (model_.vector_count > 0 && static_cast<int64_t>(model_.coefficients.size()) != model_.vector_count))
      FailOp("{} coefficients found for {} support vectors, as many expected", model_.coefficients.size(),
             model_.vector_count);
  }
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = model_.Check(x);
    const std::vector<double> numbers = NumbersOf<double>(x, "SVMRegressor");
    float* y = context.Output(0, EP_TYPE_FLOAT, Dims{rows.count, 1}).as<float>();
    Parallel(context, rows.count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const double* row = numbers.data() + r * rows.width;
        double sum = model_.rho[0];
        if (model_.vector_count == 0) {
          sum += model_.Product(row, model_.coefficients.data());
        } else {
          for (int64_t i = 0; i < model_.vector_count; ++i)
            sum += model_.coefficients[static_cast<size_t>(i)] *
                   model_.Product(row, model_.vectors.data() + i * model_.width);
        }
        if (one_class_) {
          y[r] = sum > 0 ? 1.0f : -1.0f;
          continue;
        }
        Transform(transform_, std::span<double>(&sum, 1));
        y[r] = static_cast<float>(sum);
      }
    });
  }

 private:
  SvmModel model_;
  PostTransform transform_;
  bool one_class_;
};

double Total(const std::vector<int64_t>& counts) {
  double sum = 0;
  for (int64_t count : counts) sum += static_cast<double>(count);
  return sum;
}

class SvmClassifierKernel : public Kernel {
 public:
  explicit SvmClassifierKernel(const KernelInit& init)
      : labels_(init.node(), "classlabels_ints", "classlabels_strings"),
        per_class_(init.node().Ints("vectors_per_class")),
        classes_(std::max<size_t>(labels_.size(), 1)),
        model_(init.node(), CountVectors(per_class_), static_cast<int64_t>(classes_)),
        transform_(PostTransformOf(init.node())),
        prob_a_(init.node().Floats("prob_a")),
        prob_b_(init.node().Floats("prob_b")) {
    all_positive_ = std::all_of(model_.coefficients.begin(), model_.coefficients.end(), [](float c) { return c >= 0; });
    if (model_.vector_count == 0) return;
    const size_t pairs = classes_ * (classes_ - 1) / 2;
    const size_t coefficients = static_cast<size_t>(model_.vector_count) * (classes_ - 1);
    if (per_class_.size() != classes_ || model_.coefficients.size() < coefficients || model_.rho.size() < pairs ||
        prob_a_.size() != prob_b_.size() || (!prob_a_.empty() && prob_a_.size() < pairs))
      FailOp(
          "{} vectors_per_class, {} coefficients, {} rho and {} prob_a found for {} classes, {}, {}, {} and 0 or as "
          "many expected",
          per_class_.size(), model_.coefficients.size(), model_.rho.size(), prob_a_.size(), classes_, classes_,
          coefficients, pairs);
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = model_.Check(x);
    const std::vector<double> numbers = NumbersOf<double>(x, "SVMClassifier");
    std::vector<std::vector<double>> all(static_cast<size_t>(rows.count));
    std::vector<std::pair<double, size_t>> best(all.size());
    Parallel(context, rows.count, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        all[static_cast<size_t>(r)] = Score(numbers.data() + r * rows.width, best[static_cast<size_t>(r)]);
    });
    const bool probabilities = !prob_a_.empty() && model_.vector_count > 0;
    const bool two = model_.rho.size() == 1 && labels_.size() == 2;
    const bool second = two && transform_ != PostTransform::kProbit;
    LabelWriter label(context, labels_, rows.count);
    for (size_t r = 0; r < all.size(); ++r) {
      const auto row = static_cast<int64_t>(r);
      const auto [weight, at] = best[r];
      if (labels_.size() == 0)
        label.SetPlain(row, model_.rho.size() == 1 ? (weight > 0 ? 1 : 0) : static_cast<int64_t>(at));
      else if (two && !probabilities && all_positive_ && weight >= 0.5)
        label.Set(row, 1);
      else if (model_.rho.size() == 1 && labels_.size() == 1)
        weight > 0 ? label.Set(row, 0) : label.SetPlain(row, 0);
      else
        label.Set(row, at);
      if (second && all[r].size() == 1) all[r].insert(all[r].begin(), -all[r][0]);
      Transform(transform_, std::span<double>(all[r]));
    }
    const size_t scores = probabilities || model_.vector_count == 0 ? classes_ : classes_ * (classes_ - 1) / 2;
    const size_t width = scores == 1 && second ? 2 : scores;
    float* y = context.Output(1, EP_TYPE_FLOAT, Dims{rows.count, static_cast<int64_t>(width)}).as<float>();
    for (const std::vector<double>& row : all)
      for (double score : row) *y++ = static_cast<float>(score);
  }

 private:
  static int64_t CountVectors(const std::vector<int64_t>& per_class) {
    for (int64_t count : per_class)
      if (count < 0) FailOp("vectors_per_class {} found, numbers of at least 0 expected", ShapeText(per_class));
    if (!(Total(per_class) < 0x1p40))
      FailOp("vectors_per_class {} found, smaller numbers expected", ShapeText(per_class));
    return static_cast<int64_t>(Total(per_class));
  }

  std::vector<double> Score(const double* row, std::pair<double, size_t>& best) const {
    if (model_.vector_count == 0) {
      std::vector<double> scores(classes_);
      for (size_t c = 0; c < classes_; ++c)
        scores[c] =
            model_.rho[0] + model_.Product(row, model_.coefficients.data() + c * static_cast<size_t>(model_.width));
      const auto top = std::max_element(scores.begin(), scores.end());
      best = {*top, static_cast<size_t>(top - scores.begin())};
      return scores;
    }
    // One-against-one: each pair of classes votes.
    const std::vector<double> products = model_.Products(row);
    std::vector<double> votes(classes_), scores;
    size_t first_i = 0;
    for (size_t i = 0; i < classes_; first_i += static_cast<size_t>(per_class_[i]), ++i) {
      size_t first_j = first_i + static_cast<size_t>(per_class_[i]);
      for (size_t j = i + 1; j < classes_; first_j += static_cast<size_t>(per_class_[j]), ++j) {
        const double score =
            model_.rho[scores.size()] + Half(products, j - 1, first_i, i) + Half(products, i, first_j, j);
        ++votes[score > 0 ? i : j];
        scores.push_back(score);
      }
    }
    const auto top = std::max_element(votes.begin(), votes.end());
    best = {*top, static_cast<size_t>(top - votes.begin())};
    return prob_a_.empty() ? scores : Probabilities(scores);
  }
  double Half(const std::vector<double>& products, size_t coefficient_row, size_t first, size_t of_class) const {
    const float* coefficient = model_.coefficients.data() + coefficient_row * static_cast<size_t>(model_.vector_count);
    double sum = 0;
    for (size_t k = first; k < first + static_cast<size_t>(per_class_[of_class]); ++k)
      sum += coefficient[k] * products[k];
    return sum;
  }

  // Class probabilities that fit the pairwise ones best, by the second method of T.-F. Wu, C.-J. Lin and R. C. Weng:
  // Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004.
  std::vector<double> Probabilities(const std::vector<double>& scores) const {
    const size_t k = classes_;
    std::vector<double> pair(k * k), q(k * k), p(k, 1.0 / static_cast<double>(k)), qp(k);
    size_t index = 0;
    for (size_t i = 0; i < k; ++i)
      for (size_t j = i + 1; j < k; ++j, ++index) {
        const double v = scores[index] * prob_a_[index] + prob_b_[index];
        const double chance = std::clamp(1 - 1 / (1 + std::exp(-v)), 1e-7, 1 - 1e-7);
        pair[i * k + j] = chance;
        pair[j * k + i] = 1 - chance;
      }
    for (size_t t = 0; t < k; ++t)
      for (size_t j = 0; j < k; ++j) {
        if (j == t) continue;
        q[t * k + t] += pair[j * k + t] * pair[j * k + t];
        q[t * k + j] = -pair[j * k + t] * pair[t * k + j];
      }
    const double tolerance = 0.005 / static_cast<double>(k);
    for (size_t round = 0; round < std::max<size_t>(100, k); ++round) {
      double pqp = 0, error = 0;
      for (size_t t = 0; t < k; ++t) {
        qp[t] = 0;
        for (size_t j = 0; j < k; ++j) qp[t] += q[t * k + j] * p[j];
        pqp += p[t] * qp[t];
      }
      for (size_t t = 0; t < k; ++t) error = std::max(error, std::abs(qp[t] - pqp));
      if (error < tolerance) break;
      for (size_t t = 0; t < k; ++t) {
        const double diagonal = q[t * k + t];
        const double step = (-qp[t] + pqp) / diagonal;
        p[t] += step;
        pqp = (pqp + step * (step * diagonal + 2 * qp[t])) / (1 + step) / (1 + step);
        for (size_t j = 0; j < k; ++j) {
          qp[j] = (qp[j] + step * q[t * k + j]) / (1 + step);
          p[j] /= 1 + step;
        }
      }
    }
    return p;
  }

  Labels labels_;
  std::vector<int64_t> per_class_;
  size_t classes_;
  SvmModel model_;
  PostTransform transform_;
  std::vector<float> prob_a_;
  std::vector<float> prob_b_;
  bool all_positive_ = false;
};

}  // namespace

void Register_ml_svm(KernelRegistry& registry) {
  registry.Add<SvmRegressorKernel>("SVMRegressor", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<SvmClassifierKernel>("SVMClassifier", 1, kAnyType, INT64_MAX, kMlDomain);
}

}  // namespace epiphyte::cpu
