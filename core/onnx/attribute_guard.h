// Attribute values that make no sense in any operator, refused before libonnx's inference computes with them: it
// divides by strides and block sizes, and indexes shapes with permutations, without looking.
#pragma once

namespace epiphyte::core {

class NodeInference;

// Throws INVALID_GRAPH naming the node and the attribute.
void CheckAttributeValues(const NodeInference& node);

}  // namespace epiphyte::core
