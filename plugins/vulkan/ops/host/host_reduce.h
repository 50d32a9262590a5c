// Reductions of tensors that the host knows, such as the product of dimensions that an exporter writes.
//
//     table.Add({.op_type = "ReduceProd", …, .on_host = ReduceOnHost});
#pragma once

#include <vector>

#include "plugins/vulkan/ops/host/host_compute.h"
#include "plugins/vulkan/ops/operator.h"

namespace epiphyte::vulkan {

// ReduceSum, ReduceProd, ReduceMax and ReduceMin of any version: axes by attribute or input 1, keepdims,
// noop_with_empty_axes. Other operators throw NOT_IMPLEMENTED.
std::vector<HostTensor> ReduceOnHost(const ir::Node& node, HostInputs inputs);

}  // namespace epiphyte::vulkan
