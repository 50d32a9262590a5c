// Sessions with the plugin: new shapes, several threads, contexts, options, and the CPU plugin for the remaining nodes.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 18]>
g (float[N,2] x) => (float[N,2] y)
<float[2,2] w = {1, 2, 3, 4}>
{
  p = MatMul(x, w)
  y = Relu(p)
})";

class VulkanSession : public testing::Test {
 protected:
  void SetUp() override {
    if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
    environment_ = BuildTreeEnvironment();
  }
  std::filesystem::path Model(const char* text = kModel) { return temp_.Write("model.onnx", OnnxFromText(text)); }
  core::Environment& environment() { return *environment_; }
  const TempDir& temp() const { return temp_; }

 private:
  TempDir temp_;
  std::unique_ptr<core::Environment> environment_;
};

std::vector<float> RunRows(core::Session& session, std::vector<float> rows) {
  const auto count = static_cast<int64_t>(rows.size() / 2);
  const core::ValuePtr inputs[] = {Floats({count, 2}, std::move(rows))};
  return FloatsOf(*session.Run(inputs)[0]);
}

TEST_F(VulkanSession, RunsAgainAndWithNewShapes) {
  core::Session session(environment(), Model(), OptionsFor({"vulkan"}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(RunRows(session, {1, 1}), ElementsAre(4, 6));
    EXPECT_THAT(RunRows(session, {1, 0, 0, -1}), ElementsAre(1, 2, 0, 0));
  }
  EXPECT_THAT(RunRows(session, {}), ElementsAre());
}

TEST_F(VulkanSession, ThePlacementSaysWhichKernelEachNodeGets) {
  const auto model = Model(R"(<ir_version: 8, opset_import: ["" : 18]>
g (float[4,2] x) => (float[4,2] y)
<float[2,2] w = {1, 2, 3, 4}>
{
  p = MatMul(x, w)
  y = Relu(p)
})");
  const core::Placement placement = core::PlaceModel(environment(), model, OptionsFor({"vulkan"}));
  ASSERT_EQ(placement.nodes.size(), 2u);
  EXPECT_THAT(placement.nodes[0].notes, ElementsAre(HasSubstr("part of")));
  EXPECT_THAT(placement.nodes[1].notes, ElementsAre(HasSubstr("matmul")));
  EXPECT_THAT(placement.ToJson(), HasSubstr(placement.nodes[1].notes[0]));
  EXPECT_THAT(placement.warnings, ElementsAre());
}

TEST_F(VulkanSession, FourThreadsRunAtOnce) {
  core::Session session(environment(), Model(), OptionsFor({"vulkan"}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const auto a = static_cast<float>(t * 100 + i);
        const std::vector<float> expected = {a, 2 * a};
        if (RunRows(session, {a, 0}) != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(VulkanSession, GoesTogetherWithTheCpu) {
  core::Session session(environment(), Model(R"(<ir_version: 8, opset_import: ["" : 18]>
g (double[2] x) => (float[2] y)
{
  d = Add(x, x)
  f = Cast<to = 1>(d)
  y = Neg(f)
})"),
                        OptionsFor({"vulkan", "cpu"}));
  EXPECT_THAT(session.placement().Summary(), HasSubstr("vulkan 1 in 1 partition"));
  const double numbers[] = {1, -2};
  const core::ValuePtr input = core::Value::Tensor(core::DataType::kDouble, std::vector<int64_t>{2});
  std::memcpy(input->mutable_data(), numbers, sizeof numbers);
  EXPECT_THAT(FloatsOf(*session.Run(std::span(&input, 1))[0]), ElementsAre(-2, 4));
}

TEST_F(VulkanSession, ASoftwareDeviceIsNotTakenUnasked) {
  core::Session session(environment(), Model(), OptionsFor({}));
  EXPECT_THAT(session.placement().Summary(), Not(HasSubstr("vulkan")));
}

TEST_F(VulkanSession, AContextGivesTheSameAndTheSameBytes) {
  const auto compile = [&](const char* name, const char* embed) {
    core::SessionOptions options = OptionsFor({"vulkan"});
    options.Set("ep.context_enable", "1");
    options.Set("ep.context_embed_mode", embed);
    options.Set("ep.context_file_path", (temp() / name).string());
    core::Session session(environment(), Model(), options);
    return RunRows(session, {1, 2, 3, 4});
  };
  for (const char* embed : {"0", "1"}) {
    const std::vector<float> expected = compile("a.onnx", embed);
    core::Session loaded(environment(), temp() / "a.onnx", OptionsFor({"vulkan"}));
    EXPECT_TRUE(loaded.has_context());
    EXPECT_EQ(RunRows(loaded, {1, 2, 3, 4}), expected);
    std::filesystem::remove(temp() / "a.onnx");
    std::filesystem::remove(temp() / "a_vulkan.bin");
  }
}

TEST_F(VulkanSession, EachCapabilityCanBeTurnedOff) {
  for (const char* list : {"fp16", "[shared_memory, subgroup]", "coopmat", "all"}) {
    core::SessionOptions options = OptionsFor({"vulkan"});
    options.providers[0].options["disable"] = list;
    core::Session session(environment(), Model(), options);
    EXPECT_THAT(RunRows(session, {1, 1}), ElementsAre(4, 6)) << list;
  }
}

// All capabilities are on, except one at a time.
TEST_F(VulkanSession, AFloat16ProductIsTheSameWithoutAnyOfThem) {
  const auto model = Model(R"(<ir_version: 8, opset_import: ["" : 18]>
g (float[40,64] x) => (float[40,40] y) {
  a = Cast<to = 10>(x)
  t = Transpose<perm = [1, 0]>(a)
  p = MatMul(a, t)
  y = Cast<to = 1>(p)
})");
  std::vector<float> numbers(40 * 64);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 5) - 2;
  const auto run = [&](const std::string& disabled) {
    core::SessionOptions options = OptionsFor({"vulkan", "cpu"});
    options.providers[0].options = {{"prefer", "all"}, {"disable", disabled}};
    core::Session session(environment(), model, options);
    const core::ValuePtr inputs[] = {Floats({40, 64}, numbers)};
    return FloatsOf(*session.Run(inputs)[0]);
  };
  const std::vector<float> expected = run("all");
  EXPECT_THAT(expected, testing::Contains(testing::Ne(0)));
  for (const char* each : {"", "storage16", "storage8", "int64", "fp16", "int8", "dot_product", "subgroup", "shared_memory",
                           "coopmat"})
    EXPECT_EQ(run(each), expected) << each;
}

TEST_F(VulkanSession, WhatADeviceDoesBetterWithoutCanBePreferred) {
  const auto model = Model(R"(<ir_version: 8, opset_import: ["" : 18]>
g (float[1,100] x) => (float[1,100] y) { y = Softmax(x) })");
  const auto note = [&](std::map<std::string, std::string> values) {
    core::SessionOptions options = OptionsFor({"vulkan"});
    options.providers[0].options = std::move(values);
    return core::PlaceModel(environment(), model, options).nodes.at(0).notes.at(0);
  };
  EXPECT_THAT(note({{"prefer", "subgroup"}}), HasSubstr("softmax_subgroup.f32: softmax_subgroup"));
  EXPECT_THAT(note({{"prefer", "[shared_memory]"}}), HasSubstr("softmax_shared.f32: softmax_shared"));
  EXPECT_THAT(note({{"prefer", "all"}, {"disable", "subgroup"}}),
              HasSubstr("softmax_shared.f32: softmax_shared (32 invocations for a row); not softmax_subgroup: subgroup is "
                        "turned off by option 'disable'"));
}

// Packed weights, a GEMM of one row and a softmax have kernels with subgroups and without.
TEST_F(VulkanSession, AContextMadeWithSubgroupsRunsWithoutThem) {
  const auto model = Model(R"(<ir_version: 8, opset_import: ["" : 18]>
g (float[1,4] x) => (float[1,2] y)
<float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}>
{
  p = MatMul(x, w)
  y = LogSoftmax(p)
})");
  const auto run = [](core::Session& session) {
    const core::ValuePtr inputs[] = {Floats({1, 4}, {0.5f, -1, 2, 0.25f})};
    return FloatsOf(*session.Run(inputs)[0]);
  };
  const auto with = [](const char* key, const char* value) {
    core::SessionOptions options = OptionsFor({"vulkan"});
    options.providers[0].options[key] = value;
    return options;
  };
  core::SessionOptions compiling = with("prefer", "subgroup");
  compiling.Set("ep.context_enable", "1");
  compiling.Set("ep.context_file_path", (temp() / "rows.onnx").string());
  core::Session made(environment(), model, compiling);
  const auto expected = ElementsAre(testing::FloatNear(-1.91022f, 1e-4f), testing::FloatNear(-0.16022f, 1e-4f));
  EXPECT_THAT(run(made), expected);
  for (const core::SessionOptions& options :
       {with("prefer", "subgroup"), with("disable", "subgroup"), with("disable", "all")}) {
    core::Session loaded(environment(), temp() / "rows.onnx", options);
    EXPECT_TRUE(loaded.has_context());
    EXPECT_THAT(run(loaded), expected);
  }
}

TEST_F(VulkanSession, OptionsThatMakeNoSenseAreErrors) {
  const auto failure = [&](const char* key, const char* value) {
    core::SessionOptions options = OptionsFor({"vulkan"});
    options.providers[0].options[key] = value;
    return FailureOf([&] { core::Session session(environment(), Model(), options); });
  };
  EXPECT_THAT(failure("disable", "fp61"), HasSubstr("option 'disable' names 'fp61'; capabilities are storage16, "));
  EXPECT_THAT(failure("prefer", "speed"), HasSubstr("option 'prefer' names 'speed'; capabilities are storage16, "));
  EXPECT_THAT(failure("disable", "timeline"), HasSubstr("by the parameter 'disable' in the plugin's manifest"));
  EXPECT_THAT(failure("use", "no such device"), HasSubstr("NOT_FOUND"));
  EXPECT_EQ(failure("use", "software"), "OK");
  EXPECT_EQ(failure("use", "llvm"), "OK");
}

TEST_F(VulkanSession, TooLittleMemoryIsAnErrorWithSizes) {
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.providers[0].options["memory_limit"] = "32";
  const char* const with_values_between = R"(<ir_version: 8, opset_import: ["" : 18]>
g (float[N,2] x) => (float[N,2] y)
<float[2,2] w = {1, 2, 3, 4}>
{
  p = Softmax(x)
  q = MatMul(p, w)
  y = Softmax(q)
})";
  core::Session session(environment(), Model(with_values_between), options);
  EXPECT_THAT(FailureOf([&] { RunRows(session, std::vector<float>(1 << 24)); }),
              testing::AllOf(HasSubstr("OUT_OF_MEMORY"), HasSubstr("the limit is 33554432 bytes")));
  EXPECT_THAT(RunRows(session, {1, 1}), ElementsAre(testing::FloatNear(0.26894f, 1e-4f), testing::FloatNear(0.73106f, 1e-4f)));
}

// With this many rows, the two intermediate values that are alive at the same time take 3/2 MiB.
constexpr int64_t kManyRows = 3 << 15;
std::string Chain(const std::string& rows) {
  return R"(<ir_version: 8, opset_import: ["" : 18]> g (float[)" + rows + ",2] x) => (float[" + rows + R"(,2] y)
<float[2,2] w = {1, 2, 3, 4}>
{
  p = Softmax(x)
  q = MatMul(p, w)
  r = Softmax(q)
  y = MatMul(r, w)
})";
}

TEST_F(VulkanSession, WhatOtherShapesHadIsGivenBackBeforeMemoryIsShort) {
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.providers[0].options["memory_limit"] = "2";
  core::Session session(environment(), Model(Chain("N").c_str()), options);
  for (int64_t rows = kManyRows; rows > kManyRows - 4; --rows)
    EXPECT_EQ(RunRows(session, std::vector<float>(static_cast<size_t>(2 * rows))).size(), 2 * rows);
}

TEST_F(VulkanSession, AProfiledRunHasTheMemoryThatWasPrepared) {
  const auto model = Model(Chain(std::to_string(kManyRows)).c_str());
  for (const bool profiled : {false, true}) {
    core::SessionOptions options = OptionsFor({"vulkan"});
    options.providers[0].options["memory_limit"] = "2";
    if (profiled) options.profile_path = (temp() / "trace.json").string();
    core::Session session(environment(), model, options);
    EXPECT_EQ(FailureOf([&] { RunRows(session, std::vector<float>(2 * kManyRows)); }), "OK") << profiled;
  }
}

}  // namespace
}  // namespace epiphyte::test
