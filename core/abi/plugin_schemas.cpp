#include "core/abi/plugin_schemas.h"

#include <atomic>
#include <iterator>
#include <optional>

#include "core/abi/plugin_calls.h"

namespace epiphyte::core {
namespace {

constexpr uint32_t kMaxOperators = 1 << 16;
constexpr uint64_t kMaxAttributes = 1024;
constexpr size_t kMaxNameBytes = 256;

// Copies a name after checking it. Throws INVALID_ARGUMENT.
std::string CheckedName(const char* text, std::string_view what) {
  if (const std::string problem = LineProblem(text, kMaxNameBytes); !problem.empty()) {
    Fail(StatusCode::kInvalidArgument, "{} {}", what, problem);
  }
  if (*text == '\0') Fail(StatusCode::kInvalidArgument, "{} is empty", what);
  return text;
}

// Checks the size of a plugin's table or struct: it must reach as far as the host reads.
void CheckHead(std::string_view what, uint32_t size, size_t needed, uint32_t reserved) {
  if (size < needed) {
    Fail(StatusCode::kInvalidArgument, "{} has struct_size {}, at least {} expected", what, size, needed);
  }
  if (reserved != 0) Fail(StatusCode::kInvalidArgument, "{} has {} in `reserved`, 0 expected", what, reserved);
}

CustomOperator::AttributeRule ReadRule(const EpOperatorAttribute* attribute) {
  if (attribute == nullptr) Fail(StatusCode::kInvalidArgument, "one of its attributes is null");
  CheckHead("an attribute of it", attribute->struct_size,
            offsetof(EpOperatorAttribute, reserved) + sizeof attribute->reserved, attribute->reserved);
  CustomOperator::AttributeRule rule;
  rule.name = CheckedName(attribute->name, "the name of one of its attributes");
  if (attribute->type < EP_ATTRIBUTE_FLOAT || attribute->type > EP_ATTRIBUTE_TYPE_PROTOS) {
    Fail(StatusCode::kInvalidArgument, "its attribute '{}' is of type {}, {} to {} expected", rule.name,
         attribute->type, EP_ATTRIBUTE_FLOAT, EP_ATTRIBUTE_TYPE_PROTOS);
  }
  rule.type = static_cast<AttributeType>(attribute->type);
  rule.required = (attribute->flags & EP_ATTRIBUTE_REQUIRED) != 0;
  return rule;
}

void CheckArity(std::string_view what, uint32_t least, uint32_t most) {
  if (least > most) Fail(StatusCode::kInvalidArgument, "its least number of {} is {}, its most {}", what, least, most);
}

// Returns null when the plugin doesn't have the extension.
const EpSchemaApi* FindTable(const LoadedPlugin& plugin) {
  const EpPluginDescriptor& descriptor = *plugin.descriptor;
  if (!EP_HAS_FIELD(&descriptor, EpPluginDescriptor, GetExtension) || descriptor.GetExtension == nullptr) {
    return nullptr;
  }
  const EpSchemaApi* table = nullptr;
  CallPlugin(plugin, "GetExtension", [&]() -> EpStatus* {
    table = static_cast<const EpSchemaApi*>(descriptor.GetExtension(plugin.plugin, EP_SCHEMA_EXTENSION));
    return nullptr;
  });
  if (table == nullptr) return nullptr;
  CheckHead("the table of " EP_SCHEMA_EXTENSION, table->struct_size,
            offsetof(EpSchemaApi, InferTypes) + sizeof table->InferTypes, table->reserved);
  if (table->GetOperators == nullptr || table->InferTypes == nullptr) {
    Fail(StatusCode::kInvalidArgument, "a function of the table of " EP_SCHEMA_EXTENSION " is null");
  }
  return table;
}

}  // namespace

class PluginSchemas::Operator : public CustomOperator {
 public:
  // Throws INVALID_ARGUMENT with the problem of `info`.
  Operator(const LoadedPlugin& plugin, const EpSchemaApi& api, const EpOperatorInfo& info)
      : plugin_(plugin), api_(api), info_(info) {
    CheckHead("it", info.struct_size, offsetof(EpOperatorInfo, attribute_count) + sizeof info.attribute_count,
              info.reserved);
    domain = CheckedName(info.domain, "its domain");
    op_type = CheckedName(info.name, "its name");
    since_version = info.since_version;
    if (!IsCustomOperator(domain, op_type)) {
      Fail(StatusCode::kInvalidArgument, "{}.{} is no plugin's to describe; use a domain of your own", domain, op_type);
    }
    if (since_version < 1) {
      Fail(StatusCode::kInvalidArgument, "{}.{} is there since version {}, 1 or more expected", domain, op_type,
           since_version);
    }
    CheckArity("inputs", min_inputs = info.min_inputs, max_inputs = info.max_inputs);
    CheckArity("outputs", min_outputs = info.min_outputs, max_outputs = info.max_outputs);
    if (info.attribute_count > kMaxAttributes || (info.attribute_count != 0 && info.attributes == nullptr)) {
      Fail(StatusCode::kInvalidArgument, "it has {} attributes{}, at most {} and no null expected",
           info.attribute_count, info.attributes == nullptr ? " in a null array" : "", kMaxAttributes);
    }
    for (uint64_t i = 0; i < info.attribute_count; ++i) attributes.push_back(ReadRule(info.attributes[i]));
  }

  void Infer(NodeInference& node) const override {
    EpInference inference{node, std::vector<TypePtr>(node.node().outputs().size()),
                          std::vector<std::optional<std::vector<int64_t>>>(node.node().inputs().size())};
    try {
      CallPlugin(
          plugin_, "InferTypes",
          [&] { return api_.InferTypes(plugin_.plugin, &info_, ToAbi(&node.node()), inference.open.handle()); },
          WatchedCall::kMode);
    } catch (const Error& error) {
      if (error.code() == StatusCode::kInvalidGraph) node.Reject("{}", error.message());
      // The warning is logged once, because a model may have thousands of nodes of one kind.
      if (!reported_.exchange(true)) {
        Log(LogLevel::kWarning, "schema", "the outputs of {}.{} nodes have no type: {}", domain, op_type,
            error.message());
      }
      return;
    }
    for (size_t i = 0; i < inference.outputs.size(); ++i) {
      TypePtr& type = inference.outputs[i];
      if (type && type->kind() != EP_KIND_UNKNOWN) node.Set(i, std::move(type));
    }
  }

 private:
  const LoadedPlugin& plugin_;
  const EpSchemaApi& api_;
  const EpOperatorInfo& info_;
  mutable std::atomic<bool> reported_{false};
};

PluginSchemas::PluginSchemas(const LoadedPlugin& plugin) : plugin_(plugin) {
  try {
    api_ = FindTable(plugin);
    if (api_ == nullptr) return;
    for (const EpOperatorInfo* info : Ask()) Add(info);
  } catch (const Error& error) {
    Log(LogLevel::kWarning, "schema", "the operators of plugin '{}' are not known: {}", plugin.name, error.message());
  }
}

PluginSchemas::~PluginSchemas() = default;

std::vector<const EpOperatorInfo*> PluginSchemas::Ask() const {
  std::vector<const EpOperatorInfo*> infos(64, nullptr);
  for (;;) {
    uint32_t count = 0;
    CallPlugin(plugin_, "GetOperators", [&] {
      return api_->GetOperators(plugin_.plugin, infos.data(), static_cast<uint32_t>(infos.size()), &count);
    });
    if (count > kMaxOperators) {
      Fail(StatusCode::kEpFail, "provider '{}': GetOperators says that there are {} operators, at most {} expected",
           plugin_.name, count, kMaxOperators);
    }
    const bool complete = count <= infos.size();
    infos.resize(count, nullptr);
    if (complete) return infos;
  }
}

void PluginSchemas::Add(const EpOperatorInfo* info) {
  try {
    if (info == nullptr) Fail(StatusCode::kInvalidArgument, "it is null");
    auto made = std::make_unique<Operator>(plugin_, *api_, *info);
    auto& versions = operators_[{made->domain, made->op_type}];
    if (!versions.try_emplace(made->since_version, nullptr).second) {
      Fail(StatusCode::kInvalidArgument, "{}.{} since version {} is described twice", made->domain, made->op_type,
           made->since_version);
    }
    versions[made->since_version] = std::move(made);
  } catch (const Error& error) {
    Log(LogLevel::kWarning, "schema", "an operator of plugin '{}' was left out: {}", plugin_.name, error.message());
  }
}

const CustomOperator* PluginSchemas::Find(std::string_view domain, std::string_view op_type, int64_t opset) const {
  if (operators_.empty()) return nullptr;
  const auto found = operators_.find(Key(domain, op_type));
  if (found == operators_.end()) return nullptr;
  const auto newer = found->second.upper_bound(opset);
  return newer == found->second.begin() ? nullptr : std::prev(newer)->second.get();
}

std::vector<std::string_view> PluginSchemas::OperatorsOf(std::string_view domain) const {
  std::vector<std::string_view> names;
  for (const auto& [key, versions] : operators_) {
    if (key.first == domain) names.push_back(key.second);
  }
  return names;
}

}  // namespace epiphyte::core
