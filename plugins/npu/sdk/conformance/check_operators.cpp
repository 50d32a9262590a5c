// Checks of the rules on the results of operators.
#include "cases.h"
#include "reference.h"
#include "rules.h"

namespace epiphyte::nsdk_conformance {
namespace {

// Runs a graph and checks every operator. Each tensor of the graph is a constant, an input or an output.
std::string RunAndCompare(Sdk& sdk, NsdkContext* context, const TestGraph& graph, uint32_t seed) {
  const Program program = sdk.Load(context, sdk.BlobOf(context, graph));
  const std::vector<Bytes> inputs = RandomInputs(graph, seed);
  const std::vector<Bytes> outputs = sdk.RunOnce(program.get(), 0, graph, inputs);
  std::vector<Bytes> stored;
  for (const TestTensor& tensor : graph.tensors) stored.push_back(tensor.data);
  for (size_t i = 0; i < inputs.size(); ++i) stored[graph.inputs[i]] = inputs[i];
  for (size_t i = 0; i < outputs.size(); ++i) stored[graph.outputs[i]] = outputs[i];
  for (const TestOp& op : graph.ops) {
    std::string wrong = Compare(graph, op, 0, stored);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

void CompareCases(Sdk& sdk, const std::vector<uint32_t>& kinds, int count, CaseFeatures features) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  std::string why = "none of the cases";
  int accepted = 0;
  for (const uint32_t kind : kinds) {
    std::mt19937 random(1000 + kind);
    for (int i = 0; i < count; ++i) {
      const TestGraph graph = RandomCase(kind, random, features);
      if (!sdk.Accepts(context.get(), graph, &why)) continue;
      ++accepted;
      const std::string wrong = RunAndCompare(sdk, context.get(), graph, static_cast<uint32_t>(i));
      Expect(wrong.empty(), "{}", wrong);
    }
  }
  if (accepted == 0) throw NotApplicable{"the SDK declines the operator: " + why};
}

constexpr int kCases = 60;

}  // namespace

#define NSDK_OPERATOR(check, kind) \
  void check(Sdk& sdk) { CompareCases(sdk, {kind}, kCases, {}); }
NSDK_OPERATOR(ConvComputes, NSDK_CONV)
NSDK_OPERATOR(ConvTransposeComputes, NSDK_CONV_TRANSPOSE)
NSDK_OPERATOR(MatMulComputes, NSDK_MATMUL)
NSDK_OPERATOR(MaxPoolComputes, NSDK_MAX_POOL)
NSDK_OPERATOR(AveragePoolComputes, NSDK_AVERAGE_POOL)
NSDK_OPERATOR(AddComputes, NSDK_ADD)
NSDK_OPERATOR(SubComputes, NSDK_SUB)
NSDK_OPERATOR(MulComputes, NSDK_MUL)
NSDK_OPERATOR(MaximumComputes, NSDK_MAXIMUM)
NSDK_OPERATOR(MinimumComputes, NSDK_MINIMUM)
NSDK_OPERATOR(LookupComputes, NSDK_LOOKUP)
NSDK_OPERATOR(RescaleComputes, NSDK_RESCALE)
NSDK_OPERATOR(ConcatComputes, NSDK_CONCAT)
NSDK_OPERATOR(SliceComputes, NSDK_SLICE)
NSDK_OPERATOR(PadComputes, NSDK_PAD)
NSDK_OPERATOR(ReshapeComputes, NSDK_RESHAPE)
NSDK_OPERATOR(TransposeComputes, NSDK_TRANSPOSE)
NSDK_OPERATOR(ResizeComputes, NSDK_RESIZE)
NSDK_OPERATOR(SoftmaxComputes, NSDK_SOFTMAX)
NSDK_OPERATOR(LayerNormComputes, NSDK_LAYER_NORM)
NSDK_OPERATOR(ReduceMeanComputes, NSDK_REDUCE_MEAN)
#undef NSDK_OPERATOR

void LimitsHold(Sdk& sdk) {
  std::vector<uint32_t> kinds;
  for (uint32_t kind = 1; kind <= kLastKind; ++kind) kinds.push_back(kind);
  CompareCases(sdk, kinds, 12, {.limits = true});
}

void ScalesByChannel(Sdk& sdk) {
  CompareCases(sdk, {NSDK_CONV, NSDK_CONV_TRANSPOSE, NSDK_MATMUL}, 40, {.by_channel = true});
}

void OperatorsFollowEachOther(Sdk& sdk) {
  sdk.Require(NSDK_CAN_COMPILE, "NSDK_CAN_COMPILE");
  const Context context = sdk.MakeContext();
  std::mt19937 random(17);
  const TestGraph graph = SmallNet(random);
  std::string why;
  if (!sdk.Accepts(context.get(), graph, &why)) throw NotApplicable{"the SDK declines an operator of the net: " + why};
  const std::string wrong = RunAndCompare(sdk, context.get(), graph, 3);
  Expect(wrong.empty(), "{}", wrong);
}

}  // namespace epiphyte::nsdk_conformance
