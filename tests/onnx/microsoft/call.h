// Call: one operator of com.microsoft as a model of its own, run on the CPU plugin.
//
//   Array x = Random({2, 3});
//   Arrays y = Call("QuickGelu").In(x).Float("alpha", 1.5f).Run({.opset = 13});
//   ExpectNear(y[0], Each(x, [](double v) { … }), 1e-5);
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test::microsoft {

using core::DataType;
using Dims = std::vector<int64_t>;

// A tensor for computations in tests. Its numbers are doubles that its type can hold.
struct Array {
  Dims dims;
  std::vector<double> numbers;
  DataType type = DataType::kFloat;

  int64_t count() const;
  // `index` has one entry for each dimension. An index into a dimension of 1 counts as 0 (broadcast).
  double At(const Dims& index) const;
  double& Ref(const Dims& index);
};
using Arrays = std::vector<Array>;

// Returns uniformly distributed numbers, the same for the same seed.
Array Random(Dims dims, double low = -1, double high = 1, DataType type = DataType::kFloat, uint32_t seed = 1);
// Returns whole numbers.
Array RandomIntegers(Dims dims, int64_t low, int64_t high, DataType type, uint32_t seed = 1);
Array Of(Dims dims, std::vector<double> numbers, DataType type = DataType::kFloat);
Array Scalar(double number, DataType type = DataType::kFloat);
Array Each(Array x, const std::function<double(double)>& function);
// Returns a tensor of these dims; `function` computes each element from its index.
Array Make(Dims dims, const std::function<double(const Dims&)>& function, DataType type = DataType::kFloat);
// Returns the tensor with its numbers converted to `type`.
Array As(Array x, DataType type);

struct RunAs {
  int64_t opset = 17;
  bool open = false;     // true: the inputs' dimensions are symbols
  bool context = false;  // true: the model is compiled to a context, which is loaded and run
  std::string provider = "cpu";
};

class Call {
 public:
  explicit Call(std::string op_type, std::string domain = "com.microsoft");
  Call& In(Array x);       // adds an input that is fed at run time
  Call& Weights(Array x);  // adds an initializer
  Call& Absent();
  Call& Int(const std::string& name, int64_t value);
  Call& Float(const std::string& name, float value);
  Call& String(const std::string& name, const std::string& value);
  Call& Ints(const std::string& name, std::vector<int64_t> values);
  Call& FloatList(const std::string& name, std::vector<float> values);
  // `wanted[i]` says whether output i exists.
  Call& Outputs(std::vector<bool> wanted);
  // Leaves the rank of the last input undeclared.
  Call& Unshaped();

  std::string Model(const RunAs& how = {}) const;
  // Returns one array for each output that exists.
  Arrays Run(const RunAs& how = {}) const;
  // Returns a message such as "INVALID_GRAPH: …", or "OK" if the model runs.
  std::string Failure(const RunAs& how = {}) const;
  // Returns the operators of the model after inlining, when no provider keeps a function.
  std::vector<std::string> Body(const RunAs& how = {}) const;

 private:
  struct Input {
    std::optional<Array> array;
    bool constant = false;
    bool shaped = true;
  };
  std::string op_type_, domain_;
  std::vector<Input> inputs_;
  std::vector<bool> outputs_ = {true};
  std::vector<core::Attribute> attributes_;
};

core::ValuePtr ToValue(const Array& x);
Array FromValue(const core::Value& value);

// Shape and type must be equal, and numbers within `tolerance`.
void ExpectNear(const Array& found, const Array& expected, double tolerance);

// Opsets in which the versions of ai.onnx operators differ.
inline constexpr int64_t kOpsets[] = {11, 13, 17, 18, 21, 23};

}  // namespace epiphyte::test::microsoft
