// Product: a tree of Mul and Div nodes seen as one number times some values, whatever the order in which an exporter
// multiplied.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

struct Product {
  double scale = 1.0;
  std::vector<const ValueDef*> factors;  // with repetitions; Pow(x, 3) gives x three times

  bool IsScaleNear(double expected) const;
};

// What `value` is a product of. Goes through nodes whose results have no other use; `value` itself may have others.
// Only constants with one element count into the scale.
Product ProductOf(const ValueDef* value);
// The other operand of an Add of the constant 1 that makes `value`; null when it isn't made like that.
const ValueDef* OneLess(const ValueDef* value);
bool IsNear(double found, double expected);

}  // namespace epiphyte::core
