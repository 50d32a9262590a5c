// Program: the result of compiling a partition in a recording plugin. It is a list of elementwise steps over slots. The
// slots of the inputs come first, then those of the constants, then those of the steps' results.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "epiphyte/kit/plugin/plugin.hpp"

namespace epiphyte::recorder {

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<float> data;
  bool operator==(const Tensor&) const = default;
};

inline constexpr std::array<std::string_view, 6> kOperators = {"Add", "Sub", "Mul", "Neg", "Abs", "Relu"};
inline constexpr uint8_t kFirstUnary = 3;

struct Step {
  uint8_t op = 0;  // index into kOperators
  uint32_t a = 0;
  uint32_t b = 0;  // equal to `a` for a unary operator
  uint32_t out = 0;
};

struct Program {
  std::string name;
  uint32_t input_count = 0;
  uint32_t slot_count = 0;
  std::vector<std::pair<uint32_t, uint32_t>> constants;  // slot, index into Package::tensors
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;
};

// The content of a payload: programs and the constants that they share.
struct Package {
  std::vector<Tensor> tensors;
  std::vector<Program> programs;

  // The name "" finds the only program.
  const Program* Find(std::string_view name) const;
  // Returns the index of an equal tensor, which is added if there is none.
  uint32_t Intern(Tensor tensor);
};

// Translates a partition into a program. Adds the program and its constants to `package`.
void Translate(const kit::GraphView& graph, std::string name, Package* package);

class ProgramKernel : public kit::Kernel {
 public:
  // `program` belongs to `package`. Each run reads `payload` once, on a thread of the plugin's own.
  ProgramKernel(std::shared_ptr<const Package> package, const Program& program, std::string_view payload = {})
      : package_(std::move(package)), program_(program), payload_(payload) {}
  void Execute(const kit::Run& run) override;

 private:
  std::shared_ptr<const Package> package_;
  const Program& program_;
  std::string_view payload_;
};

}  // namespace epiphyte::recorder
