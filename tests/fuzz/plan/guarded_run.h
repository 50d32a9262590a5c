// GuardedRun: runs a plan as the provider would, on a host with guarded buffers. Inputs are generated. They have the
// types and shapes that the plan declares, and random ones where the plan leaves them open.
#pragma once

#include <random>

#include "plugins/cpu/exec/plan.h"

namespace epiphyte::fuzz {

// Returns threads of a host that only has the caller's thread, for building plans.
kit::Threads OneThread();

// Runs the plan twice, because memory is planned after the first run. Throws Error as the plan does, and when an input
// would be too large.
void RunGuarded(const cpu::Plan& plan, std::mt19937& random);

}  // namespace epiphyte::fuzz
