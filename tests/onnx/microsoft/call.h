// One operator of com.microsoft as a model of its own, run on the CPU plugin.
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

// A tensor as tests compute with it: numbers in double, that its type can hold.
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

// Uniformly distributed numbers, the same for the same seed.
Array Random(Dims dims, double low = -1, double high = 1, DataType type = DataType::kFloat, uint32_t seed = 1);
// Whole numbers.
Array RandomIntegers(Dims dims, int64_t low, int64_t high, DataType type, uint32_t seed = 1);
Array Of(Dims dims, std::vector<double> numbers, DataType type = DataType::kFloat);
Array Scalar(double number, DataType type = DataType::kFloat);
Array Each(Array x, const std::function<double(double)>& function);
// `function` of each index of such a tensor.
Array Make(Dims dims, const std::function<double(const Dims&)>& function, DataType type = DataType::kFloat);
// The numbers converted to `type`.
Array As(Array x, DataType type);

struct RunAs {
  int64_t opset = 17;
  bool open = false;     // the inputs' dimensions are symbols
  bool context = false;  // compiled to a context, which is loaded and run
  std::string provider = "cpu";
};

class Call {
 public:
  explicit Call(std::string op_type, std::string domain = "com.microsoft");
  Call& In(Array x);       // fed at run time
  Call& Weights(Array x);  // an initializer
  Call& Absent();
  Call& Int(const std::string& name, int64_t value);
  Call& Float(const std::string& name, float value);
  Call& String(const std::string& name, const std::string& value);
  Call& Ints(const std::string& name, std::vector<int64_t> values);
  Call& FloatList(const std::string& name, std::vector<float> values);
  // Whether there is output i.
  Call& Outputs(std::vector<bool> wanted);
  // The model does not declare the rank of the last input.
  Call& Unshaped();

  std::string Model(const RunAs& how = {}) const;
  // One array for each output that is present.
  Arrays Run(const RunAs& how = {}) const;
  // "INVALID_GRAPH: …"; "OK" if it runs.
  std::string Failure(const RunAs& how = {}) const;
  // The operators that the model becomes when no provider keeps any.
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

// Shape and type too.
void ExpectNear(const Array& found, const Array& expected, double tolerance);

// Opsets with different versions of ai.onnx operators.
inline constexpr int64_t kOpsets[] = {11, 13, 17, 18, 21, 23};

}  // namespace epiphyte::test::microsoft
