// Edit: helpers that rewrites share: queries about constants and shapes, and removal of nodes that keeps the names of
// graph outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/transform/transform.h"

namespace epiphyte::core {

// --- queries

// The constant at input `index`, also a constant of an enclosing graph; null when the input isn't constant.
const Constant* ConstantInput(const Node& node, size_t index);
// Elements of an int64 or int32 tensor; nullopt for other types and for more than `most` elements.
std::optional<std::vector<int64_t>> Integers(const Constant* constant, size_t most = 4096);
// The value that all elements of a tensor have. The tensor is float16, bfloat16, float, double or an integer type, and
// has at most 4096 elements. nullopt otherwise.
std::optional<double> UniformValue(const Constant* constant);
// All dimensions; nullopt when one of them is unknown.
std::optional<std::vector<int64_t>> StaticShape(const ValueDef* value);
DataType ElementType(const ValueDef* value);  // kUndefined when unknown
bool IsFloatingPoint(DataType type);
bool SameStaticShape(const ValueDef* a, const ValueDef* b);
std::optional<size_t> Rank(const ValueDef* value);

// True when no node reads the value and it is no graph output. A null value counts as unused.
bool IsUnused(const ValueDef* value);
// The ai.onnx node of type `op_type` that produces the value, or null.
Node* ProducedBy(const ValueDef* value, std::string_view op_type);
bool HasOnlyAttributes(const Node& node, std::initializer_list<std::string_view> names);
// `axes` of Squeeze, Unsqueeze and similar operators: an attribute in early opsets, an input in later ones. nullopt:
// not constant. An empty vector: absent.
std::optional<std::vector<int64_t>> Axes(const Node& node, size_t input_index);

// --- edits

// Removes `node` and makes uses of its output 0 read `source`, which has the same value. A graph output keeps its name:
// the producer of `source` then produces it directly. Returns false and changes nothing in two cases: other outputs of
// `node` are used, or the output is a graph output and `source` is an input, a constant, an outer-scope value or
// another graph output.
bool BypassNode(Graph& graph, Node& node, ValueDef* source, const TransformContext& context);
// Replaces `node` by constants, one for each output. Returns false and changes nothing when an output is a graph
// output, because graph outputs need a producing node.
bool ReplaceByConstants(Graph& graph, Node& node, std::vector<ConstantPtr> constants, const TransformContext& context);
// Makes `node` read the input of `first`, which produces input 0 of `node`. `node` then does the work of both.
void TakeOver(Graph& graph, Node& node, const Node& first, const TransformContext& context);
ConstantPtr Int64Vector(const std::vector<int64_t>& values);

}  // namespace epiphyte::core
