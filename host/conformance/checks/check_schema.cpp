// Checks of the operators that a plugin describes: the table, each description, and the inferred types.
#include <algorithm>
#include <set>
#include <tuple>

#include "core/onnx/schema/operator_schemas.h"
#include "epiphyte/ep_schema.h"
#include "host/conformance/checks/checks.h"
#include "host/conformance/debug_host/debug_inference.h"

namespace epiphyte::conformance {
namespace {

constexpr uint32_t kMaxOperators = 65536;
constexpr uint64_t kMaxAttributes = 1024;
constexpr size_t kMaxNameBytes = 256;

using Operators = std::vector<const EpOperatorInfo*>;

bool IsName(const char* text) { return IsOneLine(text) && *text != '\0' && std::strlen(text) <= kMaxNameBytes; }

Operators Ask(Bench& bench, const EpSchemaApi& table) {
  DebugHost& host = bench.host();
  const auto ask = [&](const EpOperatorInfo** infos, uint32_t capacity) {
    uint32_t count = UINT32_MAX;
    const DebugHost::Failure failure = CallPlugin(host, Rule::kSchemasKeepExceptions, "GetOperators", [&] {
      return table.GetOperators(bench.plugin().handle(), infos, capacity, &count);
    });
    if (failure) EndWith(host, Rule::kOperatorsAreCounted, Describe(failure));
    Demand(host, count <= kMaxOperators, Rule::kOperatorsAreCounted,
           "GetOperators counts " + std::to_string(count) + " operators, at most " + std::to_string(kMaxOperators) +
               " are allowed");
    return count;
  };
  const uint32_t count = ask(nullptr, 0);
  Operators infos;
  const auto* untouched = reinterpret_cast<const EpOperatorInfo*>(&infos);
  infos.assign(count + 1, untouched);
  Demand(host, ask(infos.data(), count) == count, Rule::kOperatorsStay,
         "GetOperators counts another number the second time");
  Demand(host, infos[count] == untouched, Rule::kOperatorsAreCounted,
         "GetOperators filled more than " + std::to_string(count) + " entries");
  infos.pop_back();
  Demand(host, std::count(infos.begin(), infos.end(), untouched) == 0, Rule::kOperatorsAreGiven,
         "an entry below the count was not filled");
  bench.journal().Pass(Rule::kOperatorsAreCounted);
  return infos;
}

void CheckAttributes(DebugHost& host, const EpOperatorInfo& info, const std::string& which) {
  constexpr Rule kRule = Rule::kOperatorsAttributesAreGiven;
  Demand(host, info.attribute_count <= kMaxAttributes, kRule,
         which + "has " + std::to_string(info.attribute_count) + " attributes");
  Demand(host, info.attribute_count == 0 || info.attributes != nullptr, kRule,
         which + "has attributes in a null array");
  for (uint64_t i = 0; i < info.attribute_count; ++i) {
    const EpOperatorAttribute* attribute = info.attributes[i];
    const std::string its = which + "attribute " + std::to_string(i) + " ";
    Demand(host, attribute != nullptr, kRule, its + "is null");
    Demand(host, attribute->struct_size >= sizeof(EpOperatorAttribute) && attribute->reserved == 0, kRule,
           its + "has struct_size " + std::to_string(attribute->struct_size) + " and " +
               std::to_string(attribute->reserved) + " in `reserved`");
    Demand(host, IsName(attribute->name), kRule, its + "has no name");
    Demand(host, attribute->type >= EP_ATTRIBUTE_FLOAT && attribute->type <= EP_ATTRIBUTE_TYPE_PROTOS, kRule,
           its + "is of type " + std::to_string(attribute->type));
  }
}

void CheckDescriptions(DebugHost& host, const Operators& operators) {
  std::set<std::tuple<std::string, std::string, int64_t>> known;
  for (size_t i = 0; i < operators.size(); ++i) {
    const EpOperatorInfo* info = operators[i];
    std::string which = "operator " + std::to_string(i) + " ";
    Demand(host, info != nullptr, Rule::kOperatorsAreGiven, which + "is null");
    Demand(host, info->struct_size >= sizeof(EpOperatorInfo) && info->reserved == 0, Rule::kOperatorsAreGiven,
           which + "has struct_size " + std::to_string(info->struct_size) + " and " + std::to_string(info->reserved) +
               " in `reserved`");
    Demand(host, IsName(info->domain) && IsName(info->name), Rule::kOperatorsAreNotOnnxs,
           which + "has no name or no domain");
    which = std::string(info->domain) + "." + info->name + " ";
    Demand(host, core::IsCustomOperator(info->domain, info->name), Rule::kOperatorsAreNotOnnxs,
           which + "is not the plugin's to describe");
    Demand(host, info->since_version >= 1, Rule::kOperatorsHaveVersions,
           which + "is there since version " + std::to_string(info->since_version));
    Demand(host, info->min_inputs <= info->max_inputs && info->min_outputs <= info->max_outputs,
           Rule::kOperatorsHaveNumbers,
           which + "has " + std::to_string(info->min_inputs) + " to " + std::to_string(info->max_inputs) +
               " inputs and " + std::to_string(info->min_outputs) + " to " + std::to_string(info->max_outputs) +
               " outputs");
    CheckAttributes(host, *info, which);
    Demand(host, known.emplace(info->domain, info->name, info->since_version).second, Rule::kOperatorsAreDescribedOnce,
           which + "since version " + std::to_string(info->since_version) + " is described twice");
  }
}

// Returns null when the plugin describes no operators.
const EpSchemaApi* FindTable(Bench& bench) {
  const auto* table = bench.Extension<EpSchemaApi>(EP_SCHEMA_EXTENSION);
  if (table == nullptr) return nullptr;
  Demand(bench.host(), EP_HAS_FIELD(table, EpSchemaApi, InferTypes) && table->reserved == 0, Rule::kSchemaTableIsWhole,
         "the table has struct_size " + std::to_string(table->struct_size) + ", at least " +
             std::to_string(sizeof(EpSchemaApi)) + " and a zero `reserved` are expected");
  Demand(bench.host(), table->GetOperators != nullptr && table->InferTypes != nullptr, Rule::kSchemaTableIsWhole,
         "GetOperators or InferTypes is null");
  bench.journal().Pass(Rule::kSchemaTableIsWhole);
  return table;
}

void CheckOperators(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const EpSchemaApi* table = FindTable(bench);
  if (table == nullptr) {
    for (int rule = static_cast<int>(Rule::kSchemaTableIsWhole); rule <= static_cast<int>(Rule::kInferenceIsConstant);
         ++rule) {
      journal.NotApplicable(static_cast<Rule>(rule), "the plugin describes no operators");
    }
    return bench.Finish();
  }
  const Operators first = Ask(bench, *table);
  CheckDescriptions(bench.host(), first);
  { Session session(bench.plugin(), {}); }
  Demand(bench.host(), Ask(bench, *table) == first, Rule::kOperatorsStay,
         "GetOperators answered differently the second time");
  PassAll(journal, {Rule::kOperatorsAreGiven, Rule::kOperatorsAreNotOnnxs, Rule::kOperatorsHaveVersions,
                    Rule::kOperatorsHaveNumbers, Rule::kOperatorsAttributesAreGiven, Rule::kOperatorsAreDescribedOnce,
                    Rule::kOperatorsStay});
  bench.Finish();
}

// --- inference

// One case of the information that is known about each input of a node.
struct Inputs {
  const char* what;
  ValueSpec value;
  std::vector<int64_t> ints;  // elements that are known before the run
  bool unknown = false;       // true: nothing is known, so the plugin can't find an error
};

std::vector<Inputs> AllInputs() {
  std::vector<Inputs> all(6);
  all[0].what = "of unknown type";
  all[0].value.kind = EP_KIND_UNKNOWN;
  all[0].unknown = true;
  all[1].what = "of unknown rank";
  all[1].value.has_rank = false;
  all[2].what = "of unknown size";
  all[2].value.dims = {-1, -1};
  all[3].what = "of float[2,3]";
  all[3].value.dims = {2, 3};
  all[4].what = "of int64[2] that are known";
  all[4].value.type = EP_TYPE_INT64;
  all[4].value.dims = {2};
  all[4].ints = {3, 4};
  all[5].what = "that are sequences";
  all[5].value.kind = EP_KIND_SEQUENCE;
  all[5].value.dims = {2, 3};
  return all;
}

// Returns a node of the operator with its required inputs and outputs; nullopt if they are too many.
std::optional<GraphSpec> NodeOf(const EpOperatorInfo& info, const ValueSpec& input) {
  constexpr uint32_t kMost = 64;
  if (info.min_inputs > kMost || info.min_outputs > kMost) return std::nullopt;
  GraphSpec graph;
  graph.name = "inference";
  std::vector<int> inputs;
  std::vector<int> outputs;
  const uint32_t input_count = std::max(info.min_inputs, std::min(info.max_inputs, 1u));
  for (uint32_t i = 0; i < input_count; ++i) {
    inputs.push_back(graph.AddInput("x" + std::to_string(i), input.type, input.dims));
    ValueSpec& value = graph.values.back();
    value.kind = input.kind;
    value.has_rank = input.has_rank;
  }
  for (uint32_t i = 0; i < std::max(info.min_outputs, std::min(info.max_outputs, 1u)); ++i) {
    outputs.push_back(graph.AddOutput("y" + std::to_string(i), EP_TYPE_UNDEFINED, {}));
    graph.values.back().kind = EP_KIND_UNKNOWN;
  }
  // A node of another provider makes the first input.
  if (!inputs.empty()) {
    graph.inputs.erase(graph.inputs.begin());
    const int source = graph.AddInput("source", input.type, input.dims);
    graph.AddNode("Identity", {source}, {inputs[0]}, 13);
  }
  NodeSpec& node = graph.AddNode(info.name, inputs, outputs, info.since_version);
  node.domain = info.domain;
  for (uint64_t i = 0; i < info.attribute_count; ++i) {
    const EpOperatorAttribute& attribute = *info.attributes[i];
    if ((attribute.flags & EP_ATTRIBUTE_REQUIRED) == 0) continue;
    AttributeSpec made{attribute.name, attribute.type, {}, {}, {}};
    switch (attribute.type) {
      case EP_ATTRIBUTE_INT:
      case EP_ATTRIBUTE_INTS: made.ints = {1}; break;
      case EP_ATTRIBUTE_FLOAT:
      case EP_ATTRIBUTE_FLOATS: made.floats = {1}; break;
      case EP_ATTRIBUTE_STRING:
      case EP_ATTRIBUTE_STRINGS: made.strings = {"1"}; break;
      default: return std::nullopt;
    }
    node.attributes.push_back(std::move(made));
  }
  return graph;
}

struct Inferred {
  DebugHost::Failure failure;
  std::vector<std::string> types;
};

Inferred Infer(Bench& bench, const EpSchemaApi& table, const EpOperatorInfo& info, const GraphSpec& spec,
               const Inputs& inputs) {
  DebugGraph graph(spec, Rule::kInferenceEndsWithTheCall);
  const size_t last = spec.nodes.size() - 1;
  graph.ShowOnly(last, Rule::kInferenceStaysAtItsNode);
  const NodeSpec& node = spec.nodes[last];
  DebugInference inference(node.outputs.size(), std::vector(node.inputs.size(), inputs.ints));
  Inferred inferred;
  inferred.failure = CallPlugin(bench.host(), Rule::kSchemasKeepExceptions, "InferTypes", [&] {
    return table.InferTypes(bench.plugin().handle(), &info, graph.node(last), inference.handle());
  });
  inferred.types = inference.types();
  return inferred;
}

void CheckInference(Journal& journal, const Target& target) {
  constexpr size_t kMost = 256;  // operators to check; the others of a larger table would break the same rules
  Bench bench(journal, target);
  const EpSchemaApi* table = FindTable(bench);
  if (table == nullptr) return bench.Finish();
  const Operators operators = Ask(bench, *table);
  CheckDescriptions(bench.host(), operators);
  bench.host().BlameCrashesOn(Rule::kInferTypesTakesAnyType);
  for (size_t i = 0; i < std::min(operators.size(), kMost); ++i) {
    for (const Inputs& inputs : AllInputs()) {
      const EpOperatorInfo& info = *operators[i];
      const std::optional<GraphSpec> spec = NodeOf(info, inputs.value);
      if (!spec) continue;
      const std::string which = std::string(info.domain) + "." + info.name + " with inputs " + inputs.what;
      const Inferred first = Infer(bench, *table, info, *spec, inputs);
      Demand(bench.host(), !inputs.unknown || first.failure.code != EP_STATUS_INVALID_GRAPH,
             Rule::kInferTypesTakesAnyType, which + ": " + Describe(first.failure));
      const Inferred second = Infer(bench, *table, info, *spec, inputs);
      Demand(bench.host(), first.failure.code == second.failure.code && first.types == second.types,
             Rule::kInferenceIsConstant, "InferTypes answered differently the second time about " + which);
    }
  }
  bench.host().BlameCrashesOn(Rule::kDoesNotCrash);
  PassAll(journal, {Rule::kSchemasKeepExceptions, Rule::kInferTypesTakesAnyType, Rule::kInferredTypesAreTypes,
                    Rule::kInferenceEndsWithTheCall, Rule::kInferenceStaysAtItsNode, Rule::kInferenceIsConstant});
  bench.Finish();
}

constexpr Check kSchemaChecks[] = {{"described operators", CheckOperators}, {"inference of types", CheckInference}};

}  // namespace

std::span<const Check> SchemaChecks() { return kSchemaChecks; }

}  // namespace epiphyte::conformance
