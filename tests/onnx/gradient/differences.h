// Derivatives of a piece of graph, by a Gradient node and by central differences, in double.
//
//   Differentiated("y = MatMul(a, b)").By("a", {2, 3}).By("b", {3, 4}).Check();
//
// The differentiated function is y * y, so that no two elements of y have the same weight. `Check` checks the first
// derivative and, by a Gradient of the first one's outputs, the second.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/framework/test_session.h"

namespace epiphyte::test {

struct DifferentiateAs {
  int64_t opset = 17;
  bool open = false;  // dimensions are symbols, all different
  int order = 2;
};

class Differentiated {
 public:
  // Nodes of ai.onnx in ONNX's textual syntax, which make y, of doubles.
  explicit Differentiated(std::string nodes) : nodes_(std::move(nodes)) {}
  // Inputs, with numbers between `low` and `high`, none of them twice in all.
  Differentiated& By(const std::string& x, std::vector<int64_t> dims, double low = -2, double high = 2);
  // An input that is not differentiated by; `declared`: its type in the model, as "int64[2]".
  Differentiated& Given(const std::string& name, const std::string& declared, core::ValuePtr value);
  void Check(const DifferentiateAs& how = {}) const;
  // Runs Check with fixed and open dimensions, in each opset.
  void CheckIn(std::vector<int64_t> opsets = {13, 17, 18, 21}, int order = 2) const;
  // Status and message that making the session fails with.
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
