// Changes to plans, each of one field or of a few that belong together: types, dimensions, operands, attributes,
// indices, bytes. What comes out may be a plan, a plan that must be refused, or anything between.
#pragma once

#include <random>
#include <string>

#include "tests/fuzz/plan/plan_file.h"

namespace epiphyte::fuzz {

// The changed file's bytes; digests fit.
std::string MutatePlan(PlanFile file, std::mt19937& random);

}  // namespace epiphyte::fuzz
