#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {

std::vector<const OperatorRow*> AllRows() {
  std::vector<const OperatorRow*> all;
  for (const std::span<const OperatorRow> rows :
       {MatrixRows(), WindowRows(), QuantizedRows(), MicrosoftRows(), ElementwiseRows(), ReductionRows(), LayoutRows()})
    for (const OperatorRow& row : rows) all.push_back(&row);
  return all;
}

}  // namespace epiphyte::operators
