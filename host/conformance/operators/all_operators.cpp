#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

std::vector<OperatorCases> AllOperators() {
  std::vector<OperatorCases> all;
  for (std::vector<OperatorCases> (*family)() :
       {UnaryOperators, BinaryOperators, ConversionOperators, ReductionOperators, ProductOperators, WindowOperators,
        NormalizationOperators, ShapeOperators, IndexOperators, QuantizedOperators, ImageOperators, RecurrentOperators,
        AttentionOperators, SignalOperators, RegionOperators}) {
    for (const OperatorCases& op : family()) all.push_back(op);
  }
  return all;
}

}  // namespace epiphyte::operators
