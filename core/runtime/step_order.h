// Step order: orders a plan's steps so that work is submitted to devices as early as possible. Devices then work at the
// same time as each other and as the host.
#pragma once

#include "core/runtime/plan_steps.h"

namespace epiphyte::core {

// Puts steps that are submitted first, then host steps that wait for no device, then those that wait. Within each group
// the order stays. `tables` must be complete except for the releases.
void SubmitEarly(PlanTables* tables);

}  // namespace epiphyte::core
