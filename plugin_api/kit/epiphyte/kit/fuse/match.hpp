// What recognisers have in common: looking at a value's maker without trusting the graph, constants in either spelling
// (attribute or input), squares, reductions.
//
//   const int32_t root = Maker(editor, value, "Sqrt");   // -1: made otherwise
//   if (root >= 0) Look(editor.node(root).inputs[0]);
//
// A graph's nodes have the inputs that its author gave them: nothing here, and nothing built on it, reads one that
// isn't there. Arithmetic counts only where it broadcasts as NumPy does, which that of opset 6 and before with an
// "axis" doesn't.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

bool IsFloatType(EpElementType type);  // float, double, float16, bfloat16

// Whether node `n` is that operator (of ai.onnx), has its first `inputs` inputs, and makes its first output.
bool IsNode(const ir::Editor& editor, int32_t n, std::string_view op_type, size_t inputs = 1);
// The node of that operator whose first output `value` is, with its first `inputs` inputs; or -1.
int32_t Maker(const ir::Editor& editor, int32_t value, std::string_view op_type, size_t inputs = 1);
// Add, Sub, Mul, Div or Pow with two operands that broadcast as NumPy's.
bool IsArithmetic(const ir::Editor& editor, int32_t n, std::string_view op_type);
int32_t ArithmeticMaker(const ir::Editor& editor, int32_t value, std::string_view op_type);

// The other operand of a node with two.
int32_t Other(const ir::Node& node, int32_t value);
// `value` through casts between float types, at most `steps` of them.
int32_t WithoutCasts(const ir::Editor& editor, int32_t value, int steps = 1);

// A list of integers that is an attribute in some versions and an input in others: empty when it is left out, nullopt
// when it is no constant.
std::optional<std::vector<int64_t>> ListOf(const ir::Editor& editor, const ir::Node& node, std::string_view attribute,
                                           size_t input);
// The dimensions are known to be equal, or are unknown alike.
bool SameDims(const ir::Editor& editor, int32_t a, int32_t b);

// value = base², as Pow(base, 2) or Mul(base, base): base, or -1.
int32_t BaseOfSquare(const ir::Editor& editor, int32_t value);
// value = sqrt(x), as Sqrt or Pow(x, 0.5): x, or -1.
int32_t BaseOfRoot(const ir::Editor& editor, int32_t value);
// value = 1 / x, as Reciprocal, Div(1, x) or Pow(x, -1): x, or -1.
int32_t BaseOfReciprocal(const ir::Editor& editor, int32_t value);
// value = a + number: the other operand, or -1.
int32_t WithoutAddend(const ir::Editor& editor, int32_t value, float* number);

// A reduction over axes that are known, in order and not negative.
struct Reduction {
  int32_t of = -1;
  std::vector<int64_t> axes;
  bool keeps_dims = true;
  explicit operator bool() const { return of >= 0; }
};
// The reduction of that operator that a value is. Where the rank isn't known, the only axes are the last, as {-1}.
Reduction ReductionOf(const ir::Editor& editor, int32_t value, std::string_view op_type);

// One number, or one for each channel of a tensor [batch, channel, …] of `rank` dimensions, from a float constant.
std::optional<std::vector<double>> PerChannel(const ir::Editor& editor, int32_t value, size_t channels, size_t rank);

}  // namespace epiphyte::kit::fuse
