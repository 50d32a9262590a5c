#include "epiphyte/kit/shape/scatter.hpp"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::kit {

ScatterReduction ScatterReductionOf(std::string_view name) {
  if (name == "none") return ScatterReduction::kNone;
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMultiply;
  if (name == "max") return ScatterReduction::kMaximum;
  if (name == "min") return ScatterReduction::kMinimum;
  FailArgument("reduction '", name, "' found, none, add, mul, max or min expected");
}

void CheckScatterElements(const Dims& data, const Dims& indices, const Dims& updates, size_t axis) {
  bool fits = indices.size() == data.size() && updates == indices;
  for (size_t i = 0; fits && i < data.size(); ++i) fits = i == axis || indices[i] <= data[i];
  if (!fits)
    FailArgument("data of shape ", ShapeText(data), ", indices of shape ", ShapeText(indices), " and updates of shape ",
                 ShapeText(updates), " found, the last two equal and inside the first apart from axis ", axis,
                 " expected");
}

ScatterNdShape::ScatterNdShape(const Dims& data, const Dims& indices, const Dims& updates) {
  if (indices.empty()) FailArgument("indices without dimensions found, at least one expected");
  if (indices.back() < 0 || indices.back() > static_cast<int64_t>(data.size()))
    FailArgument("indices of shape ", ShapeText(indices), " found, tuples of at most ", data.size(), " expected");
  depth = static_cast<size_t>(indices.back());
  Dims expected;
  for (size_t i = 0; i + 1 < indices.size(); ++i) expected.push_back(indices[i]);
  for (size_t i = depth; i < data.size(); ++i) expected.push_back(data[i]);
  if (!(updates == expected))
    FailArgument("updates of shape ", ShapeText(updates), " found, ", ShapeText(expected), " expected");
  tuples = CheckedCount({indices.data(), indices.size() - 1});
  run = CheckedCount({data.data() + depth, data.size() - depth});
}

}  // namespace epiphyte::kit
