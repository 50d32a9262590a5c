// Rejects attribute values that are invalid in every operator before libonnx's inference uses them. libonnx divides by
// strides and block sizes, and indexes shapes with permutations, without a check.
#pragma once

namespace epiphyte::core {

class NodeInference;

// Throws INVALID_GRAPH naming the node and the attribute.
void CheckAttributeValues(const NodeInference& node);

}  // namespace epiphyte::core
