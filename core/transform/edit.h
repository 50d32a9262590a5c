// Edit: what rewrites have in common: asking about constants and shapes, and taking nodes out without losing the names
// of graph outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/transform/transform.h"

namespace epiphyte::core {

// --- questions

// The constant behind input `index`, also one of an enclosing graph; null when it isn't constant.
const Constant* ConstantInput(const Node& node, size_t index);
// Elements of an int64 or int32 tensor; nullopt for other types and for more than `most` elements.
std::optional<std::vector<int64_t>> Integers(const Constant* constant, size_t most = 4096);
// The value of a tensor of float16, bfloat16, float, double or an integer type whose elements (at most 4096) are all
// the same.
std::optional<double> UniformValue(const Constant* constant);
// All dimensions, when they are known.
std::optional<std::vector<int64_t>> StaticShape(const ValueDef* value);
DataType ElementType(const ValueDef* value);  // kUndefined when unknown
bool IsFloatingPoint(DataType type);
bool SameStaticShape(const ValueDef* a, const ValueDef* b);
std::optional<size_t> Rank(const ValueDef* value);

// Nothing reads it and it is no graph output; null counts as unused.
bool IsUnused(const ValueDef* value);
// The ai.onnx node of that type that makes the value, or null.
Node* ProducedBy(const ValueDef* value, std::string_view op_type);
bool HasOnlyAttributes(const Node& node, std::initializer_list<std::string_view> names);
// `axes` of Squeeze, Unsqueeze and the like: an attribute in early opsets, an input later. nullopt: not constant. Empty
// when absent.
std::optional<std::vector<int64_t>> Axes(const Node& node, size_t input_index);

// --- edits

// Removes `node`, whose output 0 has the same value as `source`, and leads uses of the output to `source`. A graph
// output keeps its name: then the producer of `source` makes it directly. Returns false, with nothing changed, where
// that can't be (source is an input, a constant, an outer-scope value or another graph output), or when other outputs
// are used.
bool BypassNode(Graph& graph, Node& node, ValueDef* source, const TransformContext& context);
// Replaces `node` by constants, one for each output. Returns false, with nothing changed, when an output is a graph
// output: those are made by nodes.
bool ReplaceByConstants(Graph& graph, Node& node, std::vector<ConstantPtr> constants, const TransformContext& context);
// Lets `node` read what `first`, the maker of its input 0, reads: it does the work of both.
void TakeOver(Graph& graph, Node& node, const Node& first, const TransformContext& context);
ConstantPtr Int64Vector(const std::vector<int64_t>& values);

}  // namespace epiphyte::core
