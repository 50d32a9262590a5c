// Reference results of nsdk.h's operators: on real numbers, in double, one element at a time.
//
//   std::string wrong = Compare(graph, op, 0, stored);      // empty: each element is at most one step off
#pragma once

#include <string>
#include <vector>

#include "test_graph.h"

namespace epiphyte::nsdk_conformance {

// Compares an output of an operator with the reference result. Returns the first difference, or "" if each element is
// at most one step off. `stored`: the bytes of each tensor of the graph, constants and results of operators.
std::string Compare(const TestGraph& graph, const TestOp& op, size_t output, const std::vector<Bytes>& stored);

}  // namespace epiphyte::nsdk_conformance
