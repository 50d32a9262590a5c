// Sizes for timing: each operator at three sizes that real networks have, in every type that the CPU plugin and ONNX
// Runtime both take. tests/bench/operators.sh runs them.
//
//     {"Relu Sigmoid Tanh", "float double", {"T[1,64,56,56]", "T[8,128,768]", "T[1,1000]"}},
//     {"Conv#3x3", "float", {"T[1,64,56,56] T![64,64,3,3] T![64]", …}, "T", "pads=[1,1,1,1]"},
//     {"QDQ/MatMul", "uint8 int8", {"T[128,768] T![768,768]", …}},
//
// A row stands for each of its operators in each of its types at each of its sizes:
// - operators: `[QDQ/][domain:]name[@opset][#label]`, separated by spaces. Labels distinguish rows of one operator.
//   QDQ:
//   a float operator between DequantizeLinear of each input and QuantizeLinear of its output.
// - types: the types that T stands for.
// - a size: the inputs, separated by spaces, then optionally "; " and attributes for this size only. An input is `-`
//   (omitted) or type[dims]; `!` makes it an initializer instead of a graph input: `T![64,64,3,3]`. `{low,high}`:
//   uniform numbers from `low` to below `high` (default: small numbers, or all of an 8-bit type); `=1,2,3`: these
//   numbers.
// - outputs: their types, separated by spaces.
// - attributes: name=value, separated by spaces. 1 is an integer, 1.5 a number, [1,2] integers, anything else a string.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace epiphyte::operators {

struct OperatorRow {
  std::string_view operators;
  std::string_view types;
  std::array<std::string_view, 3> sizes;
  std::string_view outputs = "T";
  std::string_view attributes = "";
};

// Returns the table's rows, part by part.
std::vector<const OperatorRow*> AllRows();
// The parts of the table; each has its own file.
std::span<const OperatorRow> ElementwiseRows();
std::span<const OperatorRow> LayoutRows();
std::span<const OperatorRow> MatrixRows();
std::span<const OperatorRow> MicrosoftRows();
std::span<const OperatorRow> QuantizedRows();
std::span<const OperatorRow> ReductionRows();
std::span<const OperatorRow> WindowRows();

}  // namespace epiphyte::operators
