// Derivatives of a part of a graph, computed in double by a Gradient node and by central differences.
//
//   Differentiated("y = MatMul(a, b)").By("a", {2, 3}).By("b", {3, 4}).Check();
//
// The differentiated function is y * y, so that the elements of y have different weights. `Check` checks the first
// derivative, and the second by a Gradient of the first Gradient's outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/framework/test_session.h"

namespace epiphyte::test {

struct DifferentiateAs {
  int64_t opset = 17;
  bool open = false;  // true: dimensions are different symbols
  int order = 2;
};

class Differentiated {
 public:
  // `nodes` compute y from doubles. They are nodes of ai.onnx in ONNX's textual syntax.
  explicit Differentiated(std::string nodes) : nodes_(std::move(nodes)) {}
  // Adds an input to differentiate by. Its numbers are between `low` and `high` and all different.
  Differentiated& By(const std::string& x, std::vector<int64_t> dims, double low = -2, double high = 2);
  // Adds an input that the function is not differentiated by; `declared` is its type in the model, such as "int64[2]".
  Differentiated& Given(const std::string& name, const std::string& declared, core::ValuePtr value);
  void Check(const DifferentiateAs& how = {}) const;
  // Runs Check with fixed and open dimensions, in each opset.
  void CheckIn(std::vector<int64_t> opsets = {13, 17, 18, 21}, int order = 2) const;
  // Returns status and message of the error when the session is made.
  std::string Failure(const DifferentiateAs& how = {}) const;

 private:
  struct Input {
    std::string name, declared;
    std::vector<int64_t> dims;
    core::ValuePtr value;
    bool by = true;
  };
  std::string Model(const DifferentiateAs& how, int order) const;
  std::vector<core::ValuePtr> Values() const;
  std::vector<std::string> Xs() const;

  std::string nodes_;
  std::vector<Input> inputs_;
};

core::ValuePtr Doubles(std::vector<int64_t> dims, const std::vector<double>& values);
std::vector<double> DoublesOf(const core::Value& value);

}  // namespace epiphyte::test
