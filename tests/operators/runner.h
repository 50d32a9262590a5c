// Runner: puts a case into a model, runs it by the CPU plugin as an application would, and compares the outputs with
// the expected ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/runtime/environment.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

// The case of that number.
Case MakeCase(const OperatorCases& cases, Generator make, uint64_t number);
// Makes a case with some floats replaced by NaN, infinities, zeros of either sign or subnormal numbers, whatever their
// distribution.
Case MakeSpecialCase(const OperatorCases& cases, uint64_t number);

class Runner {
 public:
  // `environment`: contains the CPU plugin to be run.
  explicit Runner(std::unique_ptr<core::Environment> environment);
  ~Runner();

  // Returns "" or an error message. `random` chooses how much of the model's shapes and inputs is known before the
  // run.
  std::string Run(const Case& c, Random random);
  // Runs a case with unknown outputs. It must give some outputs, within limits of memory, or be refused by a message
  // of one line that names the node and its operator.
  std::string RunHostile(const Case& c, Random random);

 private:
  std::unique_ptr<core::Environment> environment_;
};

// "Add, opset 18, <axis=1>(float[2,3] constant = 1 2 3 …) -> …".
std::string Describe(const Case& c);
// One line that names the first place at which `found` is too far from the expected value; "" when there is none.
std::string Difference(const Case::Out& expected, const core::Value& found);

}  // namespace epiphyte::operators
