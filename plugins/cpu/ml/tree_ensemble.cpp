#include "plugins/cpu/ml/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/ml/ml_common.h"

namespace epiphyte::cpu {
namespace {

// Checks the length of a list with an entry for each node. An optional list may be absent.
template <typename T>
void ExpectSize(const std::vector<T>& list, size_t size, std::string_view name, bool optional = false) {
  if (list.size() != size && !(optional && list.empty()))
    FailOp("{} with {} entries found, {} expected", name, list.size(), size);
}

std::vector<double> TensorOf(const ir::Node& node, std::string_view name, bool optional = false) {
  const ir::Tensor* tensor = node.TensorOf(name);
  if (tensor != nullptr) return NumbersOf<double>(ViewOf(*tensor), name);
  if (!optional) FailOp("no {} found, a tensor expected", name);
  return {};
}

}  // namespace

std::vector<double> RealsOf(const ir::Node& node, const std::string& name) {
  if (node.TensorOf(name + "_as_tensor") != nullptr) return TensorOf(node, name + "_as_tensor");
  const std::vector<float> floats = node.Floats(name);
  return std::vector<double>(floats.begin(), floats.end());
}

Aggregate AggregateOf(const std::string& name) {
  if (name == "SUM") return Aggregate::kSum;
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMinimum;
  if (name == "MAX") return Aggregate::kMaximum;
  FailOp("aggregate_function '{}' found, SUM, AVERAGE, MIN or MAX expected", name);
}

TreeEnsemble TreeEnsemble::FromNodes(const ir::Node& node, const std::string& kind, int64_t targets,
                                     Aggregate aggregate) {
  const std::vector<int64_t> trees = node.Ints("nodes_treeids"), ids = node.Ints("nodes_nodeids");
  const std::vector<int64_t> on_true = node.Ints("nodes_truenodeids"), on_false = node.Ints("nodes_falsenodeids");
  const std::vector<int64_t> features = node.Ints("nodes_featureids");
  const std::vector<int64_t> missing = node.Ints("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = node.Strings("nodes_modes");
  const std::vector<double> values = RealsOf(node, "nodes_values");
  const size_t count = trees.size();
  ExpectSize(ids, count, "nodes_nodeids");
  ExpectSize(on_true, count, "nodes_truenodeids");
  ExpectSize(on_false, count, "nodes_falsenodeids");
  ExpectSize(features, count, "nodes_featureids");
  ExpectSize(modes, count, "nodes_modes");
  ExpectSize(values, count, "nodes_values");
  ExpectSize(missing, count, "nodes_missing_value_tracks_true", true);

  TreeEnsemble ensemble;
  ensemble.targets_ = targets;
  ensemble.aggregate_ = aggregate;
  ensemble.single_ = node.Has("nodes_values");
  // Child reference of each node.
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  for (size_t i = 0; i < count; ++i) {
    int64_t place;
    if (modes[i] == "LEAF") {
      place = -1 - static_cast<int64_t>(ensemble.leaves_.size());
      ensemble.leaves_.emplace_back();
    } else {
      place = static_cast<int64_t>(ensemble.nodes_.size());
      ensemble.nodes_.emplace_back();
    }
    if (!places.emplace(std::pair(trees[i], ids[i]), place).second)
      FailOp("node {} of tree {} found twice, each once expected", ids[i], trees[i]);
  }
  const auto child = [&](size_t i, int64_t id) {
    const auto found = places.find({trees[i], id});
    if (found == places.end())
      FailOp("child {} of node {} of tree {} found, a node of that tree expected", id, ids[i], trees[i]);
    return found->second;
  };
  std::map<std::pair<int64_t, int64_t>, int64_t> roots = places;
  for (size_t i = 0, next = 0; i < count; ++i) {
    if (modes[i] == "LEAF") continue;
    Node& made = ensemble.nodes_[next++];
    static constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                  "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    const auto name = std::find(std::begin(kNames), std::end(kNames), modes[i]);
    if (name == std::end(kNames))
      FailOp("node mode '{}' found, LEAF or BRANCH_LEQ, _LT, _GTE, _GT, _EQ or _NEQ expected", modes[i]);
    if (features[i] < 0 || features[i] > INT32_MAX) FailOp("feature {} found, at least 0 expected", features[i]);
    made.mode = static_cast<Mode>(name - std::begin(kNames));
    made.value = values[i];
    made.feature = features[i];
    made.missing_is_true = !missing.empty() && missing[i] != 0;
    made.on_true = child(i, on_true[i]);
    made.on_false = child(i, on_false[i]);
    roots.erase({trees[i], on_true[i]});
    roots.erase({trees[i], on_false[i]});
    ensemble.features_ = std::max(ensemble.features_, features[i] + 1);
  }
  int64_t last_tree = 0;
  for (const auto& [name, place] : roots) {
    if (!ensemble.roots_.empty() && name.first == last_tree)
      FailOp("tree {} with two roots found, one expected", last_tree);
    last_tree = name.first;
    ensemble.roots_.push_back(place);
  }

  // Weights, sorted by the leaf they belong to.
  const std::vector<int64_t> weight_trees = node.Ints(kind + "_treeids"), weight_nodes = node.Ints(kind + "_nodeids");
  const std::vector<int64_t> weight_targets = node.Ints(kind + "_ids");
  const std::vector<double> weight_values = RealsOf(node, kind + "_weights");
  ExpectSize(weight_nodes, weight_trees.size(), kind + "_nodeids");
  ExpectSize(weight_targets, weight_trees.size(), kind + "_ids");
  ExpectSize(weight_values, weight_trees.size(), kind + "_weights");
  std::vector<std::pair<int64_t, size_t>> of_leaf;
  for (size_t i = 0; i < weight_trees.size(); ++i) {
    const auto found = places.find({weight_trees[i], weight_nodes[i]});
    if (found == places.end())
      FailOp("a weight of node {} of tree {} found, an existing node expected", weight_nodes[i], weight_trees[i]);
    if (weight_targets[i] < 0 || weight_targets[i] >= targets)
      FailOp("{} {} found, a value in [0, {}] expected", kind, weight_targets[i], targets - 1);
    if (found->second < 0) of_leaf.emplace_back(-1 - found->second, i);
  }
  std::stable_sort(of_leaf.begin(), of_leaf.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [leaf, i] : of_leaf) {
    Leaf& made = ensemble.leaves_[static_cast<size_t>(leaf)];
    if (made.count++ == 0) made.first = static_cast<uint32_t>(ensemble.weights_.size());
    ensemble.weights_.push_back({weight_targets[i], weight_values[i]});
  }
  if (ensemble.CheckShape() != ensemble.nodes_.size()) FailOp("nodes that no root leads to found, trees expected");
  return ensemble;
}

TreeEnsemble TreeEnsemble::FromRoots(const ir::Node& node) {
  const std::vector<int64_t> features = node.Ints("nodes_featureids"), roots = node.Ints("tree_roots");
  const std::vector<int64_t> on_true = node.Ints("nodes_truenodeids"), on_false = node.Ints("nodes_falsenodeids");
  const std::vector<int64_t> true_leafs = node.Ints("nodes_trueleafs"), false_leafs = node.Ints("nodes_falseleafs");
  const std::vector<int64_t> missing = node.Ints("nodes_missing_value_tracks_true");
  const std::vector<int64_t> leaf_targets = node.Ints("leaf_targetids");
  const std::vector<double> splits = TensorOf(node, "nodes_splits"), modes = TensorOf(node, "nodes_modes");
  const std::vector<double> leaf_weights = TensorOf(node, "leaf_weights");
  const std::vector<double> members = TensorOf(node, "membership_values", true);
  const size_t count = features.size();
  ExpectSize(on_true, count, "nodes_truenodeids");
  ExpectSize(on_false, count, "nodes_falsenodeids");
  ExpectSize(true_leafs, count, "nodes_trueleafs");
  ExpectSize(false_leafs, count, "nodes_falseleafs");
  ExpectSize(splits, count, "nodes_splits");
  ExpectSize(modes, count, "nodes_modes");
  ExpectSize(missing, count, "nodes_missing_value_tracks_true", true);
  ExpectSize(leaf_targets, leaf_weights.size(), "leaf_targetids");

  TreeEnsemble ensemble;
  ensemble.targets_ = node.Int("n_targets", 1);
  if (ensemble.targets_ < 1 || ensemble.targets_ > INT32_MAX)
    FailOp("n_targets {} found, at least 1 expected", ensemble.targets_);
  static constexpr Aggregate kAggregates[] = {Aggregate::kAverage, Aggregate::kSum, Aggregate::kMinimum,
                                              Aggregate::kMaximum};
  const int64_t aggregate = node.Int("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3) FailOp("aggregate_function {} found, a value in [0, 3] expected", aggregate);
  ensemble.aggregate_ = kAggregates[aggregate];
  ensemble.single_ = node.TensorOf("leaf_weights")->type == EP_TYPE_FLOAT;
  for (size_t i = 0; i < leaf_weights.size(); ++i) {
    if (leaf_targets[i] < 0 || leaf_targets[i] >= ensemble.targets_)
      FailOp("target {} found, a value in [0, {}] expected", leaf_targets[i], ensemble.targets_ - 1);
    ensemble.leaves_.push_back({static_cast<uint32_t>(i), 1});
    ensemble.weights_.push_back({leaf_targets[i], leaf_weights[i]});
  }
  const auto child = [&](int64_t id, bool leaf) {
    const size_t most = leaf ? leaf_weights.size() : count;
    if (id < 0 || static_cast<size_t>(id) >= most) FailOp("child {} found, a value below {} expected", id, most);
    return leaf ? -1 - id : id;
  };
  size_t member = 0;
  for (size_t i = 0; i < count; ++i) {
    Node made;
    if (!(modes[i] >= 0 && modes[i] <= 6)) FailOp("node mode {} found, a value in [0, 6] expected", modes[i]);
    if (features[i] < 0 || features[i] > INT32_MAX) FailOp("feature {} found, at least 0 expected", features[i]);
    made.mode = static_cast<Mode>(static_cast<int>(modes[i]));
    made.value = splits[i];
    made.feature = features[i];
    made.missing_is_true = !missing.empty() && missing[i] != 0;
    made.on_true = child(on_true[i], true_leafs[i] != 0);
    made.on_false = child(on_false[i], false_leafs[i] != 0);
    if (made.mode == Mode::kMember) {
      made.first_member = static_cast<uint32_t>(ensemble.members_.size());
      // NaN ends the members of a node.
      for (; member < members.size() && !std::isnan(members[member]); ++member)
        ensemble.members_.push_back(members[member]);
      if (member == members.size())
        FailOp("membership_values that end early found, a NaN behind each node's members expected");
      ++member;
      made.member_count = static_cast<uint32_t>(ensemble.members_.size()) - made.first_member;
    }
    ensemble.features_ = std::max(ensemble.features_, features[i] + 1);
    ensemble.nodes_.push_back(made);
  }
  for (int64_t root : roots) {
    if (root < 0 || static_cast<size_t>(root) >= count)
      FailOp("tree root {} found, a value below {} expected", root, count);
    // A tree of a single leaf has a root with both branches on that leaf.
    const Node& made = ensemble.nodes_[static_cast<size_t>(root)];
    ensemble.roots_.push_back(made.on_true < 0 && made.on_true == made.on_false ? made.on_true : root);
  }
  ensemble.CheckShape();
  return ensemble;
}

size_t TreeEnsemble::CheckShape() const {
  size_t reached = 0;
  std::vector<bool> seen(nodes_.size());
  std::vector<int64_t> open;
  for (int64_t root : roots_) {
    // The list may name a tree twice, and trees may share parts. Within one tree, no node may repeat.
    std::vector<size_t> visited;
    open.push_back(root);
    while (!open.empty()) {
      const int64_t at = open.back();
      open.pop_back();
      if (at < 0) continue;
      const auto index = static_cast<size_t>(at);
      if (seen[index]) FailOp("a node that is reached twice found, trees expected");
      seen[index] = true;
      visited.push_back(index);
      open.push_back(nodes_[index].on_true);
      open.push_back(nodes_[index].on_false);
    }
    for (size_t index : visited) seen[index] = false;
    reached += visited.size();
  }
  return reached;
}

bool TreeEnsemble::Holds(const Node& node, double x) const {
  if (node.missing_is_true && std::isnan(x)) return true;
  switch (node.mode) {
    case Mode::kLeq: return x <= node.value;
    case Mode::kLt: return x < node.value;
    case Mode::kGte: return x >= node.value;
    case Mode::kGt: return x > node.value;
    case Mode::kEq: return x == node.value;
    case Mode::kNeq: return x != node.value;
    case Mode::kMember: {
      const double* first = members_.data() + node.first_member;
      return std::find(first, first + node.member_count, x) != first + node.member_count;
    }
  }
  return false;
}

void TreeEnsemble::Evaluate(const double* row, std::span<Score> scores) const {
  for (int64_t at : roots_) {
    while (at >= 0) {
      const Node& node = nodes_[static_cast<size_t>(at)];
      at = Holds(node, row[node.feature]) ? node.on_true : node.on_false;
    }
    const Leaf& leaf = leaves_[static_cast<size_t>(-1 - at)];
    for (uint32_t i = leaf.first; i < leaf.first + leaf.count; ++i) {
      Score& score = scores[static_cast<size_t>(weights_[i].target)];
      const double value = weights_[i].value;
      if (!score.is_set)
        score.value = value;
      else if (aggregate_ == Aggregate::kMinimum)
        score.value = std::min(score.value, value);
      else if (aggregate_ == Aggregate::kMaximum)
        score.value = std::max(score.value, value);
      else
        score.value = single_ ? static_cast<double>(static_cast<float>(score.value) + static_cast<float>(value))
                              : score.value + value;
      score.is_set = true;
    }
  }
  if (aggregate_ == Aggregate::kAverage)
    for (Score& score : scores) score.value /= static_cast<double>(roots_.size());
}

}  // namespace epiphyte::cpu
