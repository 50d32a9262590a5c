#include "plugins/cpu/exec/float_fallback.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/exec/plan.h"
#include "plugins/cpu/kernel/convert.h"

namespace epiphyte::cpu {
namespace {

bool IsOtherFloat(ElementType type) {
  return type == EP_TYPE_FLOAT16 || type == EP_TYPE_BFLOAT16 || type == EP_TYPE_DOUBLE;
}
bool IsOtherFloat(const ArgumentType& argument) {
  return argument.present && argument.kind == EP_KIND_TENSOR && IsOtherFloat(argument.type);
}

size_t MakeFloat(std::vector<ArgumentType>* arguments) {
  size_t changed = 0;
  for (ArgumentType& argument : *arguments) {
    if (!IsOtherFloat(argument)) continue;
    argument.type = EP_TYPE_FLOAT;
    ++changed;
  }
  return changed;
}

// True when an attribute names the type that the operator computes in or returns, independent of its arguments.
bool NamesATypeByAttribute(const Signature& signature) {
  static constexpr std::string_view kNames[] = {"dtype", "to", "output_dtype", "output_datatype"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return FindAttribute(signature, name).type != 0; });
}

bool Is16Bit(ElementType type) { return type == EP_TYPE_FLOAT16 || type == EP_TYPE_BFLOAT16; }

class FloatFallback {
 public:
  FloatFallback(ir::Graph& plan, const KernelRegistry& registry, const CastingConstants& casting)
      : plan_(plan), registry_(registry), casting_(casting) {}

  std::vector<std::string> Run() {
    std::vector<ir::Node> nodes;
    nodes.reserve(plan_.nodes.size());
    nodes_ = &nodes;
    is_output_.assign(plan_.values.size(), false);
    for (const int32_t output : plan_.outputs)
      if (output >= 0) is_output_[static_cast<size_t>(output)] = true;
    for (ir::Node& node : plan_.nodes) {
      if (RunsInFloat(node)) {
        ComputeInFloat(std::move(node));
      } else if (const int32_t from = WidenedBy(node); from >= 0) {
        Widen(std::move(node), from);
      } else {
        for (int32_t& input : node.inputs) MakeOwnType(input);
        for (const int32_t input : node.implicit_inputs) MakeOwnType(input);
        nodes.push_back(std::move(node));
      }
    }
    plan_.nodes = std::move(nodes);
    return std::move(told_);
  }

 private:
  // State of a value of another float type.
  struct Computed {
    int32_t as_float = -1;  // the same numbers as floats
    bool is_made = false;   // made by a node that computes in float, so it is more precise than the value's type
    bool has_own = true;    // the value in its own type exists, too
  };

  bool RunsInFloat(const ir::Node& node) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) { return IsOther(input); }))
      return false;
    DescribeArguments(node.inputs, plan_.values, &inputs_);
    DescribeArguments(node.outputs, plan_.values, &outputs_);
    const KernelRegistry::Entry* own =
        registry_.Find(node.domain, node.op_type, node.since_version, inputs_, outputs_, nullptr).entry;
    if (own != nullptr && !IsBetterInFloat(node, own->promotion(node))) return false;
    if (FindAsFloat(registry_, node.domain, node.op_type, node.since_version, &inputs_, &outputs_).entry == nullptr)
      return false;
    if (own == nullptr) told_.push_back(DescribeFloatFallback(node.op_type, node.name));
    return true;
  }

  // `use`: the declaration of the node's kernel for its own type.
  bool IsBetterInFloat(const ir::Node& node, Float32Promotion use) const {
    const auto is_16_bit = [&](int32_t value) {
      return value < 0 || !IsOther(value) || Is16Bit(plan_.values[value].type);
    };
    const auto is_tensor = [&](int32_t value) { return value < 0 || plan_.values[value].kind == EP_KIND_TENSOR; };
    for (const std::vector<int32_t>* values : {&node.inputs, &node.outputs})
      if (!std::all_of(values->begin(), values->end(), is_16_bit) ||
          !std::all_of(values->begin(), values->end(), is_tensor))
        return false;
    if (use == Float32Promotion::kNever) return false;
    if (use == Float32Promotion::kAlways) return true;
    // A cache that grows by a row stays in its own type.
    const bool gives_results = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int32_t output) {
      return output >= 0 && is_output_[static_cast<size_t>(output)];
    });
    const bool reads_made =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) { return IsMade(input); });
    const bool reads_own = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) {
      return IsOther(input) && !IsMade(input) && plan_.FindConstant(input) == nullptr;
    });
    return reads_made && !(gives_results && reads_own);
  }

  void ComputeInFloat(ir::Node node) {
    for (int32_t& input : node.inputs)
      if (IsOther(input)) input = AsFloat(input);
    std::vector<int32_t> wanted;
    for (int32_t& output : node.outputs) {
      if (!IsOther(output)) continue;
      const int32_t own = output;
      output = AddFloat(own, "/float");
      computed_[own] = {output, Is16Bit(plan_.values[own].type), false};
      if (own < static_cast<int32_t>(is_output_.size()) && is_output_[static_cast<size_t>(own)]) wanted.push_back(own);
    }
    nodes_->push_back(std::move(node));
    for (int32_t own : wanted) MakeOwnType(own);
  }

  // Returns the input of a cast to float that a node has computed in float: the cast has nothing to do. Otherwise -1.
  int32_t WidenedBy(const ir::Node& node) const {
    if (!node.Is("Cast") || node.inputs.size() != 1 || node.outputs.size() != 1 || node.outputs[0] < 0) return -1;
    const ir::Value& to = plan_.values[node.outputs[0]];
    return to.kind == EP_KIND_TENSOR && to.type == EP_TYPE_FLOAT && IsMade(node.inputs[0]) ? node.inputs[0] : -1;
  }
  void Widen(ir::Node node, int32_t from) {
    node.op_type = "Identity";
    node.attributes.clear();
    node.inputs = {computed_.at(from).as_float};
    nodes_->push_back(std::move(node));
  }

  // True for a tensor of another float type.
  bool IsOther(int32_t value) const {
    return value >= 0 && plan_.values[value].kind == EP_KIND_TENSOR && IsOtherFloat(plan_.values[value].type);
  }
  bool IsMade(int32_t value) const {
    const auto found = computed_.find(value);
    return found != computed_.end() && found->second.is_made;
  }

  // Adds a cast to the value's own type, for a reader that needs it, when the value was computed in float.
  void MakeOwnType(int32_t value) {
    const auto found = computed_.find(value);
    if (found == computed_.end() || found->second.has_own) return;
    found->second.has_own = true;
    nodes_->push_back(MakeCast(found->second.as_float, value));
  }

  // Adds a value like `value` of type float.
  int32_t AddFloat(int32_t value, const char* suffix) {
    ir::Value info = plan_.values[value];
    info.name += suffix;
    info.type = EP_TYPE_FLOAT;
    return plan_.AddValue(std::move(info));
  }

  ir::Node MakeCast(int32_t from, int32_t to) const {
    ir::Node cast;
    cast.op_type = "Cast";
    cast.since_version = 13;
    cast.name = plan_.values[from].name + "/cast";
    cast.inputs = {from};
    cast.outputs = {to};
    cast.attributes.push_back(ir::Attribute::Int("to", plan_.values[to].type));
    return cast;
  }

  int32_t AsFloat(int32_t value) {
    const auto [known, is_new] = computed_.try_emplace(value);
    if (!is_new) return known->second.as_float;
    const int32_t made = AddFloat(value, "/as_float");
    known->second.as_float = made;
    if (plan_.FindConstant(value) != nullptr) {
      AddConstant(made, plan_.FindConstant(value)->tensor);
    } else {
      nodes_->push_back(MakeCast(value, made));
    }
    return made;
  }

  void AddConstant(int32_t value, const ir::Tensor& from) {
    ir::Constant constant;  // borrowed: most are packed and dropped
    constant.value = value;
    constant.tensor.type = EP_TYPE_FLOAT;
    constant.tensor.dims = from.dims;
    constant.owner = kit::AllocateWeights(constant.tensor.Bytes());
    constant.tensor.data = constant.owner.get();
    if (from.data == nullptr) {
      constant.tensor.data = nullptr;  // VerifyPlan refuses it
    } else {
      CastToFloats(from, static_cast<float*>(constant.owner.get()));
    }
    plan_.constant_of_value[value] = static_cast<int32_t>(plan_.constants.size());
    plan_.constants.push_back(std::move(constant));
  }

  void CastToFloats(const ir::Tensor& from, float* to) const {
    constexpr int64_t kPiece = 4 << 20, kBlock = 4096;
    const int64_t count = from.Count();
    const auto size = static_cast<size_t>(ElementBytes(from.type, 1));
    for (int64_t piece = 0; piece < count; piece += kPiece) {
      const int64_t elements = std::min(kPiece, count - piece);
      casting_.threads.ParallelFor(elements, kBlock, [&](int64_t begin, int64_t end) {
        alignas(kit::kHeapAlignment) std::byte bytes[kBlock * sizeof(double)];  // the host's data may be unaligned
        Tensor block;
        block.type = from.type;
        block.data = bytes;
        for (int64_t at = piece + begin; at < piece + end; at += kBlock) {
          const int64_t n = std::min(kBlock, piece + end - at);
          std::memcpy(bytes, static_cast<const std::byte*>(from.data) + static_cast<size_t>(at) * size,
                      static_cast<size_t>(n) * size);
          LoadFloats(block, 0, n, to + at);
        }
      });
      if (casting_.made) casting_.made(static_cast<uint64_t>(elements) * sizeof(float));
    }
  }

  ir::Graph& plan_;
  const KernelRegistry& registry_;
  const CastingConstants& casting_;
  std::vector<ir::Node>* nodes_ = nullptr;
  std::vector<std::string> told_;
  std::vector<bool> is_output_;                     // for the original values of the graph
  std::unordered_map<int32_t, Computed> computed_;  // by value
  std::vector<ArgumentType> inputs_;
  std::vector<ArgumentType> outputs_;
};

}  // namespace

KernelRegistry::Choice FindAsFloat(const KernelRegistry& registry, std::string_view domain, std::string_view op_type,
                                   int64_t since_version, std::vector<ArgumentType>* inputs,
                                   std::vector<ArgumentType>* outputs) {
  if (MakeFloat(inputs) == 0) return {};
  MakeFloat(outputs);
  const KernelRegistry::Choice choice = registry.Find(domain, op_type, since_version, *inputs, *outputs, nullptr);
  const bool fits = choice.entry != nullptr && choice.certain && !NamesATypeByAttribute(*choice.signature);
  return fits ? choice : KernelRegistry::Choice();
}

std::string DescribeFloatFallback(std::string_view op_type, std::string_view name) {
  return FormatText("computed in float, as there is no kernel for its own type: {} '{}'", op_type, name);
}

bool MultipliesOnly(ElementType type, const ir::Graph& plan, const KernelRegistry& registry) {
  bool found = false;
  for (const ir::Node& node : plan.nodes) {
    const KernelRegistry::Entry* entry = registry.FloatEntry(node.domain, node.op_type);
    if (entry == nullptr || !entry->multiplies_bfloat16) continue;
    if (!node.HasInput(0) || plan.values[node.inputs[0]].type != type) return false;
    found = true;
  }
  return found;
}

std::vector<std::string> RunInFloat(ir::Graph& plan, const KernelRegistry& registry, const CastingConstants& casting) {
  return FloatFallback(plan, registry, casting).Run();
}

}  // namespace epiphyte::cpu
