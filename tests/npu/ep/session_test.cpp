// Sessions with the plugin: contexts, share groups, several threads, options, placement, and the CPU for other nodes.
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "tests/framework/resident_memory.h"
#include "tests/npu/ep/npu_harness.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Two convolutions; they are in two partitions if the NPU doesn't take the nodes `between` them.
std::string Net(const std::string& between, const std::string& weights = "1") {
  std::string w;
  for (int i = 0; i < 8 * 8 * 9; ++i) w += (i == 0 ? "" : ", ") + std::to_string((i * 7 + 3) % 200 - 100);
  return "g (uint8[1,8,6,6] x) => (uint8[1,8,6,6] y) <float s = {0.05}, uint8 z = {128}, int8[8,8,3,3] w = {" + w +
         "}, float ws = {0.00" + weights +
         "}> { dx = DequantizeLinear(x, s, z) dw = DequantizeLinear(w, ws) c = Conv <pads = [1,1,1,1]> (dx, dw) r = "
         "Relu(c) q = QuantizeLinear(r, s, z) d1 = DequantizeLinear(q, s, z) " +
         between +
         " q2 = QuantizeLinear(e, s, z) d2 = DequantizeLinear(q2, s, z) dw2 = DequantizeLinear(w, ws) c2 = Conv <pads "
         "= "
         "[1,1,1,1]> (d2, dw2) y = QuantizeLinear(c2, s, z) }";
}
const char* const kNothingBetween = "d0 = DequantizeLinear(x, s, z) e = Add(d1, d0)";
const char* const kFloatsBetween = "f = Sin(d1) e = Cos(f)";

class NpuSession : public NpuTest {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& model) {
    return temp_.Write(name, QuantisedModel(model));
  }
  const TempDir& temp() const { return temp_; }
  ValuePtr Input() { return Numbers().Bytes(DataType::kUint8, {1, 8, 6, 6}); }
  ValuePtr Run(core::Session& session) {
    const ValuePtr inputs[] = {Input()};
    return session.Run(inputs)[0];
  }
  core::SessionOptions Compiling(const std::string& name, std::vector<std::string> providers = {"npu"},
                                 const char* embed = "0") {
    core::SessionOptions options = Options(std::move(providers));
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed);
    options.Set("ep.context_file_path", (temp_ / name).string());
    return options;
  }

 private:
  TempDir temp_;
};

TEST_P(NpuSession, AContextGivesTheSameBitsAndTheSameBytes) {
  const auto model = Write("net.onnx", Net(kNothingBetween));
  for (const char* embed : {"0", "1"}) {
    std::vector<std::string> written;
    ValuePtr expected;
    for (int i = 0; i < 2; ++i) {
      core::Session session(environment(), model, Compiling("a.onnx", {"npu"}, embed));
      expected = Run(session);
      written.push_back(ReadFile(temp() / "a.onnx") + (*embed == '0' ? ReadFile(temp() / "a_npu.bin") : ""));
      core::Session loaded(environment(), temp() / "a.onnx", Options());
      EXPECT_TRUE(loaded.has_context());
      EXPECT_EQ(Distance(*Run(loaded), *expected), 0);
      std::filesystem::remove(temp() / "a.onnx");
      std::filesystem::remove(temp() / "a_npu.bin");
    }
    EXPECT_EQ(written[0] == written[1], true) << "two compilations differ";
    EXPECT_THAT(written[0], AllOf(HasSubstr("ep_sdk_version"), HasSubstr("hardware_architecture"),
                                  HasSubstr(IsSimulator() ? "npusim-16x16" : "minimal-64")));
  }
}

TEST_P(NpuSession, SeveralPartitionsAreInOneBinary) {
  const auto model = Write("net.onnx", Net(kFloatsBetween));
  core::Session session(environment(), model, Compiling("two.onnx", {"npu", "cpu"}));
  EXPECT_THAT(session.placement().Summary(), HasSubstr("npu 9 in 2 partitions"));
  EXPECT_TRUE(std::filesystem::exists(temp() / "two_npu.bin"));
  core::Session loaded(environment(), temp() / "two.onnx", Options({"npu", "cpu"}));
  EXPECT_EQ(Distance(*Run(loaded), *Run(session)), 0);
}

TEST_P(NpuSession, ThreeProvidersAreInOneContextModel) {
  if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
  const auto model =
      Write("three.onnx",
            "g (uint8[1,8] x) => (float[K] y) <float s = {0.1}, uint8 z = {10}> { d = DequantizeLinear(x, s, "
            "z) r = Relu(d) q = QuantizeLinear(r, s, z) e = DequantizeLinear(q, s, z) f = Sin(e) g = Cos(f) "
            "y = Unique(g) }");
  const auto run = [](core::Session& session) {
    const ValuePtr inputs[] = {Numbers().Bytes(DataType::kUint8, {1, 8})};
    return FloatsOf(*session.Run(inputs)[0]);
  };
  core::Session session(environment(), model, Compiling("three_ctx.onnx", {"npu", "vulkan", "cpu"}));
  EXPECT_THAT(session.placement().Summary(), AllOf(HasSubstr("npu 3"), HasSubstr("vulkan "), HasSubstr("cpu 1")));
  EXPECT_THAT(ReadFile(temp() / "three_ctx.onnx"),
              AllOf(HasSubstr("EpiphyteNPU"), HasSubstr("EpiphyteVulkan"), HasSubstr("EpiphyteCPU")));
  core::Session loaded(environment(), temp() / "three_ctx.onnx", Options({"npu", "vulkan", "cpu"}));
  EXPECT_EQ(run(loaded), run(session));
}

TEST_P(NpuSession, AShareGroupWritesOneBinaryWithEqualWeightsOnce) {
  Write("one.onnx", Net(kNothingBetween, "1"));
  Write("two.onnx", Net(kNothingBetween, "2"));
  { core::Session alone(environment(), temp() / "one.onnx", Compiling("alone.onnx")); }
  std::vector<ValuePtr> expected;
  for (const char* name : {"one", "two"}) {
    core::SessionOptions options = Compiling(std::string(name) + "_ctx.onnx");
    options.Set("ep.share_ep_contexts", "1");
    options.Set("ep.context_node_name_prefix", name);
    if (*name == 't') options.Set("ep.stop_share_ep_contexts", "1");
    core::Session session(environment(), temp() / (std::string(name) + ".onnx"), options);
    expected.push_back(Run(session));
  }
  std::vector<uint64_t> sizes;
  for (const auto& entry : std::filesystem::directory_iterator(temp().path()))
    if (entry.path().extension() == ".bin" && entry.path().stem() != "alone_npu") sizes.push_back(entry.file_size());
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_LT(sizes[0], 2 * std::filesystem::file_size(temp() / "alone_npu.bin"));
  core::SessionOptions options = Options();
  options.Set("ep.share_ep_contexts", "1");
  auto first = std::make_unique<core::Session>(environment(), temp() / "one_ctx.onnx", options);
  core::Session second(environment(), temp() / "two_ctx.onnx", options);
  EXPECT_EQ(Distance(*Run(*first), *expected[0]), 0);
  first.reset();
  EXPECT_EQ(Distance(*Run(second), *expected[1]), 0);
}

TEST_P(NpuSession, FourThreadsRunAtOnce) {
  core::Session session(environment(), Write("net.onnx", Net(kNothingBetween)), Options());
  const ValuePtr expected = Run(session);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        if (Distance(*Run(session), *expected) != 0) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Runs of programs that share scratch memory are executed one after the other, for any number of callers.
TEST_P(NpuSession, ContextsCanShareOneScratchMemory) {
  const auto model = Write("net.onnx", Net(kFloatsBetween));
  core::SessionOptions options = Options({"npu", "cpu"});
  core::Session alone(environment(), model, options);
  const ValuePtr expected = Run(alone);
  options.providers[0].options["share_scratch"] = "1";
  if (!IsSimulator()) {
    EXPECT_THAT(FailureOf([&] { core::Session session(environment(), model, options); }),
                HasSubstr("has no groups that share"));
    return;
  }
  core::Session session(environment(), model, options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        if (Distance(*Run(session), *expected) != 0) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The images take 32 KiB and the scratchpad 16 KiB. The rest is kept in host memory, which counts towards the run's
// limit.
TEST_P(NpuSession, ScratchMemoryCountsForTheRun) {
  if (!IsSimulator()) return;
  std::string net = Net(kNothingBetween);
  for (size_t at = net.find("6,6"); at != std::string::npos; at = net.find("6,6")) net.replace(at, 3, "64,64");
  const auto model = Write("large.onnx", net);
  core::SessionOptions options = Options();
  options.providers[0].options["scratchpad_kib"] = "16";
  options.providers[0].options["accumulator_kib"] = "4";
  const std::vector<ValuePtr> inputs = {Numbers().Bytes(DataType::kUint8, {1, 8, 64, 64})};
  core::Session unlimited(environment(), model, options);
  EXPECT_EQ(FailureOf([&] { unlimited.Run(inputs); }), "OK");
  options.Set("session.max_run_bytes", "60000");
  core::Session limited(environment(), model, options);
  EXPECT_THAT(FailureOf([&] { limited.Run(inputs); }), HasSubstr("session.max_run_bytes allows 60000"));
}

TEST_P(NpuSession, AThousandRunsTakeNoMoreMemory) {
  core::Session session(environment(), Write("net.onnx", Net(kNothingBetween)), Options());
  for (int i = 0; i < 100; ++i) Run(session);
  const uint64_t before = ResidentBytes();
  for (int i = 0; i < 1000; ++i) Run(session);
  if (!kFreedMemoryGoes) GTEST_SKIP() << "freed memory stays";
  EXPECT_LE(ResidentBytes(), before + (1 << 20));
}

TEST_P(NpuSession, ThePlacementSaysWhatTheNpuMakesOfANode) {
  const core::Placement placement = core::PlaceModel(environment(), Write("net.onnx", Net(kNothingBetween)), Options());
  std::string notes;
  for (const core::NodePlacement& node : placement.nodes)
    for (const std::string& note : node.notes) notes += node.op_type + ": " + note + "\n";
  EXPECT_THAT(notes, AllOf(HasSubstr("Conv: conv, kept within 128 and 255 on "), HasSubstr("Add: add on "),
                           HasSubstr("QuantizeLinear: part of Conv '"), HasSubstr("Relu: part of Conv '")));
}

TEST_P(NpuSession, WhatItDoesNotTakeIsDeclinedWithTheReason) {
  EXPECT_THAT(WhyNot("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }"),
              AllOf(HasSubstr("its input 0 'x' isn't dequantised"), HasSubstr("quantise the model to 8 bits")));
  EXPECT_THAT(
      WhyNot("g (uint8[N,4] x) => (uint8[N,4] y) <float s = {0.1}> { d = DequantizeLinear(x, s) r = Relu(d) y = "
             "QuantizeLinear(r, s) }"),
      AllOf(HasSubstr("the shape of 'x' isn't known before the run"), HasSubstr("fixed dimensions")));
  EXPECT_THAT(WhyNot("g (uint8[1,1,1,1,1,1,1,1,2] x) => (uint8[1,1,1,1,1,1,1,1,2] y) <float s = {0.1}> { d = "
                     "DequantizeLinear(x, s) r = Relu(d) y = QuantizeLinear(r, s) }"),
              HasSubstr("'x' has 9 dimensions, the NPU takes at most "));
  EXPECT_THAT(WhyNot("g (int16[4] x) => (int16[4] y) <float s = {0.1}> { d = DequantizeLinear(x, s) r = Relu(d) y = "
                     "QuantizeLinear <output_dtype = 5> (r, s) }"),
              HasSubstr("int16, expected 8 to 8 bits"));
  EXPECT_THAT(
      WhyNot("g (uint8[1,4] x) => (uint8[1,4] y) <float s = {0.1}, float t = {0.2}> { d = DequantizeLinear(x, s) r "
             "= CumSum(d, a) a = Constant <value_int = 1> () y = QuantizeLinear(r, s) }"),
      HasSubstr("the NPU's interface (nsdk.h) has no CumSum"));
}

// The next provider runs the nodes that the NPU doesn't take, with the same results as on its own.
TEST_P(NpuSession, WhatItDoesNotTakeRunsOnTheNextProvider) {
  struct Case {
    std::string model;
    DataType type;
    std::vector<int64_t> dims;
  };
  const auto unit = [](const std::string& type, const std::string& dims, const std::string& body) {
    return "g (" + type + dims + " x) => (" + type + "[] y) <float s = {0.1}, " + type +
           " z = {0}> { d = DequantizeLinear(x, s, z) " + body + " y = QuantizeLinear(r, s, z) }";
  };
  const Case cases[] = {
      {"g (uint8[1,4] x) => (float[1,4] y) { f = Cast <to = 1> (x) y = Relu(f) }", DataType::kUint8, {1, 4}},
      {unit("uint8", "[N,4]", "r = Relu(d)"), DataType::kUint8, {3, 4}},
      {unit("uint8", "[1,1,1,1,1,1,1,1,2]", "r = Sigmoid(d)"), DataType::kUint8, {1, 1, 1, 1, 1, 1, 1, 1, 2}},
      {unit("uint8", "[1,40]", "a = Constant <value_int = 1> () r = CumSum(d, a)"), DataType::kUint8, {1, 40}},
      {"g (uint8[4,8] x) => (int16[4,8] y) <float s = {0.1}, int16 z = {5}> { d = DequantizeLinear(x, s) r = Relu(d) y "
       "= QuantizeLinear(r, s, z) }",
       DataType::kUint8,
       {4, 8}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.model);
    EXPECT_NE(WhyNot(each.model), "");
    const std::string bytes = QuantisedModel(each.model);
    core::Session session(environment(), bytes.data(), bytes.size(), Options({"npu", "cpu"}));
    const ValuePtr inputs[] = {Numbers().Bytes(each.type, each.dims)};
    const ValuePtr expected = RunCpu(each.model, {inputs[0]})[0], found = session.Run(inputs)[0];
    ASSERT_EQ(found->byte_size(), expected->byte_size());
    EXPECT_EQ(std::memcmp(found->data(), expected->data(), found->byte_size()), 0);
  }
}

// A tensor larger than the memory on the chip is refused by the support query, or at the latest when it is compiled.
TEST_P(NpuSession, NodesLargerThanTheScratchpadGoToTheNextProvider) {
  if (!IsSimulator()) GTEST_SKIP() << "the minimal SDK computes in the host's memory";
  const std::map<std::string, std::string> small = {{"scratchpad_kib", "16"}, {"accumulator_kib", "4"}};
  const std::pair<std::string, const char*> cases[] = {
      {"g (uint8[1,30000] x) => (uint8[] y) <float s = {0.1}> { d = DequantizeLinear(x, s) c = Softmax(d) y = "
       "QuantizeLinear(c, s) }",
       "this NPU's scratchpad has room for"},
      {"g (uint8[1,1,160,160] x) => (uint8[] y) <float s = {0.1}> { d = DequantizeLinear(x, s) c = MaxPool "
       "<kernel_shape = [150,150]> (d) y = QuantizeLinear(c, s) }",
       "a window has 22500 elements, the NPU has at most"},
  };
  for (const auto& [model, why] : cases) {
    SCOPED_TRACE(model);
    EXPECT_THAT(WhyNot(model, small), HasSubstr(why));
    const std::string bytes = QuantisedModel(model);
    core::SessionOptions options = Options({"npu", "cpu"});
    options.providers[0].options = small;
    core::Session session(environment(), bytes.data(), bytes.size(), options);
    const std::vector<ValuePtr> inputs = {Numbers().Bytes(
        DataType::kUint8, model.find("30000") != std::string::npos ? std::vector<int64_t>{1, 30000}
                                                                   : std::vector<int64_t>{1, 1, 160, 160})};
    EXPECT_EQ(Distance(*session.Run(inputs)[0], *RunCpu(model, inputs)[0]), 0);
  }
}

// Float sums don't wrap around but int32 sums do, so the NPU must not take a sum that may overflow.
TEST_P(NpuSession, SumsThatOverflowInt32GoToTheNextProvider) {
  const auto product = [](int64_t terms, const std::string& weights) {
    const std::string n = std::to_string(terms);
    const bool is_input = weights.empty();
    return "g (uint8[1," + n + "] x" + (is_input ? ", uint8[" + n + ",1] w" : "") +
           ") => (uint8[1,1] y) <float s = {0.01}, float t = {2000.0}" + (is_input ? "" : ", " + weights) +
           "> { d = DequantizeLinear(x, s) e = DequantizeLinear(w, s) m = MatMul(d, e) y = QuantizeLinear(m, t) }";
  };
  const auto constant = [](int64_t terms, int number) {
    std::string text = "int8[" + std::to_string(terms) + ",1] w = {" + std::to_string(number);
    for (int64_t i = 1; i < terms; ++i) text += "," + std::to_string(number);
    return text + "}";
  };
  EXPECT_EQ(WhyNot(product(33000, "")), "");
  EXPECT_THAT(WhyNot(product(34000, "")),
              AllOf(HasSubstr("a sum of its 34000 products can be more than int32 holds"), HasSubstr("split it")));
  EXPECT_EQ(WhyNot(product(70000, constant(70000, -120))), "") << "that weights are small is seen";
  EXPECT_THAT(WhyNot(product(70000, constant(70000, -121))), HasSubstr("a sum of its 70000 products"));

  const std::string bytes = QuantisedModel(product(70000, ""));
  core::Session session(environment(), bytes.data(), bytes.size(), Options({"npu", "cpu"}));
  const ValuePtr x = core::Value::Tensor(DataType::kUint8, std::array<int64_t, 2>{1, 70000});
  const ValuePtr w = core::Value::Tensor(DataType::kUint8, std::array<int64_t, 2>{70000, 1});
  std::memset(x->mutable_data(), 255, 70000);
  std::memset(w->mutable_data(), 255, 70000);
  const ValuePtr inputs[] = {x, w};
  const ValuePtr y = session.Run(inputs)[0];
  EXPECT_EQ(static_cast<const uint8_t*>(y->data())[0], 228) << "255 255 70000 / 10000 / 2000";
}

// Sums are bounded separately for each output, whatever the layout of the weights in their tensor.
TEST_P(NpuSession, SumsAreThoseOfEachOutput) {
  constexpr int64_t kTerms = 70000;
  const auto why_not = [&](const std::string& dims, const std::string& x, const std::string& body, bool alternating,
                           int second) {
    std::string weights = "int8[" + dims + "] w = {";
    for (int64_t i = 0; i < 2 * kTerms; ++i)
      weights += (i == 0 ? "" : ",") + std::to_string((alternating ? i % 2 == 0 : i < kTerms) ? 120 : second);
    return WhyNot("g (uint8[" + x + "] x) => (uint8[] y) <float s = {0.01}, float t = {2000.0}, " + weights +
                  "}> { d = DequantizeLinear(x, s) e = DequantizeLinear(w, s) c = " + body +
                  " y = QuantizeLinear(c, t) }");
  };
  struct Case {
    const char *dims, *x, *body;
    bool alternating;
  };
  for (const Case& each :
       {Case{"70000,2", "1,70000", "MatMul(d, e)", true}, Case{"2,70000,1", "2,1,70000", "MatMul(d, e)", false},
        Case{"2,70000", "1,70000", "Gemm <transB = 1> (d, e)", false}, Case{"70000,2", "1,70000", "Gemm(d, e)", true},
        Case{"2,70000,1,1", "1,70000,1,1", "Conv(d, e)", false},
        Case{"70000,2,1,1", "1,70000,1,1", "ConvTranspose(d, e)", true},
        Case{"140000,1,1,1", "1,140000,1,1", "ConvTranspose <group = 2> (d, e)", false}}) {
    SCOPED_TRACE(each.body);
    const char* const kWraps = "can be more than int32 holds";
    EXPECT_THAT(why_not(each.dims, each.x, each.body, each.alternating, -120), Not(HasSubstr(kWraps)));
    EXPECT_THAT(why_not(each.dims, each.x, each.body, each.alternating, -121), HasSubstr(kWraps));
  }
}

// Two readers dequantize the same bytes with different scales. The NPU takes one of them, and the model runs.
TEST_P(NpuSession, ValueHasOneScaleAndZeroPoint) {
  const std::string model =
      "g (uint8[1,4] x) => (uint8[1,4] y, uint8[1,4] z) <float s = {0.1}, float t = {0.2}> { d = DequantizeLinear(x, "
      "s) r "
      "= Relu(d) y = QuantizeLinear(r, s) e = DequantizeLinear(x, t) p = Relu(e) z = QuantizeLinear(p, t) }";
  EXPECT_THAT(WhyNot(model), HasSubstr("'x' is read with one scale or zero point here and made or read with another"));
  const std::string bytes = QuantisedModel(model);
  core::Session session(environment(), bytes.data(), bytes.size(), Options({"npu", "cpu"}));
  const ValuePtr inputs[] = {Numbers().Bytes(DataType::kUint8, {1, 4})};
  EXPECT_EQ(session.Run(inputs).size(), 2u);
}

TEST_P(NpuSession, OptionsThatMakeNoSenseAreErrors) {
  const auto model = Write("net.onnx", Net(kNothingBetween));
  const auto failure = [&](const char* key, const std::string& value) {
    core::SessionOptions options = Options();
    options.providers[0].options[key] = value;
    return FailureOf([&] { core::Session session(environment(), model, options); });
  };
  EXPECT_THAT(failure("sdk", "sub/libx.so"), HasSubstr("an absolute path expected, or the name of a file beside"));
  EXPECT_THAT(failure("sdk", "/nowhere/libacme.so"), HasSubstr("'/nowhere/libacme.so' isn't there"));
  EXPECT_THAT(failure("sdk", EPIPHYTE_NPU_LIBRARY), HasSubstr("is no SDK of an NPU: it has no nsdk_get_api"));
  EXPECT_THAT(failure("sdk_options", "nonsense"), HasSubstr("'nonsense'; key=value expected"));
  EXPECT_THAT(failure("sdk_options", "no_such=1"), HasSubstr("no_such"));
  EXPECT_THAT(failure("effort", "lazy"), HasSubstr("'lazy'"));
  EXPECT_EQ(failure("sdk_options", IsSimulator() ? "array=8x8" : "lanes=32"), "OK");
}

TEST_P(NpuSession, AContextForAnotherNpuIsRefused) {
  const auto model = Write("net.onnx", Net(kNothingBetween));
  {
    core::SessionOptions options = Compiling("other.onnx");
    options.providers[0].options["sdk_options"] = IsSimulator() ? "array=8x8" : "lanes=32";
    core::Session session(environment(), model, options);
  }
  EXPECT_THAT(FailureOf([&] { core::Session session(environment(), temp() / "other.onnx", Options()); }),
              AllOf(HasSubstr("INVALID_GRAPH"), HasSubstr(IsSimulator() ? "npusim-8x8" : "minimal-32")));
}

TEST_P(NpuSession, CompilingReportsAndCanBeCancelled) {
  const auto model = Write("net.onnx", Net(kNothingBetween));
  core::SessionOptions options = Options();
  options.progress = [](const auto&) { return true; };
  EXPECT_THAT(FailureOf([&] { core::Session session(environment(), model, options); }),
              HasSubstr("MODEL_LOAD_CANCELED"));
}

INSTANTIATE_TEST_SUITE_P(Sdk, NpuSession, testing::Values("npusim", "minimal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace epiphyte::test
