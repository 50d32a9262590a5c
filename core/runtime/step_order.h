// Step order: of the orders that a plan's steps can have, one that submits to devices as early as possible, so that
// they work at the same time, and while the host does.
#pragma once

#include "core/runtime/plan_steps.h"

namespace epiphyte::core {

// First what is submitted, then what the host can do without waiting for a device, and last what has to wait. Within
// each the order stays. `tables` is complete but for the releases.
void SubmitEarly(PlanTables* tables);

}  // namespace epiphyte::core
