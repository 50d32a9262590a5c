#include "core/transform/rules/product.h"

#include <cmath>
#include <optional>

#include "core/transform/edit.h"

namespace epiphyte::core {
namespace {

// No pattern has more factors than this.
constexpr size_t kMostFactors = 8;

std::optional<double> Scalar(const ValueDef* value) {
  const Constant* constant = value == nullptr ? nullptr : value->ResolvedConstant().get();
  return constant != nullptr && constant->element_count() == 1 ? UniformValue(constant) : std::nullopt;
}

}  // namespace

// Exporters write such numbers with float's precision, or half's.
bool IsNear(double found, double expected) { return std::abs(found - expected) <= 1e-3 * std::abs(expected); }
bool Product::IsScaleNear(double expected) const { return IsNear(scale, expected); }

Product ProductOf(const ValueDef* value) {
  Product product;
  std::vector<const ValueDef*> pending = {value};
  while (!pending.empty() && product.factors.size() + pending.size() <= kMostFactors) {
    const ValueDef* factor = pending.back();
    pending.pop_back();
    if (const auto scalar = Scalar(factor)) {
      product.scale *= *scalar;
      continue;
    }
    const bool is_inner = factor == value || HasSingleUse(factor);
    const Node* node = is_inner && factor != nullptr ? factor->producer() : nullptr;
    if (node != nullptr && node->Is("Mul")) {
      pending.push_back(node->input(1));
      pending.push_back(node->input(0));
    } else if (node != nullptr && node->Is("Div") && Scalar(node->input(1)).value_or(0.0) != 0.0) {
      product.scale /= *Scalar(node->input(1));
      pending.push_back(node->input(0));
    } else if (node != nullptr && node->Is("Pow") && Scalar(node->input(1)) == 3.0) {
      product.factors.insert(product.factors.end(), 3, node->input(0));
    } else {
      product.factors.push_back(factor);
    }
  }
  product.factors.insert(product.factors.end(), pending.begin(), pending.end());
  return product;
}

const ValueDef* OneLess(const ValueDef* value) {
  const Node* add = ProducedBy(value, "Add");
  if (add == nullptr) return nullptr;
  for (const size_t index : {size_t{0}, size_t{1}}) {
    if (Scalar(add->input(index)) == 1.0) return add->input(1 - index);
  }
  return nullptr;
}

}  // namespace epiphyte::core
