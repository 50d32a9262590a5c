// ai.onnx.ml: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier.
#include <algorithm>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"
#include "plugins/cpu/ml/tree_ensemble.h"

namespace epiphyte::cpu {
namespace {

using Scores = std::vector<TreeEnsemble::Score>;

// Calls body(row, scores) for every row of x. Rows run in parallel; body must not throw.
template <typename Body>
void EvaluateRows(OpContext& context, const TreeEnsemble& trees, const Tensor& x, const Body& body) {
  const Rows rows = RowsOf(x);
  if (rows.count > 0 && rows.width < trees.features())
    FailOp("input of shape {} found, at least {} columns expected", ShapeText(x.dims), trees.features());
  const std::vector<double> numbers = NumbersOf<double>(x, "a tree ensemble");
  Parallel(context, rows.count, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      Scores scores(static_cast<size_t>(trees.targets()));
      trees.Evaluate(numbers.data() + r * rows.width, scores);
      body(r, scores);
    }
  });
}

int64_t TargetCount(const ir::Node& node) {
  const int64_t count = node.Int("n_targets", 1);
  if (count < 1 || count > INT32_MAX) FailOp("n_targets {} found, at least 1 expected", count);
  return count;
}

class TreeRegressorKernel : public Kernel {
 public:
  explicit TreeRegressorKernel(const KernelInit& init) : trees_(TreesOf(init.node())) {
    if (init.node().op_type == "TreeEnsemble") {
      static constexpr PostTransform kTransforms[] = {PostTransform::kNone, PostTransform::kSoftmax,
                                                      PostTransform::kLogistic, PostTransform::kSoftmaxZero,
                                                      PostTransform::kProbit};
      const int64_t transform = init.node().Int("post_transform", 0);
      if (transform < 0 || transform > 4) FailOp("post_transform {} found, a value in [0, 4] expected", transform);
      transform_ = kTransforms[transform];
      keeps_type_ = true;
    } else {
      base_values_ = RealsOf(init.node(), "base_values");
      transform_ = PostTransformOf(init.node());
      if (!base_values_.empty() && static_cast<int64_t>(base_values_.size()) != trees_.targets())
        FailOp("{} base_values found, none or {} expected", base_values_.size(), trees_.targets());
    }
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const int64_t targets = trees_.targets();
    const Dims dims{RowsOf(x).count, targets};
    kit::CheckedCount(dims);
    const ElementType type = keeps_type_ ? x.type : EP_TYPE_FLOAT;
    DispatchFloats(type, "TreeEnsemble", [&]<typename T>() {
      T* y = context.Output(0, type, dims).template as<T>();
      EvaluateRows(context, trees_, x, [&](int64_t r, const Scores& scores) {
        std::vector<double> row(scores.size());
        for (size_t i = 0; i < row.size(); ++i) row[i] = scores[i].value + (base_values_.empty() ? 0 : base_values_[i]);
        Transform(transform_, std::span<double>(row));
        for (size_t i = 0; i < row.size(); ++i)
          y[r * targets + static_cast<int64_t>(i)] = static_cast<T>(static_cast<Compute<T>>(row[i]));
      });
    });
  }

 private:
  static TreeEnsemble TreesOf(const ir::Node& node) {
    if (node.op_type == "TreeEnsemble") return TreeEnsemble::FromRoots(node);
    return TreeEnsemble::FromNodes(node, "target", TargetCount(node),
                                   AggregateOf(node.String("aggregate_function", "SUM")));
  }

  TreeEnsemble trees_;
  bool keeps_type_ = false;
  std::vector<double> base_values_;
  PostTransform transform_;
};

class TreeClassifierKernel : public Kernel {
 public:
  explicit TreeClassifierKernel(const KernelInit& init)
      : labels_(init.node(), "classlabels_int64s", "classlabels_strings"),
        trees_(TreeEnsemble::FromNodes(init.node(), "class", std::max<int64_t>(2, static_cast<int64_t>(labels_.size())),
                                       Aggregate::kSum)),
        base_values_(RealsOf(init.node(), "base_values")),
        transform_(PostTransformOf(init.node())) {
    if (labels_.size() == 0) FailOp("no class labels found, classlabels_int64s or classlabels_strings expected");
    if (base_values_.size() > static_cast<size_t>(trees_.targets()))
      FailOp("{} base_values found, at most {} expected", base_values_.size(), trees_.targets());
    for (const TreeEnsemble::Weight& weight : trees_.weights()) {
      one_class_ &= weight.target == trees_.weights()[0].target;
      all_positive_ &= weight.value >= 0;
    }
    // With two classes and weights of one class: those of the second class give its score, those of the first class
    // give the margin of the second.
    one_class_ &= labels_.size() <= 2;
    only_second_ = one_class_ && !trees_.weights().empty() && trees_.weights()[0].target == 1;
  }

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const int64_t count = RowsOf(x).count, width = trees_.targets();
    LabelWriter label(context, labels_, count);
    kit::CheckedCount(Dims{count, width});
    float* y = context.Output(1, EP_TYPE_FLOAT, Dims{count, width}).as<float>();
    std::vector<size_t> best(static_cast<size_t>(count));
    EvaluateRows(context, trees_, x, [&](int64_t r, const Scores& scores) {
      const std::vector<double> row = one_class_ ? TwoClasses(scores, best[static_cast<size_t>(r)])
                                                 : ManyClasses(scores, best[static_cast<size_t>(r)]);
      for (int64_t i = 0; i < width; ++i)
        y[r * width + i] =
            i < static_cast<int64_t>(row.size()) ? static_cast<float>(row[static_cast<size_t>(i)]) : 0.0f;
    });
    for (int64_t r = 0; r < count; ++r) {
      const size_t at = best[static_cast<size_t>(r)];
      if (at < labels_.size() && labels_.size() > 1)
        label.Set(r, at);
      else if (at == 1)
        labels_.size() == 1 ? label.Set(r, 0) : label.SetPlain(r, 1);
      else
        label.SetPlain(r, 0);
    }
  }

 private:
  // Derives both scores when weights exist for one class only.
  std::vector<double> TwoClasses(const Scores& scores, size_t& best) const {
    double score = scores[0].is_set ? scores[0].value : scores[1].value;
    if (base_values_.size() == 2)
      score += base_values_[1];
    else if (base_values_.size() == 1)
      score += base_values_[0];
    // If all weights are positive, the score is a probability; otherwise it is the distance from the boundary.
    best = score > (all_positive_ ? 0.5 : 0.0) ? 1 : 0;
    if (!only_second_)
      return FinishScores(transform_, all_positive_ ? SecondClass::kComplement : SecondClass::kOpposite,
                          std::vector<double>{score});
    std::vector<double> row{0, score};
    Transform(transform_, std::span<double>(row));
    return row;
  }

  std::vector<double> ManyClasses(const Scores& scores, size_t& best) const {
    std::vector<double> row(scores.size());
    best = scores.size();
    for (size_t i = 0; i < scores.size(); ++i) {
      row[i] = scores[i].value + (i < base_values_.size() ? base_values_[i] : 0);
      const bool counts = scores[i].is_set || i < base_values_.size();
      if (counts && (best == scores.size() || row[i] > row[best])) best = i;
    }
    if (best == scores.size()) best = 0;
    Transform(transform_, std::span<double>(row));
    return row;
  }

  Labels labels_;
  TreeEnsemble trees_;
  std::vector<double> base_values_;
  PostTransform transform_;
  bool one_class_ = true;
  bool only_second_ = false;
  bool all_positive_ = true;
};

}  // namespace

void Register_ml_trees(KernelRegistry& registry) {
  registry.Add<TreeRegressorKernel>("TreeEnsemble", 5, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<TreeRegressorKernel>("TreeEnsembleRegressor", 1, kAnyType, INT64_MAX, kMlDomain);
  registry.Add<TreeClassifierKernel>("TreeEnsembleClassifier", 1, kAnyType, INT64_MAX, kMlDomain);
}

}  // namespace epiphyte::cpu
