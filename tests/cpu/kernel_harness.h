// OpRunner runs one kernel eagerly, without a plan, for unit tests.
//
//     OpRunner relu("Relu", 14);
//     relu.Input<float>({2, 2}, {-1, 2, -3, 4});
//     relu.Run();
//     EXPECT_THAT(relu.Output<float>(0), ElementsAre(0, 2, 0, 4));
//     EXPECT_EQ(relu.Dims(0), (Shape{2, 2}));
//
// The kernel comes from the registry that RegisterAllKernels fills (or another one given to SetRegistry), so version
// and type selection are tested too. Errors are thrown as kit::Error. Parallel loops are cut into the smallest shares
// that the kernel allows and run last share first; this finds kernels with shares that depend on each other. All memory
// that a kernel gets ends before a forbidden page (tests/framework/guarded_memory.h): an access past the end of an
// input, an output, scratch memory or packed data stops the test.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/kernel.h"
#include "plugins/cpu/onednn/axis_order.h"

namespace epiphyte::test {

using Shape = std::vector<int64_t>;

// Makes a row-major tensor that owns its memory.
cpu::Datum MakeDatum(cpu::ElementType type, const Shape& dims, const void* bytes);
template <typename T>
cpu::Datum MakeDatum(const Shape& dims, const std::vector<T>& values) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    return MakeDatum(EP_TYPE_BOOL, dims, bytes.data());
  } else if constexpr (std::is_same_v<T, std::string>) {
    cpu::Datum datum = MakeDatum(EP_TYPE_STRING, dims, nullptr);
    *datum.tensor.strings = values;
    return datum;
  } else {
    return MakeDatum(cpu::kTypeOf<T>, dims, values.data());
  }
}
cpu::Datum MakeSequence(cpu::ElementType type, std::vector<cpu::Datum> elements);
cpu::Datum MakeEmptyOptional();

// Returns the elements of a tensor; its type must be T's.
template <typename T>
std::vector<T> Values(const cpu::Tensor& tensor) {
  if (tensor.type != cpu::kTypeOf<T>) {
    throw std::runtime_error("tensor of " + cpu::TypeName(tensor.type) + " read as " + cpu::TypeName(cpu::kTypeOf<T>));
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return *tensor.strings;
  } else {
    const T* data = tensor.as<T>();
    return std::vector<T>(data, data + tensor.Count());
  }
}

class OpRunner {
 public:
  OpRunner(std::string op_type, int64_t since_version, std::string domain = "");

  OpRunner& Attribute(const std::string& name, int64_t value);
  OpRunner& Attribute(const std::string& name, int value) { return Attribute(name, int64_t{value}); }
  OpRunner& Attribute(const std::string& name, float value);
  OpRunner& Attribute(const std::string& name, double value) { return Attribute(name, static_cast<float>(value)); }
  OpRunner& Attribute(const std::string& name, const std::string& value);
  OpRunner& Attribute(const std::string& name, const char* value) { return Attribute(name, std::string(value)); }
  OpRunner& Attribute(const std::string& name, const std::vector<int64_t>& values);
  OpRunner& Attribute(const std::string& name, const std::vector<float>& values);
  OpRunner& Attribute(const std::string& name, const std::vector<std::string>& values);
  OpRunner& Attribute(const std::string& name, const cpu::Datum& tensor);
  OpRunner& AddAttribute(kit::ir::Attribute attribute);

  // Adds an input; inputs are added in order. A constant input is visible to the kernel's constructor.
  template <typename T>
  OpRunner& Input(const Shape& dims, const std::vector<T>& values) {
    return InputDatum(MakeDatum<T>(dims, values));
  }
  template <typename T>
  OpRunner& Constant(const Shape& dims, const std::vector<T>& values) {
    return InputDatum(MakeDatum<T>(dims, values), true);
  }
  OpRunner& InputDatum(cpu::Datum datum, bool constant = false);
  OpRunner& NoInput();
  // Stores input i in that order. No reader needs the outputs row-major. Only orders without padding are possible.
  OpRunner& InOrder(size_t i, const cpu::AxisOrder& order);

  // Sets the number of outputs (default 1), and the outputs that are left out.
  OpRunner& Outputs(size_t count);
  OpRunner& NoOutput(size_t i);
  // Sets the element type that inference would give output i; for operators without inputs.
  OpRunner& OutputType(size_t i, cpu::ElementType type);
  // Allows or forbids OutputInPlace and OutputAlias without a copy.
  OpRunner& InPlace(bool allowed);
  OpRunner& SetRegistry(const cpu::KernelRegistry* registry);

  // Run makes a new kernel and runs it. RunAgain runs the last kernel with its State.
  void Run();
  void RunAgain();
  // Runs the last kernel on the inputs of another runner, which may have other shapes. Constants are not read again.
  void RunAgainOn(OpRunner other) {
    inputs_ = std::move(other.inputs_);
    RunAgain();
  }

  // Number of inputs in the last run that the kernel requested in row-major order although they had another order.
  int reorders() const { return reorders_; }
  // The order in which the kernel made output i. Output returns elements in row-major order in any case.
  cpu::AxisOrder OutputOrder(size_t i) const { return output_orders_.at(i); }

  const cpu::Datum& OutputDatum(size_t i) const { return outputs_.at(i); }
  const cpu::Tensor& OutputTensor(size_t i) const;
  template <typename T>
  std::vector<T> Output(size_t i) const {
    return Values<T>(OutputTensor(i));
  }
  Shape Dims(size_t i) const;

 private:
  class Init;
  class Context;

  std::vector<kit::ir::Value> InputInfos() const;

  kit::ir::Node node_;
  std::vector<cpu::Datum> inputs_;
  std::vector<bool> constant_;
  std::vector<bool> output_present_ = {true};
  std::vector<cpu::ElementType> output_types_ = {EP_TYPE_UNDEFINED};
  bool in_place_ = false;
  std::map<size_t, cpu::AxisOrder> orders_;
  int reorders_ = 0;
  std::vector<cpu::AxisOrder> output_orders_;
  const cpu::KernelRegistry* registry_ = nullptr;
  std::vector<cpu::Datum> outputs_;
  std::vector<std::shared_ptr<void>> packed_;
  std::unique_ptr<cpu::Kernel> kernel_;
  std::shared_ptr<void> state_;
};

// The registry with all kernels of the plugin.
const cpu::KernelRegistry& AllKernels();

}  // namespace epiphyte::test
