// Runner: puts a case into a model, runs it by the CPU plugin as an application would, and holds the outputs against
// what is expected.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/runtime/environment.h"
#include "tests/cpu/random_operators/operator_case.h"

namespace epiphyte::test::random_operators {

// The case of that number.
Case MakeCase(const OperatorCases& cases, Generator make, uint64_t number);
// One whose floats are NaN, infinite, zeros of either sign or subnormal now and then, whatever they are drawn from.
Case MakeSpecialCase(const OperatorCases& cases, uint64_t number);

class Runner {
 public:
  // `environment`: whose CPU plugin is run.
  explicit Runner(std::unique_ptr<core::Environment> environment);
  ~Runner();

  // "" or what is wrong with it. How much of the model's shapes and inputs is known before the run is `random`'s
  // choice.
  std::string Run(const Case& c, Random random);
  // Of a case whose outputs aren't known: it gives some, within limits of memory, or it is refused, by a message of one
  // line that names the node and its operator.
  std::string RunHostile(const Case& c, Random random);

 private:
  std::unique_ptr<core::Environment> environment_;
};

// "Add, opset 18, <axis=1>(float[2,3] constant = 1 2 3 …) -> …".
std::string Describe(const Case& c);
// One line: where `found` is too far from what is expected; "" when nowhere.
std::string Difference(const Case::Out& expected, const core::Value& found);

}  // namespace epiphyte::test::random_operators
