// Folds shape arithmetic with a result that is known before the run.
#include <algorithm>

#include "core/transform/edit.h"
#include "core/transform/rules/basic_rule.h"
#include "core/transform/rules/rules.h"

namespace epiphyte::core {
namespace {

// The dimensions that a Shape node returns, -1 for unknown ones; nullopt when the rank is unknown.
std::optional<std::vector<int64_t>> KnownDimensions(const Node& shape) {
  const ValueDef* data = shape.input(0);
  const auto rank = Rank(data);
  if (!rank) return std::nullopt;
  const auto limit = static_cast<int64_t>(*rank);
  const auto bound = [&](std::string_view name, int64_t fallback) {
    int64_t index = shape.IntAttribute(name, fallback);
    if (index < 0) index += limit;
    return std::clamp<int64_t>(index, 0, limit);
  };
  std::vector<int64_t> dims;
  const int64_t end = bound("end", limit);
  for (int64_t i = bound("start", 0); i < end; ++i)
    dims.push_back((*data->type()->shape())[static_cast<size_t>(i)].value);
  return dims;
}

bool AllKnown(const std::vector<int64_t>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

bool ReplaceByIntegers(Graph& graph, Node& node, std::vector<int64_t> dims, const std::vector<int64_t>& values,
                       const TransformContext& context) {
  std::vector<ConstantPtr> result;
  result.push_back(Constant::Copy(DataType::kInt64, std::move(dims), values.data(), values.size() * sizeof(int64_t)));
  return ReplaceByConstants(graph, node, std::move(result), context);
}

// Folds Shape and Size of a tensor with known dimensions.
class FoldShape final : public BasicRule {
 public:
  FoldShape() : BasicRule("FoldShape", {"Shape", "Size"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    if (node.Is("Size")) {
      const auto dims = StaticShape(node.input(0));
      return dims && ReplaceByIntegers(graph, node, {}, {static_cast<int64_t>(ElementCount(*dims))}, context);
    }
    const auto dims = KnownDimensions(node);
    return dims && AllKnown(*dims) &&
           ReplaceByIntegers(graph, node, {static_cast<int64_t>(dims->size())}, *dims, context);
  }
};

// Folds Gather and Slice of a Shape when the dimensions that they select are known, even if others aren't.
class FoldPartOfShape final : public BasicRule {
 public:
  FoldPartOfShape() : BasicRule("FoldPartOfShape", {"Gather", "Slice"}) {}

  bool Apply(Graph& graph, Node& node, const TransformContext& context) override {
    const Node* shape = ProducedBy(node.input(0), "Shape");
    const auto dims = shape != nullptr ? KnownDimensions(*shape) : std::nullopt;
    if (!dims) return false;
    return node.Is("Gather") ? FoldGather(graph, node, *dims, context) : FoldSlice(graph, node, *dims, context);
  }

 private:
  static bool FoldGather(Graph& graph, Node& node, const std::vector<int64_t>& dims, const TransformContext& context) {
    const Constant* indices = ConstantInput(node, 1);
    const auto picked = Integers(indices);
    if (!picked || node.IntAttribute("axis", 0) != 0) return false;
    std::vector<int64_t> values;
    for (int64_t index : *picked) {
      if (index < 0) index += static_cast<int64_t>(dims.size());
      if (index < 0 || index >= static_cast<int64_t>(dims.size())) return false;
      values.push_back(dims[static_cast<size_t>(index)]);
    }
    return AllKnown(values) && ReplaceByIntegers(graph, node, indices->dims(), values, context);
  }

  static bool FoldSlice(Graph& graph, Node& node, const std::vector<int64_t>& dims, const TransformContext& context) {
    if (node.since_version() < 10) return false;
    const auto starts = Integers(ConstantInput(node, 1));
    const auto ends = Integers(ConstantInput(node, 2));
    if (!starts || !ends || starts->size() != 1 || ends->size() != 1) return false;
    if (node.input(4) != nullptr && UniformValue(ConstantInput(node, 4)) != 1.0) return false;
    const auto limit = static_cast<int64_t>(dims.size());
    const auto bound = [limit](int64_t index) {
      return std::clamp<int64_t>(index < 0 ? index + limit : index, 0, limit);
    };
    const int64_t begin = bound(starts->front());
    const int64_t end = std::max(begin, bound(ends->front()));
    const std::vector<int64_t> values(dims.begin() + begin, dims.begin() + end);
    return AllKnown(values) && ReplaceByIntegers(graph, node, {static_cast<int64_t>(values.size())}, values, context);
  }
};

}  // namespace

std::unique_ptr<RewriteRule> MakeFoldShape() { return std::make_unique<FoldShape>(); }
std::unique_ptr<RewriteRule> MakeFoldPartOfShape() { return std::make_unique<FoldPartOfShape>(); }

}  // namespace epiphyte::core
