// Einsum: operands are contracted two at a time. A contraction arranges both operands for a batch of GEMMs, unless
// their layout fits already, and multiplies them.
#include <algorithm>
#include <map>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/einsum.hpp"
#include "plugins/vulkan/ops/product/product.h"

namespace epiphyte::vulkan {
namespace {

using Labels = kit::EinsumLabels;

bool Contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels Join(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A tensor with a label for each dimension.
struct Operand {
  int32_t tensor = -1;
  // Stride of each label. It is 0 for a dimension of 1, which is broadcast. A label that occurs twice has the stride of
  // the diagonal.
  std::map<int, int64_t> strides;
};

class Contraction {
 public:
  Contraction(Recording& r, const kit::EinsumShape& shape) : r_(r), shape_(shape), type_(r.InputType(0)) {}

  Operand Load(size_t input) {
    Operand operand;
    operand.tensor = r_.InputTensor(input);
    const Dims dims = r_.InputDims(input);
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      operand.strides[shape_.operands[input][i]] += dims[i] == 1 ? 0 : stride;
      stride *= dims[i];
    }
    return operand;
  }

  // Writes the operand to `to`, in the order of `labels` and summed over its other labels.
  void Arrange(const Operand& operand, const Labels& labels, int32_t to) {
    Labels summed;
    for (const auto& [label, stride] : operand.strides)
      if (!Contains(labels, label)) summed.push_back(label);
    const int64_t count = Count(labels), addends = Count(summed);
    if (count == 0) return;
    Dispatch dispatch;
    dispatch.shader = Recording::ShaderFor("einsum_arrange", type_);
    dispatch.parameters = {Word(count), Word(static_cast<int64_t>(labels.size())),
                           Word(static_cast<int64_t>(summed.size())), Word(addends)};
    for (const Labels& axes : {labels, summed}) {
      for (const int label : axes) {
        const auto found = operand.strides.find(label);
        dispatch.parameters.push_back(Word(shape_.sizes.at(label)));
        dispatch.parameters.push_back(Word(found == operand.strides.end() ? 0 : found->second));
      }
    }
    dispatch.bindings = {Recording::ReadTensor(operand.tensor), Recording::Write(to)};
    dispatch.groups = r_.GroupsFor(count);
    dispatch.work = static_cast<uint64_t>(kit::CheckedMultiply(count, std::max<int64_t>(addends, 1)));
    dispatch.passes = static_cast<uint64_t>(addends) * (1 + summed.size());
    r_.Add(std::move(dispatch));
  }

  // Contracts a and b, keeping the labels in `kept`. The result is written to `to` if its labels come out in the order
  // `order`.
  Operand Multiply(const Operand& a, const Operand& b, const Labels& kept, const Labels& order, int32_t to) {
    Labels batch, rows, columns, inner;
    for (const auto& [label, stride] : a.strides) {
      const bool shared = b.strides.contains(label);
      const bool keep = Contains(kept, label);
      if (shared) (keep ? batch : inner).push_back(label);
      if (!shared && keep) rows.push_back(label);
    }
    for (const auto& [label, stride] : b.strides)
      if (!a.strides.contains(label) && Contains(kept, label)) columns.push_back(label);
    // The result's axes are in the wanted order as far as possible.
    for (Labels* labels : {&batch, &rows, &columns}) Sort(order, labels);

    Product product;
    product.m = Count(rows);
    product.n = Count(columns);
    product.k = Count(inner);
    product.batches = Count(batch);
    product.a = {Arranged(a, Join({batch, rows, inner})), product.k, 1, product.m * product.k};
    const int64_t b_size = product.k * product.n;
    if (IsArranged(b, Join({batch, columns, inner}))) {
      product.b = {b.tensor, 1, product.k, b_size};
    } else {
      product.b = {Arranged(b, Join({batch, inner, columns})), product.n, 1, b_size};
    }
    const Labels made = Join({batch, rows, columns});
    Operand result;
    result.tensor = to >= 0 && made == order ? to : r_.Scratch(type_, {product.batches, product.m, product.n});
    product.y = {result.tensor, product.n, 1, product.m * product.n};
    RecordProduct(r_, product);
    int64_t stride = 1;
    for (size_t i = made.size(); i-- > 0;) {
      result.strides[made[i]] = stride;
      stride *= shape_.sizes.at(made[i]);
    }
    return result;
  }

 private:
  int64_t Count(const Labels& labels) const {
    int64_t count = 1;
    for (const int label : labels) count = kit::CheckedMultiply(count, shape_.sizes.at(label));
    return count;
  }

  static void Sort(const Labels& order, Labels* labels) {
    std::stable_sort(labels->begin(), labels->end(), [&](int x, int y) {
      return std::find(order.begin(), order.end(), x) < std::find(order.begin(), order.end(), y);
    });
  }

  // Whether the operand has exactly these labels, and its elements lie in their order.
  bool IsArranged(const Operand& operand, const Labels& labels) const {
    if (operand.strides.size() != labels.size()) return false;
    int64_t stride = 1;
    for (size_t i = labels.size(); i-- > 0;) {
      const int64_t size = shape_.sizes.at(labels[i]);
      if (size != 1 && operand.strides.at(labels[i]) != stride) return false;
      stride *= size;
    }
    return true;
  }

  int32_t Arranged(const Operand& operand, const Labels& labels) {
    if (IsArranged(operand, labels)) return operand.tensor;
    const int32_t arranged = r_.Scratch(type_, {Count(labels)});
    Arrange(operand, labels, arranged);
    return arranged;
  }

  Recording& r_;
  const kit::EinsumShape& shape_;
  const EpElementType type_;
};

void RecordEinsum(Recording& r) {
  std::vector<const Dims*> dims;
  for (size_t i = 0; i < r.input_count(); ++i) dims.push_back(&r.InputDims(i));
  const kit::EinsumShape shape(kit::EinsumEquation::Parse(r.node().String("equation")), dims);
  const int32_t y = r.Output(0, r.InputType(0), shape.y);
  Contraction contraction(r, shape);
  Operand result = contraction.Load(0);
  for (size_t i = 1; i < r.input_count(); ++i) {
    Labels kept = shape.output;
    for (size_t j = i + 1; j < shape.operands.size(); ++j)
      kept.insert(kept.end(), shape.operands[j].begin(), shape.operands[j].end());
    const bool last = i + 1 == r.input_count();
    result = contraction.Multiply(result, contraction.Load(i), kept, shape.output, last ? y : -1);
  }
  if (result.tensor != y) contraction.Arrange(result, shape.output, y);
}

std::string CheckEinsum(const NodeCheck& check) {
  try {
    kit::EinsumEquation::Parse(check.node().String("equation"));
  } catch (const kit::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

void Register_einsum(OperatorTable& table) {
  table.Add({.op_type = "Einsum",
             .first_version = 12,
             .check = CheckEinsum,
             .record = RecordEinsum,
             .bindings = kProductBindings});
}

}  // namespace epiphyte::vulkan
