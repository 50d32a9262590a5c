// GuardedRun: runs a plan as the provider would, on a host with guarded buffers. Inputs are generated. They have the
// types and shapes that the plan declares, and arbitrary ones if the plan leaves them open.
#pragma once

#include <random>

#include "plugins/cpu/exec/plan.h"

namespace epiphyte::fuzz {

// The host's threads, for building plans: the caller's alone.
kit::Threads OneThread();

// Runs the plan twice: memory is planned after the first time. Throws Error as the plan does, and when an input would
// be too large to be made.
void RunGuarded(const cpu::Plan& plan, std::mt19937& random);

}  // namespace epiphyte::fuzz
