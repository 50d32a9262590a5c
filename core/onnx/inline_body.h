// Inline body: the nodes of a nested graph in place of the node that holds it.
//
//   const std::vector<BodyResult> results = {{0}};  // of an If with one output
//   if (!CanTakePlace(if_node, branch, results)) return false;
//   TakePlace(if_node, branch, {}, results);        // if_node is gone
//
// What stays as it was: values captured from enclosing graphs, nested graphs of the body, and the names of graph
// outputs. Values of the body are called as those of a function's body are (BodyPrefix); nodes keep their names.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace epiphyte::core {

// What an output of the holder is.
struct BodyResult {
  size_t output = 0;     // of the body
  bool stacked = false;  // with a new first dimension of one: the scan output of a single iteration
};

// False where a result can't be the output: their types contradict each other, or it would take an operator that the
// opset doesn't have. `results`: one for each output of `holder`.
bool CanTakePlace(const Node& holder, const Graph& body, std::span<const BodyResult> results);

// Puts copies of the nodes of `body`, a nested graph of `holder`, into the graph of `holder`, with one of its values in
// `arguments` for each input of the body, and removes `holder`. Whether that can be was asked before.
void TakePlace(Node& holder, const Graph& body, std::span<ValueDef* const> arguments,
               std::span<const BodyResult> results);

// Lets `output`, which has no producer, have the value of `source`: the uses of it move there, or, because a graph
// output keeps its name, an Identity makes it.
void LeadTo(Graph& graph, ValueDef* output, ValueDef* source);

}  // namespace epiphyte::core
