// Fusions: rewrites of a PlanDef before its kernels are made. They rely on nothing but the graph, so the same graph
// always gives the same plan.
#pragma once

#include "plugins/cpu/exec/plan_def.h"

namespace epiphyte::cpu {

void Fuse(PlanDef& plan);

}  // namespace epiphyte::cpu
