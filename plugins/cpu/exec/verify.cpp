#include "plugins/cpu/exec/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include "epiphyte/kit/shape/dims.hpp"
#include "plugins/cpu/kernel/elementwise_program.h"

namespace epiphyte::cpu {
namespace {

template <typename... Args>
[[noreturn]] void Refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw OpError(EP_STATUS_INVALID_GRAPH, fmt::format(format, std::forward<Args>(args)...));
}

bool IsType(ElementType type) { return type > 0 && type <= EP_TYPE_INT2; }

// A tensor whose elements are there. `name`: whose it is, for messages.
void CheckData(const Tensor& tensor, const std::string& name) {
  uint64_t count = 0;
  if (!IsType(tensor.type) || tensor.layout ||
      std::any_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t dim) { return dim < 0; }) ||
      !CountElements(tensor.dims, &count))
    Refuse("{}: its type makes no sense", name);
  const bool there = tensor.type == EP_TYPE_STRING ? tensor.strings != nullptr && tensor.strings->size() == count
                                                   : count == 0 || tensor.data != nullptr;
  if (!there) Refuse("{}: {} elements expected, but its data is not there", name, count);
  if (tensor.type != EP_TYPE_BOOL) return;
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  for (uint64_t i = 0; i < count; ++i)
    if (bytes[i] > 1) Refuse("{}: a bool is {}; 0 or 1 expected", name, bytes[i]);
}

class Verifier {
 public:
  Verifier(const PlanDef& plan, const KernelRegistry& registry) : plan_(plan), registry_(registry) {}

  std::vector<KernelRegistry::Choice> Run(std::span<const PackedData> packed) {
    if (plan_.constant_of_value.size() != plan_.values.size()) Refuse("its constants are not those of its values");
    for (const ValueInfo& value : plan_.values) CheckValue(value);
    made_.assign(plan_.values.size(), false);
    for (int32_t input : plan_.inputs) Make(input);
    for (size_t i = 0; i < plan_.constants.size(); ++i) CheckConstant(i);
    std::vector<KernelRegistry::Choice> choices;
    choices.reserve(plan_.nodes.size());
    for (const NodeDef& node : plan_.nodes) choices.push_back(CheckNode(node));
    for (int32_t output : plan_.outputs)
      if (!IsMade(output)) Refuse("it gives out value {}, which nothing makes", output);
    CheckPacked(packed);
    CheckDropped(packed);
    return choices;
  }

 private:
  static void CheckValue(const ValueInfo& value) {
    const size_t rank = value.rank < 0 ? 0 : static_cast<size_t>(value.rank);
    uint64_t count = 0;
    if (value.type < 0 || value.type > EP_TYPE_INT2 || value.kind > EP_KIND_MAP || value.rank < -1 ||
        value.dims.size() != rank)
      Refuse("the type of value '{}' makes no sense", value.name);
    if (std::any_of(value.dims.begin(), value.dims.end(), [](int64_t dim) { return dim < -1; }) ||
        !CountElements(value.dims, &count))
      Refuse("the dimensions of value '{}' make no sense", value.name);
  }

  bool IsMade(int32_t value) const {
    return value >= 0 && static_cast<size_t>(value) < made_.size() && made_[static_cast<size_t>(value)];
  }
  void Make(int32_t value) {
    if (value < 0 || static_cast<size_t>(value) >= made_.size()) Refuse("value {} does not exist", value);
    if (made_[static_cast<size_t>(value)])
      Refuse("value '{}' is made twice", plan_.values[static_cast<size_t>(value)].name);
    made_[static_cast<size_t>(value)] = true;
  }

  void CheckConstant(size_t index) {
    const ConstantDef& constant = plan_.constants[index];
    Make(constant.value);
    const ValueInfo& value = plan_.values[static_cast<size_t>(constant.value)];
    const Tensor& tensor = constant.tensor;
    if (plan_.constant_of_value[static_cast<size_t>(constant.value)] != static_cast<int32_t>(index) ||
        value.kind != EP_KIND_TENSOR || value.type != tensor.type ||
        value.rank != static_cast<int32_t>(tensor.rank()) ||
        !std::equal(value.dims.begin(), value.dims.end(), tensor.dims.begin()))
      Refuse("constant '{}' is not of its value's type", value.name);
    if (!constant.dropped) return CheckData(tensor, fmt::format("constant '{}'", value.name));
    if (!IsType(tensor.type) || !value.IsStatic()) Refuse("constant '{}': its type makes no sense", value.name);
  }

  KernelRegistry::Choice CheckNode(const NodeDef& node) {
    try {
      for (int32_t input : node.inputs)
        if (input != -1 && !IsMade(input)) Refuse("it reads value {}, which nothing made before", input);
      for (int32_t output : node.outputs)
        if (output != -1) Make(output);
      DescribeArguments(node.inputs, plan_.values, &inputs_);
      DescribeArguments(node.outputs, plan_.values, &outputs_);
      std::string why;
      const KernelRegistry::Choice choice =
          registry_.Find(node.domain, node.op_type, node.since_version, inputs_, outputs_, &why);
      if (choice.entry == nullptr)
        throw OpError(choice.signature == nullptr ? EP_STATUS_NOT_IMPLEMENTED : EP_STATUS_INVALID_GRAPH, why);
      attributes_.clear();
      for (const AttributeValue& attribute : node.attributes) {
        attributes_.push_back({attribute.name, attribute.type, attribute.floats.size(), attribute.strings.size(),
                               attribute.tensors.size(), attribute.ints});
        for (const Tensor& tensor : attribute.tensors) CheckData(tensor, fmt::format("attribute '{}'", attribute.name));
      }
      if (!MatchAttributes(*choice.signature, attributes_, &why)) throw OpError(EP_STATUS_INVALID_GRAPH, why);
      if (node.domain == kFusedDomain && node.op_type == "Elementwise") ReadElementwiseProgram(node);
      return choice;
    } catch (const OpError& error) {
      throw OpError(error.code(), fmt::format("node '{}' ({}): {}", node.name, node.op_type, error.what()));
    }
  }

  void CheckPacked(std::span<const PackedData> packed) const {
    std::set<std::pair<int32_t, std::string_view>> known;
    for (const PackedData& entry : packed) {
      if (entry.node < 0 || static_cast<size_t>(entry.node) >= plan_.nodes.size())
        Refuse("packed data belongs to node {} of {}", entry.node, plan_.nodes.size());
      if (entry.data == nullptr && entry.bytes != 0) Refuse("packed data '{}' is not there", entry.key);
      if (!known.emplace(entry.node, entry.key).second)
        Refuse("packed data '{}' of node '{}' is there twice", entry.key,
               plan_.nodes[static_cast<size_t>(entry.node)].name);
    }
  }

  // A constant without bytes was packed by those who read it, so its shape can't be far beyond what they packed.
  // (Packed numbers may be narrower than plain ones.)
  void CheckDropped(std::span<const PackedData> packed) const {
    std::vector<uint64_t> packed_by_node(plan_.nodes.size(), 0);
    for (const PackedData& entry : packed) packed_by_node[static_cast<size_t>(entry.node)] += entry.bytes;
    std::vector<uint64_t> packed_of_constant(plan_.constants.size(), 0);
    std::vector<bool> is_read(plan_.constants.size(), false);
    for (size_t n = 0; n < plan_.nodes.size(); ++n) {
      for (int32_t input : plan_.nodes[n].inputs) {
        const int32_t constant = input < 0 ? -1 : plan_.constant_of_value[static_cast<size_t>(input)];
        if (constant < 0) continue;
        packed_of_constant[static_cast<size_t>(constant)] += packed_by_node[n];
        is_read[static_cast<size_t>(constant)] = true;
      }
    }
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      const ConstantDef& constant = plan_.constants[i];
      if (!constant.dropped || !is_read[i] || constant.tensor.Bytes() / 8 <= packed_of_constant[i]) continue;
      Refuse("constant '{}' has {} bytes, of which its readers packed no more than {}",
             plan_.values[static_cast<size_t>(constant.value)].name, constant.tensor.Bytes(), packed_of_constant[i]);
    }
  }

  const PlanDef& plan_;
  const KernelRegistry& registry_;
  std::vector<bool> made_;  // values that have been made so far
  std::vector<ArgumentType> inputs_;
  std::vector<ArgumentType> outputs_;
  std::vector<AttributeContent> attributes_;
};

}  // namespace

std::vector<KernelRegistry::Choice> VerifyPlan(const PlanDef& plan, std::span<const PackedData> packed,
                                               const KernelRegistry& registry, PlanOrigin origin) {
  try {
    return Verifier(plan, registry).Run(packed);
  } catch (const OpError& error) {
    if (origin == PlanOrigin::kMadeNow) throw;
    Refuse("the cpu context is damaged: partition '{}': {}; compile the model again", plan.name, error.what());
  }
}

}  // namespace epiphyte::cpu
