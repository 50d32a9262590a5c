// Form: a small model of operators that providers fuse, and a check that fusion changes nothing.
//
//   for (const Form& form : AllForms())
//     EXPECT_EQ(FusionDifference(*environment, form, DataType::kFloat, {.providers = {"cpu"}}), "");
//
// NaN, infinities, zeros of both signs and subnormal numbers are put into one operand at a time. In the second model
// each value between the operators is a graph output, so that no provider can omit it. The last output of that model is
// the expected one. tests/operators compares each single operator with a reference for such numbers.
#pragma once

#include <string>
#include <vector>

#include "core/graph/type.h"
#include "core/runtime/environment.h"

namespace epiphyte::test::special_numbers {

struct Form {
  std::string name;
  // A graph of floats in ONNX's textual syntax. Inputs called x… are given in each run. Those called w… are
  // initializers of numbers in ±1, and the names in kNumbers (form.cpp) are initializers of that one number. The last
  // output of the last node is the model's output.
  std::string text;
  // Error bound of a finite result, relative to the largest finite one: the larger of `bound` and `epsilons` epsilons
  // of the result's type.
  double bound = 2e-5;
  int epsilons = 4;
  int64_t opset = 20;
};

// Returns every product and convolution with every activation, and one form or more for each recogniser of
// plugin_api/kit/epiphyte/kit/fuse.
std::vector<Form> AllForms();

struct Setting {
  std::vector<std::string> providers;
  std::string precision = {};  // option of the first provider; "" for its own choice
};

// Returns "", or the differences between the fused model and the one with all values as outputs: one line for each
// operand with special numbers.
std::string FusionDifference(core::Environment& environment, const Form& form, core::DataType type,
                             const Setting& setting);

}  // namespace epiphyte::test::special_numbers
