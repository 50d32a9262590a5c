// Inline body: replaces a node by the nodes of a graph nested in it.
//
//   const std::vector<BodyResult> results = {{0}};  // of an If with one output
//   if (!CanTakePlace(if_node, branch, results)) return false;
//   TakePlace(if_node, branch, {}, results);        // if_node is gone
//
// Unchanged are values captured from enclosing graphs, nested graphs of the body, and the names of graph outputs. The
// body's values are named like those of a function's body (BodyPrefix); nodes keep their names.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Source of one output of the holder.
struct BodyResult {
  size_t output = 0;     // index among the outputs of the body
  bool stacked = false;  // adds a leading dimension of 1: the scan output of a single iteration
};

// False when a result can't replace the output: their types contradict each other, or an operator is needed that the
// opset doesn't have. `results` has one entry for each output of `holder`.
bool CanTakePlace(const Node& holder, const Graph& body, std::span<const BodyResult> results);

// Copies the nodes of `body`, a nested graph of `holder`, into the graph of `holder`, and removes `holder`. `arguments`
// has a value of that graph for each input of the body. Requires CanTakePlace.
void TakePlace(Node& holder, const Graph& body, std::span<ValueDef* const> arguments,
               std::span<const BodyResult> results);

// Gives `output`, which has no producer, the value of `source`. Uses of `output` move to `source`. A graph output keeps
// its name, so an Identity node produces it.
void LeadTo(Graph& graph, ValueDef* output, ValueDef* source);

}  // namespace epiphyte::core
