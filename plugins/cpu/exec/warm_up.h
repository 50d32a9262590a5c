// WarmUp: does the one-time work of a plan's first run in advance: it makes the kernels' primitives for the plan's
// shapes, the memory plan and the frame's memory.
//
// The plan runs once on zero inputs. oneDNN primitives are created but not executed; other kernels run. A warm-up
// therefore costs less than a run, and its results are discarded. An input with an unknown first dimension gets a batch
// of one.
#pragma once

#include <functional>
#include <memory>

#include "epiphyte/ep_host.h"
#include "plugins/cpu/exec/frame.h"

namespace epiphyte::cpu {

// Returns a frame that is ready for a run, or null when the needs of a run can't be predicted:
// - a dimension of an input other than the first, or a shape or type within the plan, is unknown;
// - a value is not a tensor of numbers;
// - it would take too much memory, or a node fails on zeros;
// - the plan has no inputs, so a warm-up would cost as much as the run that it prepares.
//
// `host` outlives the frame. `is_cancelled` is called while kernels run, from any thread; it may be empty.
std::unique_ptr<Frame> WarmUp(const Plan& plan, const EpHostInfo& host, const std::function<bool()>& is_cancelled = {});

}  // namespace epiphyte::cpu
