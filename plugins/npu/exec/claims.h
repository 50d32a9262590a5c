// Claims: which nodes of the host's graph the NPU takes, asked of its SDK operator by operator, and why not the others.
//
//   ClaimNodes(host(), *context, graph, claims);
//
// Every node gets a reason that is declined; one of floats is told what would bring it here.
#pragma once

#include "epiphyte/kit/abi/graph_view.hpp"
#include "epiphyte/kit/plugin/claims.hpp"
#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

void ClaimNodes(const EpHostInfo& host, const SdkContext& context, const kit::GraphView& graph, kit::Claims& claims);

// Which units are looked for, in claims as in compiling; what the SDK can't do of them is said by WhyNot.
qdq::Options UnitOptions();

// Why the NPU can't compute a work; "" when it can.
std::string WhyNot(const SdkContext& context, const ir::Editor& editor, const Meanings& meanings,
                   const QuantizedOp& work);

}  // namespace epiphyte::npu
