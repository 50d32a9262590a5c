#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

void Case::Output(Array array, Bound bound) {
  for (Number& value : array.values) value = Round(array.type, value);
  outputs.push_back({std::move(array), std::move(bound)});
}

}  // namespace epiphyte::operators
