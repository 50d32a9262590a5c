// Claims: the nodes of the host's graph that the NPU takes. The SDK is asked operator by operator.
//
//   ClaimNodes(host(), *context, graph, claims);
//
// Every declined node gets a reason. The reason for a float node says what would bring it to the NPU.
#pragma once

#include "epiphyte/kit/abi/graph_view.hpp"
#include "epiphyte/kit/plugin/claims.hpp"
#include "plugins/npu/client/context.h"
#include "plugins/npu/graph/quantized_op.h"

namespace epiphyte::npu {

void ClaimNodes(const EpHostInfo& host, const SdkContext& context, const kit::GraphView& graph, kit::Claims& claims);

// QDQ units to look for, the same for claims and compilation. WhyNot reports units that the SDK doesn't support.
qdq::Options UnitOptions();

// Reason why the NPU can't compute a quantized op; "" if it can.
std::string WhyNot(const SdkContext& context, const ir::Editor& editor, const Meanings& meanings,
                   const QuantizedOp& work);

}  // namespace epiphyte::npu
