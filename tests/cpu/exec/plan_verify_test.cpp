// A plan is verified as a whole before anything is built from it, whatever its origin. The plans here are such as a
// hostile file could contain.
#include <gmock/gmock.h>

#include <limits>

#include "epiphyte/kit/memory/heap.hpp"
#include "plugins/cpu/exec/fuse.h"
#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns the message with which building the plan fails; "" when it succeeds.
std::string Refusal(kit::ir::Graph def, std::vector<kit::PackedData> packed = {}) {
  try {
    PlanRunner runner(std::move(def), false, std::move(packed), cpu::PlanOrigin::kContext);
  } catch (const kit::Error& error) {
    EXPECT_EQ(error.code(), EP_STATUS_INVALID_GRAPH) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the cpu context is damaged"), HasSubstr("compile the model again")));
    return error.what();
  }
  return "";
}

// Changes the type of `value`. A constant gets bytes for as many elements, as in a forged context with valid digests.
void Retype(kit::ir::Graph& def, int32_t value, cpu::ElementType type) {
  def.values[static_cast<size_t>(value)].type = type;
  if (def.FindConstant(value) == nullptr) return;
  kit::ir::Constant& constant = def.constants[static_cast<size_t>(def.constant_of_value[static_cast<size_t>(value)])];
  constant.tensor.type = type;
  const auto count = static_cast<size_t>(constant.tensor.Count());
  if (type == EP_TYPE_STRING) {
    constant.tensor.strings = std::make_shared<std::vector<std::string>>(count);
    constant.tensor.data = nullptr;
  } else {
    constant.owner = kit::AllocateShared(cpu::ElementBytes(type, count));
    std::memset(constant.owner.get(), 1, cpu::ElementBytes(type, count));
    constant.tensor.data = constant.owner.get();
  }
}

struct NodeCase {
  std::string op_type;
  int64_t version;
  std::string domain;
  std::vector<std::vector<int64_t>> inputs;  // the first is the plan's input, the others are constants
  std::vector<int64_t> output;
  std::vector<kit::ir::Attribute> attributes;
};

std::vector<NodeCase> NodesWithWeights() {
  const std::vector<int64_t> image = {1, 2, 4, 4};
  return {
      {"LSTM",
       14,
       "",
       {{2, 1, 3}, {1, 8, 3}, {1, 8, 2}, {1, 16}},
       {2, 1, 1, 2},
       {kit::ir::Attribute::Int("hidden_size", 2)}},
      {"Gemm", 13, "", {{2, 3}, {3, 4}, {4}}, {2, 4}, {}},
      {"Gemm", 1, "epiphyte.kit", {{2, 3}, {3, 4}, {4}}, {2, 4}, {kit::ir::Attribute::String("activation", "Relu")}},
      {"MatMul", 1, "epiphyte.kit", {{2, 3}, {3, 4}, {4}, {2, 4}}, {2, 4}, {}},
      {"Conv", 11, "", {image, {3, 2, 3, 3}, {3}}, {1, 3, 2, 2}, {}},
      {"Conv", 1, "epiphyte.kit", {image, {3, 2, 3, 3}, {3}, {1, 3, 2, 2}}, {1, 3, 2, 2}, {}},
      {"ConvTranspose", 11, "", {image, {2, 3, 3, 3}, {3}}, {1, 3, 6, 6}, {}},
      {"LayerNormalization", 17, "", {{2, 4}, {4}, {4}}, {2, 4}, {}},
      {"BatchNormalization", 9, "", {image, {2}, {2}, {2}, {2}}, image, {}}};
}

kit::ir::Graph Build(const NodeCase& node) {
  PlanBuilder b;
  std::vector<int32_t> inputs = {b.Input(node.inputs[0])};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    size_t count = 1;
    for (int64_t dim : node.inputs[i]) count *= static_cast<size_t>(dim);
    inputs.push_back(b.Constant(node.inputs[i], std::vector<float>(count, 0.5f)));
  }
  b.Output(b.Node(node.op_type, node.version, inputs, node.output, node.attributes));
  kit::ir::Graph def = b.Take();
  def.nodes[0].domain = node.domain;
  for (kit::ir::Constant& constant : def.constants) constant.storage = kit::ir::Constant::Storage::kOwned;
  return def;
}

TEST(VerifyPlan, TakesWhatFits) {
  for (const NodeCase& node : NodesWithWeights()) EXPECT_EQ(Refusal(Build(node)), "") << node.domain << node.op_type;
}

TEST(VerifyPlan, RefusesWeightsOfATypeThatTheKernelDoesNotRead) {
  for (const NodeCase& node : NodesWithWeights()) {
    for (size_t input = 1; input < node.inputs.size(); ++input) {
      for (cpu::ElementType type : {EP_TYPE_STRING, EP_TYPE_INT8, EP_TYPE_DOUBLE}) {
        if (node.op_type == "BatchNormalization" && type == EP_TYPE_DOUBLE && input > 2) continue;
        SCOPED_TRACE(fmt::format("{} {} input {} of {}", node.domain, node.op_type, input, cpu::TypeName(type)));
        kit::ir::Graph def = Build(node);
        Retype(def, def.nodes[0].inputs[input], type);
        EXPECT_THAT(Refusal(std::move(def)),
                    AllOf(HasSubstr(fmt::format("input {} (", input)),
                          HasSubstr(fmt::format("is of type {}; float", cpu::TypeName(type))), HasSubstr(" expected")));
      }
    }
  }
}

TEST(VerifyPlan, RefusesConstantsWithoutAType) {
  for (const NodeCase& node : NodesWithWeights()) {
    for (size_t input = 1; input < node.inputs.size(); ++input) {
      kit::ir::Graph def = Build(node);
      Retype(def, def.nodes[0].inputs[input], EP_TYPE_UNDEFINED);
      EXPECT_THAT(Refusal(std::move(def)), HasSubstr("its type makes no sense")) << node.op_type << input;
    }
  }
}

TEST(VerifyPlan, RefusesQuantisedWeightsOfATypeThatTheKernelDoesNotRead) {
  for (cpu::ElementType type : {EP_TYPE_STRING, EP_TYPE_FLOAT, EP_TYPE_INT32}) {
    PlanBuilder b;
    const int32_t x = b.Input({1, 1, 4, 4});
    b.Info(x).type = EP_TYPE_UINT8;
    const int32_t w = b.Constant({1, 1, 3, 3}, std::vector<float>(9, 1));
    const int32_t y = b.Node("ConvInteger", 10, {x, w}, {1, 1, 2, 2});
    b.Info(y).type = EP_TYPE_INT32;
    b.Output(y);
    kit::ir::Graph def = b.Take();
    Retype(def, w, type);
    EXPECT_THAT(Refusal(std::move(def)), HasSubstr("input 1 ('w') is of type " + cpu::TypeName(type)));
  }
}

TEST(VerifyPlan, RefusesWhatIsLeftOutAndWhatIsTooMuch) {
  NodeCase gemm = NodesWithWeights()[1];
  kit::ir::Graph def = Build(gemm);
  def.nodes[0].inputs[1] = -1;
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("input 1 ('B') is left out; the operator needs it"));
  def = Build(gemm);
  def.nodes[0].inputs.resize(1);
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("input 1 ('B') is left out; the operator needs it"));
  def = Build(gemm);
  def.nodes[0].inputs.push_back(def.nodes[0].inputs[0]);
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("4 inputs found; 3 at most expected"));
  def = Build(gemm);
  def.nodes[0].outputs.push_back(-1);
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("2 outputs found; 1 at most expected"));
}

TEST(VerifyPlan, RefusesOtherKindsRanksAndOperators) {
  const NodeCase lstm = NodesWithWeights()[0];
  kit::ir::Graph def = Build(lstm);
  def.values[0].kind = EP_KIND_SEQUENCE;
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("input 0 ('X') is a sequence; a tensor expected"));
  def = Build(lstm);
  def.values[0].rank = 2;
  def.values[0].dims.resize(2);
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("input 0 ('X') has rank 2; 3 expected"));
  def = Build(lstm);
  def.values[0].rank = 5;
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("makes no sense"));
  def = Build(lstm);
  def.nodes[0].op_type = "Nonsense";
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("no kernel for operator Nonsense"));
  def = Build(lstm);
  def.nodes[0].domain = "nowhere";
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("no kernel for operator nowhere.LSTM"));
  def = Build(lstm);
  def.nodes[0].since_version = 0;
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("since version 0"));
}

TEST(VerifyPlan, RefusesAttributesOfAnotherTypeOrOutOfRange) {
  kit::ir::Graph def = Build(NodesWithWeights()[4]);
  def.nodes[0].attributes = {kit::ir::Attribute::Float("group", 1)};
  EXPECT_THAT(Refusal(def), HasSubstr("attribute 'group' is a float; an integer expected"));
  def.nodes[0].attributes = {kit::ir::Attribute::Int("group", 0)};
  EXPECT_THAT(Refusal(def), HasSubstr("attribute 'group' is 0; 1 or more expected"));
  def.nodes[0].attributes = {kit::ir::Attribute::Ints("strides", {1, 0})};
  EXPECT_THAT(Refusal(def), HasSubstr("attribute 'strides' is 0; 1 or more expected"));
  def.nodes[0].attributes = {kit::ir::Attribute::Int("group", 1), kit::ir::Attribute::Int("group", 2)};
  EXPECT_THAT(Refusal(def), HasSubstr("attribute 'group' is there twice"));
  def.nodes[0].attributes = {kit::ir::Attribute::Int("group", 1)};
  def.nodes[0].attributes[0].ints.clear();
  EXPECT_THAT(Refusal(def), HasSubstr("attribute 'group' doesn't hold an integer"));
  def.nodes[0].attributes = {kit::ir::Attribute::Int("anything", 1)};
  def.nodes[0].attributes[0].type = EP_ATTRIBUTE_GRAPH;
  EXPECT_THAT(Refusal(def), HasSubstr("nested graphs are run by the host"));
}

TEST(VerifyPlan, RefusesValuesOutOfOrder) {
  const NodeCase gemm = NodesWithWeights()[1];
  kit::ir::Graph def = Build(gemm);
  def.nodes[0].inputs[2] = def.nodes[0].outputs[0];
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("which nothing made before"));
  for (int32_t index : {-2, 1000, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    def = Build(gemm);
    def.nodes[0].inputs[1] = index;
    EXPECT_THAT(Refusal(def), HasSubstr("which nothing made before")) << index;
    def = Build(gemm);
    def.nodes[0].outputs[0] = index;
    EXPECT_THAT(Refusal(def), HasSubstr("does not exist")) << index;
    def = Build(gemm);
    def.outputs[0] = index;
    EXPECT_THAT(Refusal(def), HasSubstr("which nothing makes")) << index;
    def = Build(gemm);
    def.inputs[0] = index;
    EXPECT_THAT(Refusal(def), HasSubstr("does not exist")) << index;
  }
  def = Build(gemm);
  def.nodes[0].outputs[0] = def.inputs[0];
  EXPECT_THAT(Refusal(std::move(def)), HasSubstr("is made twice"));
}

TEST(VerifyPlan, RefusesPackedDataOfNoNodeAndTwiceTheSame) {
  const float bytes[16] = {};
  const kit::PackedData packed{1, "b", "nothing", bytes, sizeof bytes, nullptr};
  EXPECT_THAT(Refusal(Build(NodesWithWeights()[1]), {packed}), HasSubstr("packed data belongs to node 1 of 1"));
  kit::PackedData own = packed;
  own.node = 0;
  EXPECT_THAT(Refusal(Build(NodesWithWeights()[1]), {own, own}), HasSubstr("is there twice"));
}

// A constant with dropped data has only a shape, and the plan chooses a layout for that shape.
TEST(VerifyPlan, RefusesAShapeThatCanNotBePacked) {
  kit::ir::Graph def = Build(NodesWithWeights()[1]);
  kit::ir::Constant& weights = def.constants[0];
  const std::vector<int64_t> dims = {int64_t{3} << 32, 4};
  weights.storage = kit::ir::Constant::Storage::kDropped;
  weights.tensor.data = nullptr;
  weights.tensor.dims.assign(dims.data(), dims.size());
  def.values[static_cast<size_t>(weights.value)].dims = dims;
  const float bytes[64] = {};
  EXPECT_THAT(Refusal(std::move(def), {{0, "b", "blocked;", bytes, sizeof bytes, nullptr}}),
              HasSubstr("has 206158430208 bytes, of which its readers packed no more than 256"));
}

// Returns the refusal of an Elementwise program, tanh(x) + x, after `change` has been applied to its code.
std::string ProgramRefusal(const std::function<void(std::vector<int64_t>&)>& change) {
  std::vector<int64_t> code = {8, 0, -1, 0, 1, 0};
  change(code);
  PlanBuilder b;
  const int32_t x = b.Input({4});
  b.Output(b.Node("Elementwise", 1, {x}, {4},
                  {kit::ir::Attribute::Ints("code", code), kit::ir::Attribute::Floats("parameters", {0, 0, 0, 0})}));
  kit::ir::Graph def = b.Take();
  def.nodes[0].domain = "epiphyte.kit";
  return Refusal(std::move(def));
}

TEST(VerifyPlan, RefusesOperandsOfElementwiseProgramsThatAreNotThere) {
  EXPECT_EQ(ProgramRefusal([](std::vector<int64_t>&) {}), "");
  // The second operand of a unary operation is checked, too, although nothing reads it.
  for (int64_t operand : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{2000001}, int64_t{-2}, int64_t{INT32_MAX}})
    EXPECT_THAT(ProgramRefusal([&](std::vector<int64_t>& code) { code[2] = operand; }),
                HasSubstr(fmt::format("operand 1 of instruction 0 is {}", operand)));
  for (int64_t operand : {int64_t{2}, int64_t{3}, int64_t{-1}, int64_t{1} << 32, std::numeric_limits<int64_t>::min()})
    EXPECT_THAT(ProgramRefusal([&](std::vector<int64_t>& code) { code[1] = operand; }),
                HasSubstr(fmt::format("operand 0 of instruction 0 is {}", operand)));
  EXPECT_THAT(ProgramRefusal([](std::vector<int64_t>& code) { code[4] = code[5] = -1; }), HasSubstr("operand 0"));
  EXPECT_THAT(ProgramRefusal([](std::vector<int64_t>& code) { code[3] = 1000; }), HasSubstr("operation 1000"));
  EXPECT_THAT(ProgramRefusal([](std::vector<int64_t>& code) { code.pop_back(); }), HasSubstr("5 integers"));
}

// Every registered kernel has a signature that is no newer than the last version it is for.
TEST(Signatures, AreThereForEveryKernel) {
  size_t kernels = 0;
  AllKernels().ForEach([&](std::string_view domain, std::string_view op_type, const cpu::KernelRegistry::Entry& entry) {
    ++kernels;
    const auto signatures = kit::FindSignatures(domain, op_type);
    EXPECT_FALSE(signatures.empty()) << domain << "." << op_type;
    if (!signatures.empty()) {
      EXPECT_LE(signatures.front().since_version, entry.last_version) << domain << "." << op_type;
    }
  });
  EXPECT_GT(kernels, 200u);
}

TEST(Signatures, RefuseAnArgumentThatHasNoParameterWhateverIsKnownOfIt) {
  const std::vector<cpu::ArgumentType> left_out_then_unknown = {{}, {true}};
  const cpu::ArgumentType unknown = {true};
  std::string why;
  EXPECT_FALSE(kit::Match(kit::FindSignatures("", "Relu").front(), left_out_then_unknown, {}, &why).fits);
  EXPECT_EQ(why, "2 inputs found; 1 at most expected");
  EXPECT_FALSE(kit::Match(kit::FindSignatures("", "Constant").front(), {&unknown, 1}, {}, &why).fits);
  EXPECT_EQ(why, "1 inputs found; 0 at most expected");
}

}  // namespace
}  // namespace epiphyte::test
