// Values with a type unknown before the run, as after a custom operator: kernels are chosen by the types at run time.
#include <gmock/gmock.h>

#include "tests/cpu/exec/plan_host.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

// An input tensor for a run.
struct Given {
  cpu::ElementType type;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  template <typename T>
  static Given Of(std::vector<int64_t> dims, const std::vector<T>& values) {
    Given given{cpu::kTypeOf<T>, std::move(dims), std::vector<std::byte>(values.size() * sizeof(T))};
    std::memcpy(given.bytes.data(), values.data(), given.bytes.size());
    return given;
  }
};

// Runs plans with inputs of any type, and keeps frames between runs as the provider does.
class AnyRunner {
 public:
  explicit AnyRunner(kit::ir::Graph def) : runner_(std::move(def)) {}

  // Returns the elements of the first output.
  template <typename T>
  std::vector<T> Run(const std::vector<Given>& inputs) {
    FakeRun run;
    run.tensors.resize(inputs.size());
    run.views.resize(inputs.size());
    run.outputs.resize(runner_.plan().def().outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Given& input = inputs[i];
      int64_t count = 1;
      for (int64_t dim : input.dims) count *= dim;
      EpTensorView& tensor = run.tensors[i];
      tensor = {};
      tensor.struct_size = sizeof tensor;
      tensor.element_type = input.type;
      tensor.rank = static_cast<uint32_t>(input.dims.size());
      tensor.dims = input.dims.data();
      tensor.data = input.bytes.data();
      tensor.element_count = static_cast<uint64_t>(count);
      tensor.byte_size = input.bytes.size();
      run.views[i] = {sizeof(EpValueView), EP_KIND_TENSOR, &run.tensors[i], nullptr, 0, 0, 0};
      run.inputs.push_back(&run.views[i]);
    }
    const EpRunInfo info = {sizeof info, static_cast<uint32_t>(inputs.size()),
                            static_cast<uint32_t>(run.outputs.size()), 1, run.inputs.data()};
    const kit::Run seen(*FakeHost(), reinterpret_cast<EpRun*>(&run), info);
    cpu::Frame* frame = nullptr;
    for (const auto& known : frames_)
      if (known->Matches(info)) frame = known.get();
    if (frame == nullptr) {
      frames_.push_back(std::make_unique<cpu::Frame>(runner_.plan(), seen));
      frame = frames_.back().get();
    }
    frame->Execute(seen);
    std::vector<T> values(run.outputs[0].bytes / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), run.outputs[0].memory.get(), run.outputs[0].bytes);
    return values;
  }

 private:
  PlanRunner runner_;
  std::vector<std::unique_ptr<cpu::Frame>> frames_;
};

// Makes type, kind and shape of a value unknown.
void Forget(PlanBuilder& b, int32_t value) {
  b.Info(value).type = EP_TYPE_UNDEFINED;
  b.Info(value).kind = EP_KIND_UNKNOWN;
  b.Info(value).rank = -1;
  b.Info(value).dims.clear();
}

// Returns the graph op(x, constants), with x and the result of unknown type and shape.
kit::ir::Graph Unknown(const std::string& op_type, int64_t version, std::vector<std::vector<float>> constants = {},
                       std::vector<kit::ir::Attribute> attributes = {}) {
  PlanBuilder b;
  std::vector<int32_t> inputs = {b.Input({})};
  for (std::vector<float>& constant : constants) {
    const auto size = static_cast<int64_t>(constant.size());
    inputs.push_back(b.Constant({size}, std::move(constant)));
  }
  const int32_t y = b.Node(op_type, version, inputs, {}, std::move(attributes));
  Forget(b, inputs[0]);
  Forget(b, y);
  b.Output(y);
  return b.Take();
}

// Returns the result of the operator when the type is known beforehand.
template <typename T>
std::vector<double> Known(const std::string& op_type, int64_t version, const std::vector<int64_t>& dims,
                          const std::vector<T>& x, const std::vector<std::vector<float>>& constants = {},
                          const std::vector<kit::ir::Attribute>& attributes = {}) {
  OpRunner runner(op_type, version);
  runner.Input<T>(dims, x);
  for (const auto& constant : constants) runner.Input<float>({static_cast<int64_t>(constant.size())}, constant);
  for (const kit::ir::Attribute& attribute : attributes) runner.AddAttribute(attribute);
  runner.Run();
  std::vector<double> values;
  for (T value : runner.template Output<T>(0)) values.push_back(static_cast<double>(static_cast<float>(value)));
  return values;
}

template <typename T>
std::vector<T> Ramp(size_t count) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(T(static_cast<float>(i) * 0.25f - 1.0f));
  return values;
}

template <typename T>
void ExpectTheNumbersOfTheKnownType(const std::string& op_type, int64_t version,
                                    const std::vector<std::vector<float>>& constants = {},
                                    const std::vector<kit::ir::Attribute>& attributes = {}) {
  SCOPED_TRACE(op_type + " of " + cpu::TypeName(cpu::kTypeOf<T>));
  const std::vector<int64_t> dims = {1, 3, 2, 2};
  AnyRunner runner(Unknown(op_type, version, constants, attributes));
  const std::vector<double> expected = Known<T>(op_type, version, dims, Ramp<T>(12), constants, attributes);
  for (int run = 0; run < 2; ++run) {
    std::vector<double> found;
    for (T value : runner.Run<T>({Given::Of<T>(dims, Ramp<T>(12))}))
      found.push_back(static_cast<double>(static_cast<float>(value)));
    EXPECT_THAT(found, Pointwise(DoubleNear(1e-6), expected));
  }
}

template <typename T>
void ExpectTheNumbersOfTheKnownTypeForAllOperators() {
  const std::vector<std::vector<float>> statistics = {{1, 2, 3}, {0, 1, 0}, {0.5f, 0, 0}, {1, 1, 4}};
  ExpectTheNumbersOfTheKnownType<T>("BatchNormalization", 15, statistics);
  ExpectTheNumbersOfTheKnownType<T>("LRN", 13, {}, {kit::ir::Attribute::Int("size", 3)});
  ExpectTheNumbersOfTheKnownType<T>("MaxPool", 12, {}, {kit::ir::Attribute::Ints("kernel_shape", {2, 2})});
  ExpectTheNumbersOfTheKnownType<T>("AveragePool", 11, {}, {kit::ir::Attribute::Ints("kernel_shape", {2, 2})});
  ExpectTheNumbersOfTheKnownType<T>("GlobalAveragePool", 1);
  ExpectTheNumbersOfTheKnownType<T>("GlobalMaxPool", 1);
  ExpectTheNumbersOfTheKnownType<T>("LpPool", 11, {}, {kit::ir::Attribute::Ints("kernel_shape", {2, 2})});
  ExpectTheNumbersOfTheKnownType<T>("Softmax", 13);
  ExpectTheNumbersOfTheKnownType<T>("Relu", 14);
}

TEST(DeferredKernel, TakesDoublesAfterAValueOfUnknownType) { ExpectTheNumbersOfTheKnownTypeForAllOperators<double>(); }
TEST(DeferredKernel, TakesHalfFloatsAfterAValueOfUnknownType) {
  ExpectTheNumbersOfTheKnownTypeForAllOperators<cpu::Float16>();
}
TEST(DeferredKernel, TakesFloatsAfterAValueOfUnknownType) { ExpectTheNumbersOfTheKnownTypeForAllOperators<float>(); }

TEST(DeferredKernel, ServesEachTypeThatArrives) {
  AnyRunner runner(Unknown("LRN", 13, {}, {kit::ir::Attribute::Int("size", 3)}));
  const std::vector<int64_t> dims = {1, 3, 2, 2};
  for (int round = 0; round < 2; ++round) {
    const std::vector<double> doubles = runner.Run<double>({Given::Of<double>(dims, Ramp<double>(12))});
    const std::vector<float> floats = runner.Run<float>({Given::Of<float>(dims, Ramp<float>(12))});
    const std::vector<double> expected =
        Known<double>("LRN", 13, dims, Ramp<double>(12), {}, {kit::ir::Attribute::Int("size", 3)});
    EXPECT_THAT(doubles, Pointwise(DoubleNear(1e-6), expected));
    EXPECT_THAT(std::vector<double>(floats.begin(), floats.end()), Pointwise(DoubleNear(1e-6), expected));
  }
}

TEST(DeferredKernel, PacksWeightsWhenItIsMade) {
  PlanBuilder b;
  const int32_t x = b.Input({});
  const int32_t w = b.Constant({2, 3}, {1, 2, 3, 4, 5, 6});
  const int32_t y = b.Node("MatMul", 13, {x, w}, {});
  Forget(b, x);
  Forget(b, y);
  b.Output(y);
  AnyRunner runner(b.Take());
  EXPECT_THAT(runner.Run<float>({Given::Of<float>({1, 2}, {1, 10})}), ElementsAre(41, 52, 63));
  EXPECT_THAT(runner.Run<float>({Given::Of<float>({2, 2}, {1, 10, 0, 1})}), ElementsAre(41, 52, 63, 4, 5, 6));
}

// A long-lived plan meets many types; the test uses different ranks in their place.
TEST(DeferredKernel, IsKeptForTheSixteenTypesThatEachNodeWasAskedForLast) {
  PlanBuilder b;
  const int32_t x = b.Input({});
  const int32_t w = b.Constant({2, 3}, {1, 2, 3, 4, 5, 6});
  const int32_t copy = b.Node("Identity", 13, {x}, {});
  const int32_t y = b.Node("MatMul", 13, {copy, w}, {});
  for (int32_t value : {x, copy, y}) Forget(b, value);
  b.Output(y);
  const PlanRunner runner(b.Take(), false);
  const auto ask = [&](size_t node, int32_t rank) -> std::weak_ptr<const cpu::Kernel> {
    const std::vector<cpu::ArgumentType> inputs(node + 1, {true, EP_KIND_TENSOR, EP_TYPE_FLOAT, rank});
    return runner.plan().DeferredKernel(node, inputs);
  };
  const std::weak_ptr<const cpu::Kernel> product = ask(1, 2), used = ask(0, 1000);
  std::vector<std::weak_ptr<const cpu::Kernel>> made;
  for (int32_t rank = 0; rank < 40; ++rank) {
    made.push_back(ask(0, rank));
    EXPECT_EQ(ask(0, 1000).lock(), used.lock());
  }
  EXPECT_FALSE(product.expired()) << "another node's";
  EXPECT_FALSE(used.expired()) << "it was asked for all the time";
  for (size_t rank = 0; rank < made.size(); ++rank) EXPECT_EQ(made[rank].expired(), rank < 40 - 15) << rank;
}

// Returns the message of a run that fails because no kernel takes the types of its inputs.
std::string Complaint(kit::ir::Graph def, const std::vector<Given>& inputs) {
  AnyRunner runner(std::move(def));
  try {
    runner.Run<float>(inputs);
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

TEST(DeferredKernel, NamesNodeInputAndTypesWhenNothingFits) {
  PlanBuilder b;
  const int32_t x = b.Input({});
  const int32_t w = b.Constant({2, 3}, {1, 2, 3, 4, 5, 6});
  const int32_t y = b.Node("MatMul", 13, {x, w}, {});
  Forget(b, x);
  Forget(b, y);
  b.Output(y);
  EXPECT_THAT(Complaint(b.Take(), {Given::Of<double>({1, 2}, {1, 10})}),
              AllOf(HasSubstr("node 'MatMul0' (MatMul)"),
                    HasSubstr("input 1 ('B') is of type float; double expected, as input 0 is")));
  EXPECT_THAT(Complaint(Unknown("LRN", 13, {}, {kit::ir::Attribute::Int("size", 3)}),
                        {Given::Of<int8_t>({1, 3, 1, 1}, {1, 2, 3})}),
              AllOf(HasSubstr("node 'LRN0' (LRN)"), HasSubstr("int8")));
}

TEST(DeferredKernel, AnOutputOfAnotherTypeThanDeclaredIsAnError) {
  PlanBuilder b;
  const int32_t x = b.Input({});
  const int32_t same = b.Node("Identity", 13, {x}, {4});  // declared as float
  Forget(b, x);
  b.Output(b.Node("Relu", 14, {same}, {4}));
  EXPECT_THAT(Complaint(b.Take(), {Given::Of<int8_t>({4}, {1, 2, 3, 4})}),
              HasSubstr("value 'v1' is of type int8; float expected"));
}

}  // namespace
}  // namespace epiphyte::test
