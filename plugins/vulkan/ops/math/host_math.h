// Element-wise operators on values that the host knows, for Operator::on_host. A function looks up the operation by the
// node's op_type.
//
//     table.Add({.op_type = "Add", …, .on_host = BinaryOnHost});
#pragma once

#include <vector>

#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

// All functions return nothing for an operator or attributes that they don't know; the device then computes the node.

// Unary operators with equal types: Abs, Neg, Sign, Floor, Ceil, Round, Sqrt, Reciprocal, Not, BitwiseNot, Relu.
std::vector<HostTensor> UnaryOnHost(const ir::Node& node, HostInputs inputs);
// Arithmetic, comparisons, logic and bits of two operands, with their legacy broadcasting.
std::vector<HostTensor> BinaryOnHost(const ir::Node& node, HostInputs inputs);
// Max, Min, Sum and Mean of any number of operands.
std::vector<HostTensor> VariadicOnHost(const ir::Node& node, HostInputs inputs);
std::vector<HostTensor> ClipOnHost(const ir::Node& node, HostInputs inputs);
std::vector<HostTensor> WhereOnHost(const ir::Node& node, HostInputs inputs);
// Cast and CastLike.
std::vector<HostTensor> CastOnHost(const ir::Node& node, HostInputs inputs);

}  // namespace epiphyte::vulkan
