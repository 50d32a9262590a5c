// ai.onnx.ml: LinearClassifier, LinearRegressor.
#include <algorithm>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"

namespace epiphyte::cpu {
namespace {

// Rows times a matrix with `outputs` rows of coefficients, plus intercepts.
struct LinearModel {
  std::vector<float> coefficients;
  std::vector<float> intercepts;
  int64_t outputs = 1;

  LinearModel(const ir::Node& node, int64_t output_count)
      : coefficients(node.Floats("coefficients")), intercepts(node.Floats("intercepts")), outputs(output_count) {
    if (outputs < 1 || coefficients.empty() || coefficients.size() % static_cast<size_t>(outputs) != 0 ||
        (!intercepts.empty() && intercepts.size() != static_cast<size_t>(outputs)))
      FailOp("{} coefficients and {} intercepts found for {} outputs, a multiple and none or as many expected",
             coefficients.size(), intercepts.size(), outputs);
  }
  int64_t width() const { return static_cast<int64_t>(coefficients.size()) / outputs; }

  std::vector<double> Apply(const double* row) const {
    std::vector<double> scores(static_cast<size_t>(outputs));
    for (size_t o = 0; o < scores.size(); ++o) {
      double sum = intercepts.empty() ? 0 : intercepts[o];
      const float* coefficient = coefficients.data() + o * static_cast<size_t>(width());
      for (int64_t i = 0; i < width(); ++i) sum += row[i] * coefficient[i];
      scores[o] = sum;
    }
    return scores;
  }
  Rows Check(const Tensor& x) const {
    const Rows rows = RowsOf(x);
    if (rows.width != width()) FailOp("input of shape {} found, {} columns expected", ShapeText(x.dims), width());
    return rows;
  }
};

class LinearRegressorKernel : public Kernel {
 public:
  explicit LinearRegressorKernel(const KernelInit& init)
      : model_(init.node(), init.node().Int("targets", 1)), transform_(PostTransformOf(init.node())) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = model_.Check(x);
    const std::vector<double> numbers = NumbersOf<double>(x, "LinearRegressor");
    float* y = context.Output(0, EP_TYPE_FLOAT, Dims{rows.count, model_.outputs}).as<float>();
    for (int64_t r = 0; r < rows.count; ++r)
      for (double score : FinishScores(transform_, SecondClass::kNone, model_.Apply(numbers.data() + r * rows.width)))
        *y++ = static_cast<float>(score);
  }

 private:
  LinearModel model_;
  PostTransform transform_;
};

class LinearClassifierKernel : public Kernel {
 public:
  explicit LinearClassifierKernel(const KernelInit& init)
      : labels_(init.node(), "classlabels_ints", "classlabels_strings"),
        model_(init.node(), OutputCount(init.node(), labels_)),
        transform_(PostTransformOf(init.node())) {
    if (model_.outputs > 1 && static_cast<size_t>(model_.outputs) != labels_.size())
      FailOp("{} intercepts found for {} class labels, as many or one expected", model_.outputs, labels_.size());
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const Rows rows = model_.Check(x);
    const std::vector<double> numbers = NumbersOf<double>(x, "LinearClassifier");
    const bool two_from_one = model_.outputs == 1 && labels_.size() == 2;
    const int64_t width = two_from_one ? 2 : model_.outputs;
    LabelWriter label(context, labels_, rows.count);
    float* y = context.Output(1, EP_TYPE_FLOAT, Dims{rows.count, width}).as<float>();
    for (int64_t r = 0; r < rows.count; ++r) {
      std::vector<double> scores = model_.Apply(numbers.data() + r * rows.width);
      const size_t best = two_from_one
                              ? static_cast<size_t>(scores[0] > 0)
                              : static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
      scores =
          FinishScores(transform_, two_from_one ? SecondClass::kComplement : SecondClass::kNone, std::move(scores));
      scores.resize(static_cast<size_t>(width));
      if (labels_.size() > 1) {
        label.Set(r, best);
      } else if (scores[0] >= (transform_ == PostTransform::kNone ? 0 : 0.5)) {
        label.Set(r, 0);
      } else {
        label.SetPlain(r, 0);
      }
      for (double score : scores) *y++ = static_cast<float>(score);
    }
  }

 private:
  // With two classes, there may be coefficients for the second one only; the number of intercepts tells.
  static int64_t OutputCount(const ir::Node& node, const Labels& labels) {
    if (labels.size() == 0) FailOp("no class labels found, classlabels_ints or classlabels_strings expected");
    const size_t intercepts = node.Floats("intercepts").size();
    return static_cast<int64_t>(intercepts == 0 ? labels.size() : intercepts);
  }

  Labels labels_;
  LinearModel model_;
  PostTransform transform_;
};

}  // namespace

void Register_ml_linear(KernelRegistry& registry) {
  registry.Add<LinearRegressorKernel>("LinearRegressor", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<LinearClassifierKernel>("LinearClassifier", 1, kAnyType, INT64_MAX, kMlDomain);
}

}  // namespace epiphyte::cpu
