// WarmUp: what the first run of a plan would make, made before it: kernels' primitives for the plan's shapes, the
// memory plan and the frame's memory.
//
// The plan is gone through once with inputs of zeros. oneDNN's primitives are made and don't run, other kernels do, so
// that it costs less than a run. Nothing of what it computes is seen by anybody. An input of which no more than the
// first dimension is open is taken for a batch of one.
#pragma once

#include <functional>
#include <memory>

#include "epiphyte/ep_host.h"
#include "plugins/cpu/exec/frame.h"

namespace epiphyte::cpu {

// A frame that is ready for a run; null where it can't be known what one will need: more of an input's shape is open,
// or a shape or a type within the plan, values are no tensors of numbers, it would take much memory, a node fails on
// zeros, or the plan has no inputs: then nobody waits for more than one run. `host` outlives the frame. `is_cancelled`
// is asked while kernels run, from any thread; may be empty.
std::unique_ptr<Frame> WarmUp(const Plan& plan, const EpHostInfo& host, const std::function<bool()>& is_cancelled = {});

}  // namespace epiphyte::cpu
