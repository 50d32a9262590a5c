// Program: what a partition is compiled into, a list of steps over values. Values are numbered: the inputs come first,
// then the constants, then what each step makes. Everything is float, but for the write indices of TensorScatter.
//
//   std::vector<Dims> dims = DimsOf(program, input_dims);     // of all values; throws INVALID_ARGUMENT
//   Run(program, places);                                     // where each value is
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_type.h"

namespace epiphyte::test::device {

using Dims = std::vector<int64_t>;

enum class Op : uint8_t { kAdd, kSub, kMul, kNeg, kRelu, kIdentity, kMatMul, kTensorScatter };
inline constexpr std::array<std::string_view, 8> kOpNames = {"Add",  "Sub",      "Mul",    "Neg",
                                                             "Relu", "Identity", "MatMul", "TensorScatter"};
constexpr std::string_view NameOf(Op op) { return kOpNames[static_cast<size_t>(op)]; }

inline constexpr uint32_t kAbsent = UINT32_MAX;

struct Step {
  Op op = Op::kIdentity;
  std::array<uint32_t, 3> inputs = {kAbsent, kAbsent, kAbsent};  // numbers of values
};

struct ConstantTensor {
  EpElementType type = EP_TYPE_FLOAT;  // or int64
  Dims dims;
  std::vector<std::byte> data;
};

struct Program {
  std::string name;
  std::vector<EpElementType> inputs;  // float or int64
  std::vector<ConstantTensor> constants;
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;  // numbers of values that steps make, each once

  uint32_t FirstStep() const { return static_cast<uint32_t>(inputs.size() + constants.size()); }
  uint32_t ValueCount() const { return FirstStep() + static_cast<uint32_t>(steps.size()); }
  EpElementType TypeOf(uint32_t value) const;
  // "Add", or "Add+Mul" for two steps.
  std::string Title() const;
  // Throws INVALID_GRAPH, for a program out of a file.
  void Check() const;
};

// How many elements; throws INVALID_ARGUMENT when they are more than anybody has room for.
uint64_t CountOf(std::span<const int64_t> dims);
uint64_t SizeOf(EpElementType type);

// Dims of all values from those of the inputs. Throws INVALID_ARGUMENT when they don't fit.
std::vector<Dims> DimsOf(const Program& program, std::span<const Dims> inputs);

// For each output the number of the input that it may be written over in-place, or -1. No step after the one that makes
// the output reads that input. `elementwise`: includes Add, Mul, Neg and Relu.
std::vector<int32_t> AliasesOf(const Program& program, bool elementwise);

// Inputs that may be in host memory with any options.
std::vector<bool> HostInputsOf(const Program& program);

struct Place {
  std::byte* data = nullptr;
  Dims dims;
};

// By number of value; constants have their places, too. Throws INVALID_ARGUMENT for write indices out of range.
void Run(const Program& program, std::span<const Place> places);

}  // namespace epiphyte::test::device
