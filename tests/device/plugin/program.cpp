#include "tests/device/plugin/program.h"

#include <algorithm>
#include <set>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::test::device {
namespace {

constexpr uint64_t kMostElements = uint64_t{1} << 40;

[[noreturn]] void Refuse(Op op, const std::string& why) {
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT, std::string(NameOf(op)) + ": " + why);
}

std::string Text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

size_t InputsNeeded(Op op) {
  switch (op) {
    case Op::kNeg:
    case Op::kRelu:
    case Op::kIdentity: return 1;
    default: return 2;
  }
}

Dims Broadcast(Op op, std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims dims(std::max(a.size(), b.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      Refuse(op, "shapes " + Text(a) + " and " + Text(b) + " found, ones that can be broadcast expected");
    }
    dims[dims.size() - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return dims;
}

Dims DimsOfMatMul(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2 || a.back() != b[b.size() - 2]) {
    Refuse(Op::kMatMul, "shapes " + Text(a) + " and " + Text(b) + " found, [.., m, k] and [.., k, n] expected");
  }
  Dims dims = Broadcast(Op::kMatMul, std::span(a).first(a.size() - 2), std::span(b).first(b.size() - 2));
  dims.push_back(a[a.size() - 2]);
  dims.push_back(b.back());
  return dims;
}

Dims DimsOfScatter(const Dims& cache, const Dims& update, const Dims* indices) {
  const size_t rank = cache.size();
  bool fits = rank >= 3 && update.size() == rank;
  for (size_t i = 0; fits && i < rank; ++i) {
    fits = i == rank - 2 ? update[i] <= cache[i] : update[i] == cache[i];
  }
  if (!fits) {
    Refuse(Op::kTensorScatter, "a cache of shape " + Text(cache) + " and an update of shape " + Text(update) +
                                   " found, [batch, .., s, d] and at most s expected");
  }
  if (indices != nullptr && *indices != Dims{cache[0]}) {
    Refuse(Op::kTensorScatter, "write indices of shape " + Text(*indices) + " found, one for each batch expected");
  }
  return cache;
}

Dims DimsOfStep(const Step& step, const std::vector<Dims>& dims) {
  const Dims& a = dims[step.inputs[0]];
  switch (step.op) {
    case Op::kNeg:
    case Op::kRelu:
    case Op::kIdentity: return a;
    case Op::kMatMul: return DimsOfMatMul(a, dims[step.inputs[1]]);
    case Op::kTensorScatter:
      return DimsOfScatter(a, dims[step.inputs[1]], step.inputs[2] == kAbsent ? nullptr : &dims[step.inputs[2]]);
    default: return Broadcast(step.op, a, dims[step.inputs[1]]);
  }
}

}  // namespace

uint64_t CountOf(std::span<const int64_t> dims) {
  uint64_t count = 1;
  bool is_empty = false;
  for (int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && static_cast<uint64_t>(dim) > kMostElements / count)) {
      throw kit::Error(EP_STATUS_INVALID_ARGUMENT,
                       "a tensor of shape " + Text(dims) + " found, at most 2^40 elements " + "expected");
    }
    is_empty |= dim == 0;
    if (dim > 0) count *= static_cast<uint64_t>(dim);
  }
  return is_empty ? 0 : count;
}

uint64_t SizeOf(EpElementType type) { return type == EP_TYPE_INT64 ? sizeof(int64_t) : sizeof(float); }

EpElementType Program::TypeOf(uint32_t value) const {
  if (value < inputs.size()) return inputs[value];
  if (value < FirstStep()) return constants[value - inputs.size()].type;
  return EP_TYPE_FLOAT;
}

std::string Program::Title() const {
  std::string title;
  for (const Step& step : steps) title += (title.empty() ? "" : "+") + std::string(NameOf(step.op));
  return title;
}

void Program::Check() const {
  const auto demand = [&](bool holds, const char* what) {
    if (!holds) throw kit::Error(EP_STATUS_INVALID_GRAPH, "graph '" + name + "': " + what + "; compile again");
  };
  for (EpElementType type : inputs)
    demand(type == EP_TYPE_FLOAT || type == EP_TYPE_INT64, "an input's type is unknown");
  for (const ConstantTensor& constant : constants) {
    demand(constant.type == EP_TYPE_FLOAT || constant.type == EP_TYPE_INT64, "a constant's type is unknown");
    demand(constant.data.size() == CountOf(constant.dims) * SizeOf(constant.type),
           "a constant's data has another size");
  }
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    demand(static_cast<size_t>(step.op) < kOpNames.size(), "an operator is unknown");
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      const uint32_t value = step.inputs[k];
      if (value == kAbsent) {
        demand(k >= InputsNeeded(step.op), "an input is missing");
        continue;
      }
      const bool is_index = step.op == Op::kTensorScatter && k == 2;
      demand(k < InputsNeeded(step.op) || is_index, "a step has too many inputs");
      demand(value < FirstStep() + i, "a value is read before it is made");
      demand(TypeOf(value) == (is_index ? EP_TYPE_INT64 : EP_TYPE_FLOAT), "an input has another type");
    }
  }
  std::set<uint32_t> seen;
  for (uint32_t output : outputs) {
    demand(output >= FirstStep() && output < ValueCount(), "an output is made by no step");
    demand(seen.insert(output).second, "two outputs are one value");
  }
}

std::vector<Dims> DimsOf(const Program& program, std::span<const Dims> inputs) {
  std::vector<Dims> dims(inputs.begin(), inputs.end());
  for (const ConstantTensor& constant : program.constants) dims.push_back(constant.dims);
  for (const Step& step : program.steps) {
    Dims made = DimsOfStep(step, dims);
    CountOf(made);
    dims.push_back(std::move(made));
  }
  return dims;
}

std::vector<int32_t> AliasesOf(const Program& program, bool elementwise) {
  std::vector<int32_t> aliases(program.outputs.size(), -1);
  std::set<uint32_t> taken;
  for (size_t i = 0; i < aliases.size(); ++i) {
    const size_t at = program.outputs[i] - program.FirstStep();
    const Step& step = program.steps[at];
    const uint32_t input = step.inputs[0];
    const bool is_scatter = step.op == Op::kTensorScatter;
    const bool in_place =
        is_scatter ||
        (elementwise && (step.op == Op::kAdd || step.op == Op::kMul || step.op == Op::kNeg || step.op == Op::kRelu));
    if (!in_place || input >= program.inputs.size() || taken.contains(input)) continue;
    if (is_scatter && step.inputs[1] == input) continue;
    const bool is_read_later =
        std::any_of(program.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, program.steps.end(),
                    [&](const Step& later) { return std::ranges::count(later.inputs, input) != 0; });
    if (is_read_later) continue;
    taken.insert(input);
    aliases[i] = static_cast<int32_t>(input);
  }
  return aliases;
}

std::vector<bool> HostInputsOf(const Program& program) {
  std::vector<bool> host(program.inputs.size(), false);
  for (const Step& step : program.steps) {
    if (step.op != Op::kTensorScatter) continue;
    for (size_t k = 1; k < step.inputs.size(); ++k) {
      if (step.inputs[k] < host.size()) host[step.inputs[k]] = true;
    }
  }
  return host;
}

}  // namespace epiphyte::test::device
