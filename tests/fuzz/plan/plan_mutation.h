// Changes to plans, each of one field or of a few related ones: types, dimensions, operands, attributes, indices,
// bytes. The result may be a valid plan, or a plan that must be refused.
#pragma once

#include <random>
#include <string>

#include "tests/fuzz/plan/plan_file.h"

namespace epiphyte::fuzz {

// Returns the bytes of the changed file. Its digests match.
std::string MutatePlan(PlanFile file, std::mt19937& random);

}  // namespace epiphyte::fuzz
