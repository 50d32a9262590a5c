// Case: one node with its inputs and its expected outputs.
//
// A generator makes a random case that is valid by ONNX's specification:
//
//   void Relu(Random& random, Case& c) {
//     const Array x = random.Values(random.FloatType(), random.Shape(0, 5), Draw::kAll);
//     c.Input(x);
//     c.Output(Map(x, [](Number v) { return v > 0 || std::isnan(v) ? v : 0; }));
//   }
//
// Each family of operators is a file with the generators and the references. The references are plain loops that follow
// the specification.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "host/conformance/operators/array.h"
#include "host/conformance/operators/random.h"

namespace epiphyte::operators {

// Largest difference between an element and the reference: `ulps` steps of the type at the magnitude of the expected
// element, or of the element's entry in `sizes`, which is the sum of the summands' magnitudes. For integers: the
// difference.
struct Bound {
  Number ulps = 0;
  std::vector<Number> sizes = {};
  // true: zeros must have the expected sign.
  bool signs = false;
  // true: an 8-bit result that is rounded to a scale. Accelerators may round halves in another direction.
  bool is_quantized = false;
};

// Scale and zero point of a tensor: one pair for the tensor, or one for each index of an axis.
struct QuantParams {
  DataType type = DataType::kUndefined;  // kUndefined: the tensor is not quantized
  int64_t axis = -1;                     // -1: one pair for the whole tensor
  std::vector<Number> scales;
  std::vector<Number> zero_points;

  bool has_value() const { return type != DataType::kUndefined; }
};

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, Array>;

struct Case {
  struct In {
    std::optional<Array> array;  // nullopt: left out
    bool constant = false;       // true: always an initializer
    QuantParams quant = {};      // the model has the tensor quantized, followed by a DequantizeLinear
  };
  struct Out {
    std::optional<Array> array;  // nullopt: left out
    Bound bound;
    QuantParams quant = {};  // a QuantizeLinear follows the node, and `array` is its output
  };

  void Input(Array array, bool constant = false) { inputs.push_back({std::move(array), constant}); }
  void NoInput() { inputs.emplace_back(); }
  // Adds an output: the reference's result, rounded to the type.
  void Output(Array array, Bound bound = {});
  void NoOutput() { outputs.emplace_back(); }
  template <typename T>
  void Set(const std::string& name, T value) {
    if constexpr (std::is_integral_v<T>) {
      attributes[name] = static_cast<int64_t>(value);
    } else {
      attributes[name] = AttributeValue(std::move(value));
    }
  }
  // Marks the case as one that must be refused. The message names the node and its operator, and contains `told`: the
  // input and the error. Outputs then have only their types.
  void MustFail(std::string told = {}) {
    fails = true;
    refusal = std::move(told);
  }

  std::string op_type;
  std::string domain;
  int64_t opset = 22;
  std::map<std::string, AttributeValue> attributes;
  std::vector<In> inputs;
  std::vector<Out> outputs;
  bool fails = false;
  std::string refusal;
  // true: all shapes are known before the run, and most inputs but the first are constants.
  bool is_static = false;
};

using Generator = void (*)(Random& random, Case& c);

// An operator's generator, and its generator of cases that must be refused, or null.
struct OperatorCases {
  std::string_view op_type;
  std::string_view domain;
  Generator make;
  Generator make_bad = nullptr;
};

// Return the operators of each family.
std::vector<OperatorCases> UnaryOperators();
std::vector<OperatorCases> BinaryOperators();
std::vector<OperatorCases> ConversionOperators();
std::vector<OperatorCases> ReductionOperators();
std::vector<OperatorCases> ProductOperators();
std::vector<OperatorCases> WindowOperators();
std::vector<OperatorCases> NormalizationOperators();
std::vector<OperatorCases> ShapeOperators();
std::vector<OperatorCases> IndexOperators();
std::vector<OperatorCases> QuantizedOperators();
std::vector<OperatorCases> ImageOperators();
std::vector<OperatorCases> RecurrentOperators();
std::vector<OperatorCases> RegionOperators();
std::vector<OperatorCases> AttentionOperators();
std::vector<OperatorCases> SignalOperators();
std::vector<OperatorCases> AllOperators();

}  // namespace epiphyte::operators
