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

// An attribute says which type the operator computes or gives, whatever its arguments are.
bool NamesATypeByAttribute(const Signature& signature) {
  static constexpr std::string_view kNames[] = {"dtype", "to", "output_dtype", "output_datatype"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return FindAttribute(signature, name).type != 0; });
}

class FloatFallback {
 public:
  FloatFallback(ir::Graph& plan, const KernelRegistry& registry) : plan_(plan), registry_(registry) {}

  std::vector<std::string> Run() {
    std::vector<ir::Node> nodes;
    nodes.reserve(plan_.nodes.size());
    nodes_ = &nodes;
    for (ir::Node& node : plan_.nodes) {
      if (HasKernelAsFloatOnly(node)) {
        told_.push_back(DescribeFloatFallback(node.op_type, node.name));
        AddBetweenCasts(std::move(node));
      } else {
        nodes.push_back(std::move(node));
      }
    }
    plan_.nodes = std::move(nodes);
    return std::move(told_);
  }

 private:
  bool HasKernelAsFloatOnly(const ir::Node& node) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](int32_t input) { return IsCast(input); }))
      return false;
    DescribeArguments(node.inputs, plan_.values, &inputs_);
    DescribeArguments(node.outputs, plan_.values, &outputs_);
    if (registry_.Find(node.domain, node.op_type, node.since_version, inputs_, outputs_, nullptr).entry != nullptr)
      return false;
    return FindAsFloat(registry_, node.domain, node.op_type, node.since_version, &inputs_, &outputs_).entry != nullptr;
  }

  void AddBetweenCasts(ir::Node node) {
    for (int32_t& input : node.inputs)
      if (IsCast(input)) input = AsFloat(input);
    std::vector<ir::Node> behind;
    for (int32_t& output : node.outputs) {
      if (!IsCast(output)) continue;
      const int32_t computed = AddFloat(output, "/float");
      behind.push_back(MakeCast(computed, output));
      output = computed;
    }
    nodes_->push_back(std::move(node));
    std::move(behind.begin(), behind.end(), std::back_inserter(*nodes_));
  }

  bool IsCast(int32_t value) const {
    return value >= 0 && plan_.values[value].kind == EP_KIND_TENSOR && IsOtherFloat(plan_.values[value].type);
  }

  // A value like `value`, but of type float.
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
    const auto [known, is_new] = as_float_.try_emplace(value, -1);
    if (!is_new) return known->second;
    const int32_t made = AddFloat(value, "/as_float");
    known->second = made;
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
      constant.tensor.data = nullptr;  // refused when the plan is verified
    } else if (const int64_t count = from.Count(); count > 0) {
      Tensor aligned = ViewOf(from);  // the host's bytes need not be
      const std::shared_ptr<void> bytes = kit::AllocateWeights(from.Bytes());
      std::memcpy(bytes.get(), from.data, from.Bytes());
      aligned.data = bytes.get();
      LoadFloats(aligned, 0, count, static_cast<float*>(constant.owner.get()));
    }
    plan_.constant_of_value[value] = static_cast<int32_t>(plan_.constants.size());
    plan_.constants.push_back(std::move(constant));
  }

  ir::Graph& plan_;
  const KernelRegistry& registry_;
  std::vector<ir::Node>* nodes_ = nullptr;
  std::vector<std::string> told_;
  std::unordered_map<int32_t, int32_t> as_float_;  // values and what they are as float
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
  return fmt::format("computed in float, as there is no kernel for its own type: {} '{}'", op_type, name);
}

std::vector<std::string> RunInFloat(ir::Graph& plan, const KernelRegistry& registry) {
  return FloatFallback(plan, registry).Run();
}

}  // namespace epiphyte::cpu
