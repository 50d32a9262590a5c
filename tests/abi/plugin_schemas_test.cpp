// ep.schema/1: operators that a plugin describes, and models that are read with these descriptions. Only valid answers
// of the plugin reach the graph.
#include "core/abi/plugin_schemas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "core/abi/handles.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/model_reader.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

using core::CustomOperator;
using core::Model;
using core::PluginSchemas;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDomain = "acme";

const EpInferenceApi& InferenceApi() { return core::kInferenceApi; }

EpTypeInfo TensorType(EpElementType element, const std::vector<int64_t>& dims) {
  EpTypeInfo type = {};
  type.struct_size = sizeof type;
  type.kind = EP_KIND_TENSOR;
  type.element_type = element;
  type.rank = static_cast<int32_t>(dims.size());
  type.dims = dims.data();
  return type;
}

EpOperatorInfo Operator(const char* name, uint32_t inputs = 1, int64_t since_version = 1) {
  EpOperatorInfo info = {};
  info.struct_size = sizeof info;
  info.domain = kDomain;
  info.name = name;
  info.since_version = since_version;
  info.min_inputs = info.max_inputs = inputs;
  info.min_outputs = 1;
  info.max_outputs = 2;
  return info;
}

// A plugin that only provides schemas. Each test sets its answers.
class PluginSchemasTest : public testing::Test {
 protected:
  using Infer = std::function<EpStatus*(const EpOperatorInfo*, const EpNode*, EpInference*)>;

  PluginSchemasTest() {
    api_ = {sizeof(EpSchemaApi), 0, GetOperators, InferTypes};
    descriptor_ = {};
    descriptor_.struct_size = sizeof descriptor_;
    descriptor_.GetExtension = GetExtension;
    plugin_.descriptor = &descriptor_;
    plugin_.plugin = reinterpret_cast<EpPlugin*>(this);
    plugin_.name = "acme_ep";
    // By default the output has the first input's shape and the type int64.
    infer_ = [](const EpOperatorInfo*, const EpNode* node, EpInference* inference) -> EpStatus* {
      EpNodeInfo info = {};
      info.struct_size = sizeof info;
      if (EpStatus* status = core::HostInfo()->graph->GetNodeInfo(node, &info)) return status;
      EpValueDefInfo x = {};
      x.struct_size = sizeof x;
      if (EpStatus* status = core::HostInfo()->graph->GetValueDefInfo(info.inputs[0], &x)) return status;
      EpTypeInfo type = *x.type;
      if (type.kind != EP_KIND_TENSOR) return nullptr;
      type.element_type = EP_TYPE_INT64;
      return InferenceApi().SetOutput(inference, 0, &type);
    };
  }
  ~PluginSchemasTest() override { EXPECT_EQ(core::LiveStatusCount(), 0u); }

  std::unique_ptr<PluginSchemas> Schemas() {
    pointers_.clear();
    for (const EpOperatorInfo& info : operators_) pointers_.push_back(&info);
    return std::make_unique<PluginSchemas>(plugin_);
  }
  Model Read(const std::string& text) {
    const std::unique_ptr<PluginSchemas> schemas = Schemas();
    core::ReadOptions options;
    options.schemas = schemas.get();
    const std::string bytes = OnnxFromText(text);
    return core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, options);
  }
  static std::string TypeOf(const Model& model, const std::string& value) {
    const core::ValueDef* found = model.graph->FindValue(value);
    if (found == nullptr) return "no such value";
    return found->type() ? found->type()->ToString() : "unknown";
  }
  // Returns whether the host accepts the description of the plugin's one operator.
  bool IsKnown(const EpOperatorInfo& info) {
    operators_ = {info};
    return Schemas()->Find(info.domain == nullptr ? kDomain : info.domain, "Count", 1) != nullptr;
  }
  // Reads a model for which the plugin says that a Count's output is `type`. Returns the answer of SetOutput and the
  // type that the output has afterwards.
  std::pair<std::string, std::string> Claim(const EpTypeInfo& type) {
    std::string answer;
    infer_ = [&](const EpOperatorInfo*, const EpNode*, EpInference* inference) -> EpStatus* {
      EpStatus* status = InferenceApi().SetOutput(inference, 0, &type);
      answer = status == nullptr ? "OK" : core::HostInfo()->status->GetMessage(status);
      core::HostInfo()->status->Release(status);  // the plugin ignores the error
      return nullptr;
    };
    const Model model = Read(kOneCount);
    return {answer, TypeOf(model, "c")};
  }

  static constexpr const char* kOneCount = R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
    g (float[2,N] x) => (y) { c = acme.Count(x) y = Identity(c) })";

  static PluginSchemasTest& From(EpPlugin* plugin) { return *reinterpret_cast<PluginSchemasTest*>(plugin); }
  static EpStatus* EP_CALL GetOperators(EpPlugin* plugin, const EpOperatorInfo** operators, uint32_t capacity,
                                        uint32_t* count) {
    PluginSchemasTest& test = From(plugin);
    for (size_t i = 0; i < test.pointers_.size() && i < capacity; ++i) operators[i] = test.pointers_[i];
    *count = test.claimed_count_ == 0 ? static_cast<uint32_t>(test.pointers_.size()) : test.claimed_count_;
    return nullptr;
  }
  static EpStatus* EP_CALL InferTypes(EpPlugin* plugin, const EpOperatorInfo* op, const EpNode* node,
                                      EpInference* inference) {
    ++From(plugin).inferences_;
    return From(plugin).infer_(op, node, inference);
  }
  static const void* EP_CALL GetExtension(EpPlugin* plugin, const char* id) {
    return std::string_view(id) == EP_SCHEMA_EXTENSION ? &From(plugin).api_ : nullptr;
  }

  EpSchemaApi api_;
  EpPluginDescriptor descriptor_;
  core::LoadedPlugin plugin_;
  std::vector<EpOperatorInfo> operators_ = {Operator("Count")};
  std::vector<const EpOperatorInfo*> pointers_;
  uint32_t claimed_count_ = 0;
  int inferences_ = 0;
  Infer infer_;
};

TEST_F(PluginSchemasTest, WhatIsBehindACustomOperatorHasItsTypes) {
  const Model model = Read(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
    g (float[2,N] x) => (y) {
      c = acme.Count(x)
      s = Add(c, c)
      d = Cast<to = 11>(s)
      y = Transpose(d)
    })");
  EXPECT_EQ(TypeOf(model, "c"), "tensor(int64)[2,N]");
  EXPECT_EQ(TypeOf(model, "s"), "tensor(int64)[2,N]");
  EXPECT_EQ(TypeOf(model, "d"), "tensor(double)[2,N]");
  EXPECT_EQ(TypeOf(model, "y"), "tensor(double)[N,2]");
}

TEST_F(PluginSchemasTest, WithoutTheExtensionNothingIsKnownAndNothingFails) {
  descriptor_.GetExtension = nullptr;
  EXPECT_EQ(TypeOf(Read(kOneCount), "c"), "unknown");
  descriptor_.GetExtension = GetExtension;
  descriptor_.struct_size = offsetof(EpPluginDescriptor, GetExtension);
  EXPECT_EQ(TypeOf(Read(kOneCount), "c"), "unknown");
  EXPECT_EQ(inferences_, 0);
}

TEST_F(PluginSchemasTest, AreAskedInNestedGraphsAndBodiesOfFunctions) {
  const std::string bytes = OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1, "local" : 1]>
    g (float[3] x, bool b) => (y) {
      f = local.Twice(x)
      t = If(b) <then_branch = then_g () => (int64[M] p) { p = acme.Count(x) },
                 else_branch = else_g () => (int64[K] q) { q = Identity(f) }>
      y = Identity(t)
    }
    <domain: "local", opset_import: ["" : 17, "acme" : 1]> Twice (v) => (w) { c = acme.Count(v) w = Add(c, c) })");
  const std::unique_ptr<PluginSchemas> schemas = Schemas();
  core::ReadOptions options;
  options.schemas = schemas.get();
  options.keep_function = [](const core::Node&) { return false; };
  const Model model = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, options);
  EXPECT_EQ(TypeOf(model, "f"), "tensor(int64)[3]");
  const core::Node* branch = model.graph->FindValue("t")->producer();
  EXPECT_EQ(branch->subgraphs()[0]->FindValue("p")->type()->ToString(), "tensor(int64)[3]");
}

TEST_F(PluginSchemasTest, AFunctionOfTheModelGoesBeforeADescription) {
  operators_ = {Operator("Count", 3)};
  const Model model = Read(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
    g (float[3] x) => (y) { c = acme.Count(x) y = Identity(c) }
    <domain: "acme", opset_import: ["" : 17]> Count (v) => (w) { w = Neg(v) })");
  EXPECT_EQ(inferences_, 0) << "the call has one input, the description three";
  EXPECT_EQ(TypeOf(model, "c"), "unknown");
}

TEST_F(PluginSchemasTest, TheNewestVersionUpToTheModelsCounts) {
  operators_ = {Operator("Count", 1, 1), Operator("Count", 2, 3)};
  int64_t asked = 0;
  infer_ = [&](const EpOperatorInfo* op, const EpNode*, EpInference*) -> EpStatus* {
    asked = op->since_version;
    return nullptr;
  };
  const auto model = [](int version, const std::string& inputs) {
    return "<ir_version: 8, opset_import: [\"\" : 17, \"acme\" : " + std::to_string(version) +
           "]> g (float[2] x) => (y) { y = acme.Count(" + inputs + ") }";
  };
  EXPECT_EQ(Read(model(2, "x")).graph->nodes()[0]->since_version(), 1);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(Read(model(5, "x, x")).graph->nodes()[0]->since_version(), 3);
  EXPECT_EQ(asked, 3);
  EXPECT_THAT(FailureOf([&] { Read(model(5, "x")); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("has 1 inputs, 2 expected")));
}

TEST_F(PluginSchemasTest, NodesAreCheckedAgainstTheDescription) {
  EpOperatorAttribute bins = {sizeof(EpOperatorAttribute), EP_ATTRIBUTE_REQUIRED, "bins", EP_ATTRIBUTE_INT, 0};
  const EpOperatorAttribute* attributes[] = {&bins};
  operators_[0].attributes = attributes;
  operators_[0].attribute_count = 1;
  const auto failure = [&](const std::string& call) {
    return FailureOf([&] {
      Read("<ir_version: 8, opset_import: [\"\" : 17, \"acme\" : 1]> g (float[2] x) => (y) { y = acme." + call + " }");
    });
  };
  EXPECT_EQ(failure("Count<bins = 4>(x)"), "OK");
  EXPECT_EQ(failure("Count<bins = 4, other = 1.5>(x)"), "OK") << "what isn't listed is let through";
  EXPECT_THAT(failure("Count(x)"), AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("lacks the attribute 'bins'")));
  EXPECT_THAT(failure("Count<bins = 1.5>(x)"), HasSubstr("attribute 'bins' is of type float, int expected"));
  EXPECT_THAT(failure("Count<bins = 4>(x, x)"), HasSubstr("has 2 inputs, 1 expected"));
}

TEST_F(PluginSchemasTest, WhatIsKnownOfShapesIsKnownToThePlugin) {
  std::vector<std::vector<int64_t>> seen;
  infer_ = [&](const EpOperatorInfo*, const EpNode*, EpInference* inference) -> EpStatus* {
    const int64_t* values = nullptr;
    uint64_t count = 99;
    if (EpStatus* status = InferenceApi().GetInts(inference, 0, &values, &count)) return status;
    seen.emplace_back(values, values + count);
    return nullptr;
  };
  Read(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
    g (float[2,3] x, int64[2] run_time) => (a, b, c)
    <int64[2] two = {7, -1}>
    {
      s = Shape(x)
      a = acme.Count(s)
      b = acme.Count(two)
      c = acme.Count(run_time)
    })");
  EXPECT_THAT(seen, testing::ElementsAre(testing::ElementsAre(2, 3), testing::ElementsAre(7, -1), IsEmpty()));
}

TEST_F(PluginSchemasTest, ARejectionEndsReadingWithTheNodesName) {
  infer_ = [](const EpOperatorInfo*, const EpNode*, EpInference*) {
    return core::HostInfo()->status->Create(EP_STATUS_INVALID_GRAPH, "counts only matrices");
  };
  EXPECT_THAT(FailureOf([&] { Read(kOneCount); }), AllOf(HasSubstr("INVALID_GRAPH: Count node that makes 'c'"),
                                                         HasSubstr("'acme_ep'"), HasSubstr("counts only matrices")));
}

TEST_F(PluginSchemasTest, AContradictionWithTheModelIsRefused) {
  EXPECT_THAT(FailureOf([&] {
                Read(R"(<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
                  g (float[2] x) => (float[2] y) { y = acme.Count(x) })");
              }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr("declared as tensor(float)[2], but is tensor(int64)[2]")));
}

TEST_F(PluginSchemasTest, OneThatFailsOtherwiseLeavesTheTypeUnknown) {
  infer_ = [](const EpOperatorInfo*, const EpNode*, EpInference* inference) {
    const EpTypeInfo type = TensorType(EP_TYPE_INT64, {});
    core::HostInfo()->status->Release(InferenceApi().SetOutput(inference, 0, &type));
    return core::HostInfo()->status->Create(EP_STATUS_FAIL, "no idea");
  };
  EXPECT_EQ(TypeOf(Read(kOneCount), "c"), "unknown");
  infer_ = [](const EpOperatorInfo*, const EpNode*, EpInference*) -> EpStatus* { throw std::runtime_error("thrown"); };
  EXPECT_EQ(TypeOf(Read(kOneCount), "c"), "unknown");
  infer_ = [](const EpOperatorInfo*, const EpNode*, EpInference*) -> EpStatus* { throw 7; };
  EXPECT_EQ(TypeOf(Read(kOneCount), "c"), "unknown");
}

TEST_F(PluginSchemasTest, TypesThatNoneCanBeAreRefused) {
  const std::vector<int64_t> dims = {2, 3};
  EpTypeInfo good = TensorType(EP_TYPE_UINT8, dims);
  EXPECT_EQ(Claim(good), std::pair(std::string("OK"), std::string("tensor(uint8)[2,3]")));

  const auto refused = [&](const std::function<void(EpTypeInfo&)>& spoil) {
    EpTypeInfo bad = TensorType(EP_TYPE_UINT8, dims);
    spoil(bad);
    const auto [answer, type] = Claim(bad);
    EXPECT_EQ(type, "unknown");
    return answer;
  };
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.struct_size = 8; }), HasSubstr("struct_size 8"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.kind = 6; }), HasSubstr("kind 6"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.element_type = 0; }), HasSubstr("element type 0"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.element_type = 27; }), HasSubstr("element type 27"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.element_type = -1; }), HasSubstr("element type -1"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.rank = 65; }), HasSubstr("rank 65"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.rank = INT32_MAX; }), HasSubstr("rank 2147483647"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.rank = -2; }), HasSubstr("rank -2"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.dims = nullptr; }), HasSubstr("dims are null"));
  const int64_t negative[] = {2, -7};
  EXPECT_THAT(refused([&](EpTypeInfo& type) { type.dims = negative; }), HasSubstr("dimension 1 is -7"));
  const int64_t unknown[] = {-1, 3};
  const std::string long_name(1000, 'n');
  const char* endless[] = {long_name.c_str(), nullptr};
  EXPECT_THAT(refused([&](EpTypeInfo& type) {
                type.dims = unknown;
                type.dim_names = endless;
              }),
              HasSubstr("does not end"));
  const char* broken[] = {"a\nb", nullptr};
  EXPECT_THAT(refused([&](EpTypeInfo& type) {
                type.dims = unknown;
                type.dim_names = broken;
              }),
              HasSubstr("printable"));
  EXPECT_THAT(refused([](EpTypeInfo& type) { type.kind = EP_KIND_SEQUENCE; }), HasSubstr("is null"));
  EpTypeInfo circle = TensorType(EP_TYPE_UINT8, dims);
  circle.kind = EP_KIND_OPTIONAL;
  circle.element = &circle;
  EXPECT_THAT(Claim(circle).first, HasSubstr("nested"));
}

TEST_F(PluginSchemasTest, OutputsThatTheNodeDoesNotHaveAreRefused) {
  std::string answer;
  infer_ = [&](const EpOperatorInfo*, const EpNode*, EpInference* inference) -> EpStatus* {
    const EpTypeInfo type = TensorType(EP_TYPE_INT64, {});
    EpStatus* status = InferenceApi().SetOutput(inference, 1, &type);
    answer = core::HostInfo()->status->GetMessage(status);
    return status;
  };
  EXPECT_EQ(TypeOf(Read(kOneCount), "c"), "unknown");
  EXPECT_THAT(answer, HasSubstr("output 1 of 1"));
}

TEST_F(PluginSchemasTest, AnInferenceIsGoodInItsOwnCallOnly) {
  EpInference* kept = nullptr;
  infer_ = [&](const EpOperatorInfo*, const EpNode*, EpInference* inference) -> EpStatus* {
    kept = inference;
    return nullptr;
  };
  Read(kOneCount);
  EpTypeInfo type = TensorType(EP_TYPE_INT64, {});
  const int64_t* values = nullptr;
  uint64_t count = 0;
  for (EpInference* stale : {kept, static_cast<EpInference*>(nullptr), reinterpret_cast<EpInference*>(&type)}) {
    for (EpStatus* status :
         {InferenceApi().SetOutput(stale, 0, &type), InferenceApi().GetInts(stale, 0, &values, &count)}) {
      ASSERT_NE(status, nullptr);
      EXPECT_EQ(core::HostInfo()->status->GetCode(status), EP_STATUS_INVALID_ARGUMENT);
      core::HostInfo()->status->Release(status);
    }
  }
}

TEST_F(PluginSchemasTest, DescriptionsThatCanNotBeRightAreLeftOut) {
  EXPECT_TRUE(IsKnown(Operator("Count")));
  const auto known = [&](const std::function<void(EpOperatorInfo&)>& spoil) {
    EpOperatorInfo info = Operator("Count");
    spoil(info);
    return IsKnown(info);
  };
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.struct_size = 16; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.reserved = 1; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.domain = nullptr; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.domain = ""; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.domain = "ai.onnx.ml"; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.name = nullptr; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.name = "Co\nunt"; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.since_version = 0; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.min_inputs = 2; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.min_outputs = 3; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.attribute_count = 1; }));
  EXPECT_FALSE(known([](EpOperatorInfo& info) { info.attribute_count = UINT64_MAX; }));
  const EpOperatorAttribute* missing[] = {nullptr};
  EXPECT_FALSE(known([&](EpOperatorInfo& info) {
    info.attributes = missing;
    info.attribute_count = 1;
  }));
  const EpOperatorAttribute strange = {sizeof strange, 0, "bins", 15, 0};
  const EpOperatorAttribute* stranger[] = {&strange};
  EXPECT_FALSE(known([&](EpOperatorInfo& info) {
    info.attributes = stranger;
    info.attribute_count = 1;
  }));
}

TEST_F(PluginSchemasTest, OneBadDescriptionDoesNotCostTheOthers) {
  operators_ = {Operator(""), Operator("Count"), Operator("Count", 2)};
  const auto schemas = Schemas();
  const CustomOperator* count = schemas->Find(kDomain, "Count", 1);
  ASSERT_NE(count, nullptr);
  EXPECT_EQ(count->max_inputs, 1u) << "the first of two counts";
  pointers_.push_back(nullptr);
  EXPECT_NE(PluginSchemas(plugin_).Find(kDomain, "Count", 1), nullptr);
}

TEST_F(PluginSchemasTest, MoreOperatorsThanTheFirstAnswerHasRoomForAreAllKnown) {
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("Op" + std::to_string(i));
  operators_.clear();
  for (const std::string& name : names) operators_.push_back(Operator(name.c_str()));
  EXPECT_EQ(Schemas()->OperatorsOf(kDomain).size(), 300u);
}

TEST_F(PluginSchemasTest, ATableThatCanNotBeRightIsNotUsed) {
  const auto known = [&] { return !Schemas()->OperatorsOf(kDomain).empty(); };
  ASSERT_TRUE(known());
  claimed_count_ = UINT32_MAX;
  EXPECT_FALSE(known());
  claimed_count_ = 0;
  api_.InferTypes = nullptr;
  EXPECT_FALSE(known());
  api_.InferTypes = InferTypes;
  api_.struct_size = 8;
  EXPECT_FALSE(known());
  api_.struct_size = sizeof api_;
  api_.reserved = 1;
  EXPECT_FALSE(known());
}

}  // namespace
}  // namespace epiphyte::test
