// Helpers for recognisers: find the producer of a value without trusting the graph, read constants in either spelling
// (attribute or input), and recognise squares and reductions.
//
//   const int32_t root = Maker(editor, value, "Sqrt");   // -1: another operator makes it
//   if (root >= 0) Look(editor.node(root).inputs[0]);
//
// A node has as many inputs as its author gave it, so each helper checks that an input exists before it reads it.
// Arithmetic counts only where it broadcasts as NumPy does. Arithmetic of opset 6 and before with an "axis" does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

bool IsFloatType(EpElementType type);  // float, double, float16, bfloat16

// True when node `n` is this operator of ai.onnx, has its first `inputs` inputs, and makes its first output.
bool IsNode(const ir::Editor& editor, int32_t n, std::string_view op_type, size_t inputs = 1);
// The node of this operator that makes `value` as its first output and has its first `inputs` inputs; else -1.
int32_t Maker(const ir::Editor& editor, int32_t value, std::string_view op_type, size_t inputs = 1);
// Add, Sub, Mul, Div or Pow with two operands that broadcast as in NumPy.
bool IsArithmetic(const ir::Editor& editor, int32_t n, std::string_view op_type);
int32_t ArithmeticMaker(const ir::Editor& editor, int32_t value, std::string_view op_type);

// The other operand of a node with two operands.
int32_t Other(const ir::Node& node, int32_t value);
// The source of `value` behind at most `steps` casts between float types.
int32_t WithoutCasts(const ir::Editor& editor, int32_t value, int steps = 1);

// A list of integers that is an attribute in some versions and an input in others. Empty when it is left out, nothing
// when it is not constant.
std::optional<std::vector<int64_t>> ListOf(const ir::Editor& editor, const ir::Node& node, std::string_view attribute,
                                           size_t input);
// True when the dimensions are known to be equal, or are equal with the same ones unknown.
bool SameDims(const ir::Editor& editor, int32_t a, int32_t b);

// Returns base if value = base², written as Pow(base, 2) or Mul(base, base); else -1.
int32_t BaseOfSquare(const ir::Editor& editor, int32_t value);
// Returns x if value = sqrt(x), written as Sqrt or Pow(x, 0.5); else -1.
int32_t BaseOfRoot(const ir::Editor& editor, int32_t value);
// Returns x if value = 1 / x, written as Reciprocal, Div(1, x) or Pow(x, -1); else -1.
int32_t BaseOfReciprocal(const ir::Editor& editor, int32_t value);
// The other operand if value = a + number; else -1.
int32_t WithoutAddend(const ir::Editor& editor, int32_t value, float* number);

// A reduction over known axes, which are sorted and not negative.
struct Reduction {
  int32_t of = -1;
  std::vector<int64_t> axes;
  bool keeps_dims = true;
  explicit operator bool() const { return of >= 0; }
};
// The reduction with this operator that makes a value. If the rank is not known, the axes can only be {-1}, the last.
Reduction ReductionOf(const ir::Editor& editor, int32_t value, std::string_view op_type);

// Reads a float constant with one number, or with one for each channel of a tensor [batch, channel, …] of `rank`
// dimensions.
std::optional<std::vector<double>> PerChannel(const ir::Editor& editor, int32_t value, size_t channels, size_t rank);

}  // namespace epiphyte::kit::fuse
