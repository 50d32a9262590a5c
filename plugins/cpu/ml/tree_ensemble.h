// Decision trees: common implementation of TreeEnsemble and its two older forms.
//
// All values are held as double, which represents every float exactly, so comparisons give the same results as in the
// model. Sums are rounded to the model's own precision.
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

  // Reads one of the two older forms. Nodes are named by tree and number, weights by `weights` ("target" or "class").
  static TreeEnsemble FromNodes(const ir::Node& node, const std::string& weights, int64_t targets, Aggregate aggregate);
  // Reads TreeEnsemble, since version 5 of ai.onnx.ml.
  static TreeEnsemble FromRoots(const ir::Node& node);

  // Computes the scores of one row; `scores` has an element for each target.
  void Evaluate(const double* row, std::span<Score> scores) const;

  int64_t targets() const { return targets_; }
  int64_t features() const { return features_; }  // minimum number of columns in a row
  std::span<const Weight> weights() const { return weights_; }

 private:
  // Child references: an index into nodes_, or -1 - index into leaves_ when negative.
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
  // Throws for nodes that are reached twice, because a tree has no cycles; returns the number of reached nodes.
  size_t CheckShape() const;

  std::vector<Node> nodes_;
  std::vector<Leaf> leaves_;
  std::vector<Weight> weights_;
  std::vector<double> members_;
  std::vector<int64_t> roots_;  // child references
  int64_t targets_ = 1;
  int64_t features_ = 0;
  bool single_ = false;  // sums are rounded to float: a float model relies on 0.1 + 0.4 being 0.5
  Aggregate aggregate_ = Aggregate::kSum;
};

Aggregate AggregateOf(const std::string& name);

// A numeric attribute that is a list of floats or, as `name`_as_tensor, a tensor.
std::vector<double> RealsOf(const ir::Node& node, const std::string& name);

}  // namespace epiphyte::cpu
