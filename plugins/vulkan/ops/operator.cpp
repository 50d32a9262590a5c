#include "plugins/vulkan/ops/operator.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/graph/elements.hpp"

namespace epiphyte::vulkan {
namespace {

std::string_view CanonicalDomain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

// Bytes of one element in device memory; 0 for a type that device memory can't hold.
uint64_t DeviceElementBytes(EpElementType type) { return kit::ElementBytes(type, 1); }

// Whether an operator only moves elements, which its types tell: only such operators list uint64. They move a 64-bit
// element as two words, without 64-bit arithmetic.
bool OnlyMoves(const Operator& op) { return kit::Contains(op.types, EP_TYPE_UINT64); }

// Checks one node against its signature and against operators of the table.
class Chooser {
 public:
  Chooser(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities,
          const std::vector<bool>& on_host)
      : graph_(graph), node_(node), capabilities_(capabilities), on_host_(on_host) {}

  const kit::Signature* FindSignature(std::string* why) const {
    const kit::Signature* signature = nullptr;
    for (const kit::Signature& row : kit::FindSignatures(node_.domain, node_.op_type))
      if (row.since_version <= node_.since_version) signature = &row;
    if (signature == nullptr) *why = kit::TextOf("operator ", node_.op_type, " is not known");
    return signature;
  }

  // The type by which the operator is chosen; UNDEFINED with the reason when the arguments don't fit.
  EpElementType MatchArguments(const kit::Signature& signature, std::string* why) const {
    std::vector<kit::ArgumentType> inputs, outputs;
    kit::DescribeArguments(node_.inputs, graph_.values, &inputs);
    kit::DescribeArguments(node_.outputs, graph_.values, &outputs);
    const kit::SignatureMatch match = kit::Match(signature, inputs, outputs, why);
    if (!match.fits) return EP_TYPE_UNDEFINED;
    if (!match.certain || match.dispatch == EP_TYPE_UNDEFINED) {
      *why = "the types of its inputs are not known before the run";
      return EP_TYPE_UNDEFINED;
    }
    std::vector<kit::AttributeContent> attributes;
    for (const ir::Attribute& attribute : node_.attributes)
      attributes.push_back({attribute.name, attribute.type, attribute.ints});
    return kit::MatchAttributes(signature, attributes, why) ? match.dispatch : EP_TYPE_UNDEFINED;
  }

  std::string WhyNot(const Operator& op, EpElementType dispatch) const {
    if (!node_.implicit_inputs.empty()) return "control flow is run by the host";
    for (const std::vector<int32_t>* values : {&node_.inputs, &node_.outputs})
      for (const int32_t value : *values)
        if (value >= 0 && graph_.values[static_cast<size_t>(value)].kind != EP_KIND_TENSOR)
          return kit::TextOf("value '", graph_.values[static_cast<size_t>(value)].name, "' is no tensor");
    std::string why = WhyNotOnDevice(op, dispatch);
    const NodeCheck check(graph_, node_, capabilities_, on_host_);
    for (size_t i = 0; i < node_.inputs.size() && why.empty(); ++i)
      if (IsHostInput(op, i)) why = check.NeedsHost(i);
    if (why.empty() && op.check != nullptr) why = Check(op, check);
    return why;
  }

 private:
  static std::string Check(const Operator& op, const NodeCheck& check) {
    try {
      return op.check(check);
    } catch (const kit::Error& error) {
      // The kit throws INVALID_ARGUMENT for attributes that no provider could run. Its message is the reason for this
      // node.
      if (error.code() == EP_STATUS_INVALID_ARGUMENT) return error.what();
      throw;
    }
  }

  static bool IsHostInput(const Operator& op, size_t i) { return i < 32 && (op.host_inputs >> i & 1) != 0; }
  bool OnHost(int32_t value) const { return value < 0 || on_host_[static_cast<size_t>(value)]; }

  // Whether the host computes the node, so that nothing of it reaches the device.
  bool IsHostNode(const Operator& op) const {
    return std::all_of(node_.outputs.begin(), node_.outputs.end(), [&](int32_t value) { return OnHost(value); }) &&
           (op.of_shapes || op.on_host != nullptr);
  }

  std::string WhyNotOnDevice(const Operator& op, EpElementType dispatch) const {
    if (IsHostNode(op)) return {};
    std::string why;
    for (size_t i = 0; i < node_.inputs.size() && why.empty(); ++i)
      if (!IsHostInput(op, i)) why = WhyNotHeld("input", i, node_.inputs[i]);
    for (size_t i = 0; i < node_.outputs.size() && why.empty(); ++i) why = WhyNotHeld("output", i, node_.outputs[i]);
    const bool is_64 = dispatch == EP_TYPE_INT64 || dispatch == EP_TYPE_UINT64;
    if (why.empty() && op.bindings > capabilities_.max_bindings)
      why = kit::TextOf("it binds ", op.bindings, " buffers at once, the device at most ", capabilities_.max_bindings);
    if (why.empty() && is_64 && !OnlyMoves(op) && !capabilities_.Has(Capability::kInt64))
      why = kit::TextOf(kit::TypeName(dispatch), " can't be computed with: ", capabilities_.WhyNot(Capability::kInt64));
    return why;
  }

  // Why the device can't hold a value, or "".
  std::string WhyNotHeld(std::string_view what, size_t i, int32_t value) const {
    if (value < 0) return {};
    const ir::Value& info = graph_.values[static_cast<size_t>(value)];
    const uint64_t element = DeviceElementBytes(info.type);
    if (element == 0) return kit::TextOf(what, ' ', i, " has elements of type ", kit::TypeName(info.type));
    if (element == 2 && !capabilities_.Has(Capability::kStorage16))
      return kit::TextOf(what, ' ', i, " is of ", kit::TypeName(info.type), ": ",
                         capabilities_.WhyNot(Capability::kStorage16));
    if (element == 1 && !capabilities_.Has(Capability::kStorage8))
      return kit::TextOf(what, ' ', i, " is of ", kit::TypeName(info.type), ": ",
                         capabilities_.WhyNot(Capability::kStorage8));
    // The bytes of a packed constant were dropped, so they need not fit into a buffer.
    const ir::Constant* constant = graph_.FindConstant(value);
    if (constant != nullptr && constant->storage == ir::Constant::Storage::kDropped) return {};
    uint64_t count = 0;
    if (!info.IsStatic() || !kit::CountElements(info.dims, &count)) return {};
    const uint64_t bytes = kit::ElementBytes(info.type, count);
    if (bytes > capabilities_.max_buffer_range)
      return kit::TextOf(what, ' ', i, " takes ", bytes, " bytes, one buffer of the device holds ",
                         capabilities_.max_buffer_range);
    if (count > INT32_MAX)
      return kit::TextOf(what, ' ', i, " has ", count, " elements, at most ", INT32_MAX, " can be counted");
    return {};
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  const Capabilities& capabilities_;
  const std::vector<bool>& on_host_;
};

}  // namespace

const ir::Tensor* NodeCheck::Constant(size_t i) const {
  return HasInput(i) ? ir::ElementsOf(graph_, node_.inputs[i]) : nullptr;
}

std::string NodeCheck::NeedsHost(size_t i) const {
  if (OnHost(i)) return {};
  const ir::Value& value = Input(i);
  uint64_t count = 0;
  if (value.IsStatic() && kit::CountElements(value.dims, &count) && count > uint64_t{kMostHostElements})
    return kit::TextOf("input ", i, " has ", count, " elements, of which the host would have to know all; at most ",
                       kMostHostElements, " are possible");
  return kit::TextOf("input ", i, " is computed on the device, and the host needs its elements before");
}

void OperatorTable::Add(const Operator& op) {
  std::vector<Operator>& known = operators_[{CanonicalDomain(op.domain), op.op_type}];
  for (const Operator& other : known) {
    const bool versions = op.first_version <= other.last_version && other.first_version <= op.last_version;
    if (versions && (op.types & other.types) != 0)
      kit::FailWith(EP_STATUS_FAIL, "operator ", op.op_type, " is there twice for ",
                    kit::TypeNames(op.types & other.types), "; mend its Register function");
  }
  known.push_back(op);
}

const Operator* OperatorTable::Find(std::string_view domain, std::string_view op_type, int64_t since_version,
                                    EpElementType type) const {
  const auto found = operators_.find({CanonicalDomain(domain), op_type});
  if (found == operators_.end()) return nullptr;
  for (const Operator& op : found->second)
    if (since_version >= op.first_version && since_version <= op.last_version &&
        (type == EP_TYPE_UNDEFINED || kit::Contains(op.types, type)))
      return &op;
  return nullptr;
}

const Operator* OperatorTable::Choose(const ir::Graph& graph, const ir::Node& node, const Capabilities& capabilities,
                                      const std::vector<bool>& on_host, std::string* why) const {
  const Operator* any = Find(node.domain, node.op_type, node.since_version, EP_TYPE_UNDEFINED);
  if (any == nullptr) {
    *why = kit::TextOf("no kernel for operator ", node.domain, node.domain.empty() ? "" : ".", node.op_type,
                       " since version ", node.since_version);
    return nullptr;
  }
  const Chooser chooser(graph, node, capabilities, on_host);
  const kit::Signature* signature = chooser.FindSignature(why);
  if (signature == nullptr) return nullptr;
  const EpElementType dispatch = chooser.MatchArguments(*signature, why);
  if (dispatch == EP_TYPE_UNDEFINED) return nullptr;
  const Operator* op = Find(node.domain, node.op_type, node.since_version, dispatch);
  if (op == nullptr) {
    *why = kit::TextOf("no kernel for ", node.op_type, " of ", kit::TypeName(dispatch), "; there is one for ",
                       kit::TypeNames(any->types));
    return nullptr;
  }
  *why = chooser.WhyNot(*op, dispatch);
  return why->empty() ? op : nullptr;
}

void OperatorTable::ForEach(const std::function<void(const Operator&)>& visit) const {
  for (const auto& [key, known] : operators_)
    for (const Operator& op : known) visit(op);
}

}  // namespace epiphyte::vulkan
