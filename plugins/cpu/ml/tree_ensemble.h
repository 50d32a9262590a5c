// Decision trees: what TreeEnsemble and its two older forms have in common.
//
// All values are held as double, which represents every float exactly, so that comparisons come out as in the model.
// Sums are rounded to the model's own precision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

enum class Aggregate { kSum, kAverage, kMinimum, kMaximum };

class TreeEnsemble {
 public:
  enum class Mode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
  struct Weight {
    int64_t target;
    double value;
  };
  struct Score {
    double value = 0;
    bool is_set = false;
  };

  // The two older forms: nodes are named by tree and number, weights by `weights` ("target" or "class").
  static TreeEnsemble FromNodes(const ir::Node& node, const std::string& weights, int64_t targets, Aggregate aggregate);
  // TreeEnsemble, since version 5 of ai.onnx.ml.
  static TreeEnsemble FromRoots(const ir::Node& node);

  // Scores of one row; `scores` has a place for each target.
  void Evaluate(const double* row, std::span<Score> scores) const;

  int64_t targets() const { return targets_; }
  int64_t features() const { return features_; }  // columns that a row needs at least
  std::span<const Weight> weights() const { return weights_; }

 private:
  // Children: an index of nodes_, or, negative, -1 - an index of leaves_.
  struct Node {
    double value = 0;
    int64_t on_true = 0;
    int64_t on_false = 0;
    int64_t feature = 0;
    Mode mode = Mode::kLeq;
    bool missing_is_true = false;
    uint32_t first_member = 0;  // kMember: range of members_
    uint32_t member_count = 0;
  };
  struct Leaf {
    uint32_t first = 0;  // range of weights_
    uint32_t count = 0;
  };

  bool Holds(const Node& node, double x) const;
  // Refuses nodes that are reached twice, because a tree has no cycles; says how many are reached.
  size_t CheckShape() const;

  std::vector<Node> nodes_;
  std::vector<Leaf> leaves_;
  std::vector<Weight> weights_;
  std::vector<double> members_;
  std::vector<int64_t> roots_;  // as children
  int64_t targets_ = 1;
  int64_t features_ = 0;
  bool single_ = false;  // sums are rounded to float: a model of floats counts on 0.1 + 0.4 being 0.5
  Aggregate aggregate_ = Aggregate::kSum;
};

Aggregate AggregateOf(const std::string& name);

// An attribute of numbers that is a list of floats or, under `name`_as_tensor, a tensor.
std::vector<double> RealsOf(const ir::Node& node, const std::string& name);

}  // namespace epiphyte::cpu
