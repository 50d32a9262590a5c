// Program is the compiled form of a partition, a list of steps over values. Values are numbered: inputs first, then
// constants, then the result of each step. All values are float, except the write indices of TensorScatter.
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
  EpElementType type = EP_TYPE_FLOAT;  // float or int64
  Dims dims;
  std::vector<std::byte> data;
};

struct Program {
  std::string name;
  std::vector<EpElementType> inputs;  // float or int64
  std::vector<ConstantTensor> constants;
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;  // numbers of step results; each appears once

  uint32_t FirstStep() const { return static_cast<uint32_t>(inputs.size() + constants.size()); }
  uint32_t ValueCount() const { return FirstStep() + static_cast<uint32_t>(steps.size()); }
  EpElementType TypeOf(uint32_t value) const;
  // Returns "Add", or "Add+Mul" for two steps.
  std::string Title() const;
  // Checks a program from a payload. Throws INVALID_GRAPH.
  void Check() const;
};

// Returns the number of elements. Throws INVALID_ARGUMENT if it exceeds any possible memory.
uint64_t CountOf(std::span<const int64_t> dims);
uint64_t SizeOf(EpElementType type);

// Computes the shapes of all values from those of the inputs. Throws INVALID_ARGUMENT if they don't fit together.
std::vector<Dims> DimsOf(const Program& program, std::span<const Dims> inputs);

// Returns for each output the index of the input over which it may be written, or -1. No step after the one that makes
// the output reads that input. `elementwise`: also for Add, Mul, Neg and Relu.
std::vector<int32_t> AliasesOf(const Program& program, bool elementwise);

// Returns which inputs may be in host memory with any options.
std::vector<bool> HostInputsOf(const Program& program);

struct Place {
  std::byte* data = nullptr;
  Dims dims;
};

// Runs the program. `places` is indexed by the number of the value and includes constants. Throws INVALID_ARGUMENT for
// write indices out of range.
void Run(const Program& program, std::span<const Place> places);

}  // namespace epiphyte::test::device
