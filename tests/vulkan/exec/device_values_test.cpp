// Values in device memory: they stay there between partitions and between runs, and a run with bindings copies nothing.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/device/transfer.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/resident_memory.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test {
namespace {

using core::OutputBinding;
using core::ValuePtr;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;
using testing::StartsWith;

using Values = std::vector<ValuePtr>;

class VulkanValues : public testing::Test {
 protected:
  void SetUp() override {
    if (!vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
    environment_ = BuildTreeEnvironment();
  }

  static std::string Model(std::string_view graph) {
    return OnnxFromText(R"(<ir_version: 8, opset_import: ["" : 18]> )" + std::string(graph));
  }
  // Options with profiling, so that the trace shows the copies.
  core::SessionOptions Options(std::vector<std::string> providers = {"vulkan"}) {
    core::SessionOptions options = OptionsFor(std::move(providers));
    options.profile_path = (temp_ / ("trace" + std::to_string(++traces_) + ".json")).string();
    return options;
  }
  std::unique_ptr<core::Session> Open(std::string_view graph, const core::SessionOptions& options) {
    const std::string bytes = Model(graph);
    return std::make_unique<core::Session>(*environment_, bytes.data(), bytes.size(), options);
  }
  std::unique_ptr<core::Session> Open(std::string_view graph) { return Open(graph, Options()); }
  Values OnCpu(std::string_view graph, const Values& inputs) { return Open(graph, OptionsFor({"cpu"}))->Run(inputs); }

  core::PluginDevice& Device() { return *environment_->devices().Find(environment_->catalog().Load("vulkan"), 0); }
  const std::shared_ptr<core::DeviceMemory>& Memory() { return Device().main_memory(); }
  ValuePtr There(const ValuePtr& value) {
    return core::ToDevice(*value, *Memory(), environment_->devices(), nullptr, "a value of the test");
  }
  std::vector<float> Read(const ValuePtr& value) { return FloatsOf(*core::ToHost(value, environment_->devices())); }

  static Values RunBound(core::Session& session, const Values& inputs, std::vector<OutputBinding> outputs,
                         core::BindingNumbers* numbers = nullptr) {
    core::RunBindings bindings;
    bindings.outputs = std::move(outputs);
    bindings.numbers = numbers;
    core::RunSettings settings;
    settings.bindings = &bindings;
    return session.Run(inputs, settings);
  }
  // Returns the names of all spans in the session's trace so far.
  static std::vector<std::string> Spans(const core::Session& session) {
    const auto trace = nlohmann::json::parse(session.ProfileJson());
    std::vector<std::string> names;
    for (const auto& event : trace["traceEvents"]) names.push_back(event["name"]);
    return names;
  }
  static ptrdiff_t Copies(const core::Session& session) { return std::ranges::count(Spans(session), "copy"); }

  const TempDir temp_;
  int traces_ = 0;
  std::unique_ptr<core::Environment> environment_;
};

constexpr std::string_view kRelu = "g (float[4] x) => (float[4] y) { y = Relu(x) }";

TEST_F(VulkanValues, ADeviceHasAMemoryOfItsOwn) {
  EXPECT_TRUE(Memory()->local());
  EXPECT_TRUE(Memory()->mappable()) << "on a software device it is the host's, too";
  EXPECT_GE(Memory()->alignment(), 256u);
  EXPECT_GT(Memory()->use().plugin_total, 0u);
}

TEST_F(VulkanValues, OutputsAreMadeWhereTheyAreBoundAndReadByTheNextSessionWithoutACopy) {
  const auto first = Open(kRelu), second = Open("g (float[4] x) => (float[4] y) { y = Neg(x) }");
  const ValuePtr x = There(Floats({4}, {1, -2, 3, -4}));
  const Values made = RunBound(*first, {x}, {{nullptr, Memory()}});
  ASSERT_TRUE(made[0]->IsOnDevice());
  const ValuePtr y = There(Floats({4}, {9, 9, 9, 9}));
  EXPECT_EQ(RunBound(*second, made, {{y, nullptr}})[0].get(), y.get());
  EXPECT_THAT(Read(y), ElementsAre(-1, 0, -3, 0));
  EXPECT_THAT(Read(x), ElementsAre(1, -2, 3, -4));
  EXPECT_EQ(Copies(*first), 0);
  EXPECT_EQ(Copies(*second), 0);
}

// One decoder step with a KV cache of fixed length: the new key is written to its position, and attention reads all
// keys.
constexpr std::string_view kDecoder = R"(
g (float[1,32,8] past, float[1,1,8] x, int64[1,2] at, float[1,1,32] mask) => (float[1,32,8] present, float[1,1,8] y)
<float[8,8] w = {1,0,0,0,0,0,0,2, 0,1,0,0,0,0,2,0, 0,0,1,0,0,2,0,0, 0,0,0,1,2,0,0,0,
                 0,0,0,1,1,0,0,0, 0,0,1,0,0,1,0,0, 0,1,0,0,0,0,1,0, 1,0,0,0,0,0,0,1}, int64[2] row = {1, 8}>
{
  key = MatMul(x, w)
  update = Reshape(key, row)
  present = ScatterND(past, at, update)
  keys = Transpose<perm = [0, 2, 1]>(present)
  scores = MatMul(x, keys)
  masked = Add(scores, mask)
  weights = Softmax<axis = -1>(masked)
  y = MatMul(weights, present)
})";

struct Step {
  ValuePtr x, at, mask;
};
Step StepOf(int64_t step) {
  std::vector<float> x(8), mask(32);
  for (size_t i = 0; i < 8; ++i) x[i] = 0.1f * static_cast<float>((static_cast<size_t>(step) * 7 + i * 3) % 11);
  for (size_t i = 0; i < 32; ++i) mask[i] = static_cast<int64_t>(i) <= step ? 0.f : -1e9f;
  return {Floats({1, 1, 8}, x), Int64s({1, 2}, {0, step}), Floats({1, 1, 32}, mask)};
}

TEST_F(VulkanValues, ACacheOfADecoderStaysInPlaceAndNothingIsCopied) {
  core::SessionOptions options = Options();
  options.Set("session.max_device_bytes", "1");  // any copy, or an output beside the cache, would exceed this limit
  const auto session = Open(kDecoder, options);
  const auto cpu = Open(kDecoder, OptionsFor({"cpu"}));
  const ValuePtr cache = There(Floats({1, 32, 8}, std::vector<float>(256)));
  const ValuePtr y = There(Floats({1, 1, 8}, std::vector<float>(8)));
  ValuePtr expected_cache = Floats({1, 32, 8}, std::vector<float>(256));
  std::vector<Step> steps;
  for (int64_t i = 0; i < 32; ++i) {
    const Step step = StepOf(i);
    steps.push_back({There(step.x), There(step.at), There(step.mask)});
  }
  core::BindingNumbers numbers;
  const auto used = [&] { return Memory()->use().plugin_used; };
  uint64_t used_before = 0;
  for (int64_t i = 0; i < 32; ++i) {
    const Step& step = steps[static_cast<size_t>(i)];
    const Values outputs =
        RunBound(*session, {cache, step.x, step.at, step.mask}, {{cache, nullptr}, {y, nullptr}}, &numbers);
    ASSERT_EQ(outputs[0].get(), cache.get());
    const Step here = StepOf(i);
    const Values expected = cpu->Run(Values{expected_cache, here.x, here.at, here.mask});
    expected_cache = expected[0];
    ASSERT_THAT(Read(y), Pointwise(FloatNear(1e-4f), FloatsOf(*expected[1]))) << "step " << i;
    if (i == 0) used_before = used();
  }
  EXPECT_EQ(Copies(*session), 0) << "by the host";
  EXPECT_THAT(Spans(*session), Not(Contains("copy of an output"))) << "by the kernel";
  EXPECT_THAT(Read(cache), Pointwise(FloatNear(1e-4f), FloatsOf(*expected_cache)));
  EXPECT_EQ(used(), used_before);
}

TEST_F(VulkanValues, ACacheThatIsNotBoundInPlaceIsLeftAsItIs) {
  const auto session = Open(kDecoder);
  const ValuePtr past = There(Floats({1, 32, 8}, std::vector<float>(256, 0.5f)));
  const Step step = StepOf(3);
  const Values outputs = RunBound(*session, {past, step.x, step.at, step.mask}, {{nullptr, Memory()}, {}});
  const Values expected =
      OnCpu(kDecoder, {Floats({1, 32, 8}, std::vector<float>(256, 0.5f)), step.x, step.at, step.mask});
  EXPECT_THAT(Read(outputs[0]), Pointwise(FloatNear(1e-4f), FloatsOf(*expected[0])));
  EXPECT_THAT(Read(past), Each(0.5f));
}

// Two partitions on the device with one on the CPU between them.
constexpr std::string_view kMixed = R"(
g (float[4,4] x) => (float[4,4] y, float[4,4] p)
<float[4,4] w = {1,2,0,0, 0,1,2,0, 0,0,1,2, 2,0,0,1}>
{
  p = MatMul(x, w)
  d = Det(p)
  r = Relu(p)
  s = Add(r, d)
  y = MatMul(s, w)
})";

TEST_F(VulkanValues, PartitionsWithAnotherProvidersBetweenThemPassValuesOnTheDevice) {
  const auto session = Open(kMixed, Options({"vulkan", "cpu"}));
  const ValuePtr x = Floats({4, 4}, {1, 2, 3, 4, 0, -1, 2, 1, 3, 0, 1, -2, 1, 1, 0, 2});
  const Values expected = OnCpu(kMixed, {x});
  for (int i = 0; i < 3; ++i) {
    const Values outputs = session->Run(Values{x});
    for (size_t o = 0; o < 2; ++o)
      EXPECT_THAT(FloatsOf(*outputs[o]), Pointwise(FloatNear(1e-3f), FloatsOf(*expected[o])));
  }
  size_t on_vulkan = 0, on_cpu = 0;
  for (const core::NodePlacement& node : session->placement().nodes) ++(node.provider == "vulkan" ? on_vulkan : on_cpu);
  EXPECT_EQ(on_cpu, 1u);
  EXPECT_GE(on_vulkan, 3u);
  // Each run copies four times: x to the device, p to the host, the determinant to the device, y to the host.
  EXPECT_EQ(Copies(*session), 3 * 4);
}

TEST_F(VulkanValues, InputsThatDecideShapesAreReadOnTheHost) {
  const auto session =
      Open("g (float[N] x, int64[2] shape) => (float[A,B] y, int64[2] s) { y = Reshape(x, shape) s = Shape(y) }");
  const ValuePtr x = There(Floats({6}, {1, 2, 3, 4, 5, 6}));
  for (const auto& dims : {std::vector<int64_t>{2, 3}, {3, 2}, {2, 3}}) {
    const Values outputs = session->Run(Values{x, There(Int64s({2}, dims))});
    EXPECT_THAT(Int64sOf(*outputs[1]), testing::ElementsAreArray(dims));
    EXPECT_THAT(FloatsOf(*outputs[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  const Values bound = RunBound(*session, {x, Int64s({2}, {6, 1})}, {{nullptr, Memory()}, {nullptr, Memory()}});
  EXPECT_THAT(Read(bound[0]), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Int64sOf(*core::ToHost(bound[1], environment_->devices())), ElementsAre(6, 1));
}

TEST_F(VulkanValues, AnOutputThatIsAnInputOrAnotherOutputIsCopiedOnTheDevice) {
  const auto session = Open(R"(g (float[2,2] x) => (float[1,4] same, float[2,2] a, float[4] b) <int64[1] four = {4}>
      { same = Flatten<axis = 0>(x) a = Neg(x) b = Reshape(a, four) })");
  const ValuePtr x = There(Floats({2, 2}, {1, 2, 3, 4}));
  const Values outputs = RunBound(*session, {x}, {{nullptr, Memory()}, {nullptr, Memory()}, {nullptr, Memory()}});
  EXPECT_THAT(Read(outputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Read(outputs[1]), ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(Read(outputs[2]), ElementsAre(-1, -2, -3, -4));
  EXPECT_EQ(std::ranges::count(Spans(*session), "copy of an output"), 2);
}

TEST_F(VulkanValues, HostMemoryThatIsImportedIsUsedWhereItIs) {
  if ((Memory()->import_types() & EP_HANDLE_HOST_POINTER) == 0) GTEST_SKIP() << "the driver imports no host memory";
  auto* pages = static_cast<float*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto import = [&](float* data) {
    EpExternalMemory external = {sizeof external, EP_HANDLE_HOST_POINTER, data, 0, 0, 4096};
    const int64_t dims[] = {4};
    return core::Value::OnDevice(core::DataType::kFloat, dims, Memory()->Import(external, nullptr));
  };
  const float numbers[] = {1, -2, 3, -4};
  std::copy(std::begin(numbers), std::end(numbers), pages);
  {
    const auto session = Open(kRelu);
    const ValuePtr x = import(pages), y = import(pages + 1024);
    RunBound(*session, {x}, {{y, nullptr}});
    EXPECT_EQ(Copies(*session), 0);
  }
  EXPECT_THAT(std::vector<float>(pages + 1024, pages + 1028), ElementsAre(1, 0, 3, 0));
  munmap(pages, 8192);
}

TEST_F(VulkanValues, FourThreadsRunWithBindingsOfTheirOwn) {
  const auto session = Open("g (float[N,4] x) => (float[N,4] y) { a = Relu(x) y = Add(a, a) }", OptionsFor({"vulkan"}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto base = static_cast<float>(t + 1);
      const int64_t rows = t % 2 + 1;
      const auto count = static_cast<size_t>(4 * rows);
      const ValuePtr x = There(Floats({rows, 4}, std::vector<float>(count, base)));
      const ValuePtr y = There(Floats({rows, 4}, std::vector<float>(count)));
      for (int i = 0; i < 50; ++i) {
        // Runs alternate between bound outputs, newly allocated device memory, and host memory.
        RunBound(*session, {x}, {{y, nullptr}});
        const Values made = RunBound(*session, {y}, {{nullptr, Memory()}});
        const Values host = session->Run(Values{made[0]});
        if (Read(y) != std::vector<float>(count, 2 * base)) ++wrong;
        if (Read(made[0]) != std::vector<float>(count, 4 * base)) ++wrong;
        if (FloatsOf(*host[0]) != std::vector<float>(count, 8 * base)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(VulkanValues, TenThousandRunsTakeNoMemory) {
  const auto session = Open("g (float[4] x) => (float[4] y) { a = Relu(x) y = Softmax(a) }", OptionsFor({"vulkan"}));
  const ValuePtr x = Floats({4}, {1, -2, 3, -4});
  for (int i = 0; i < 1000; ++i) session->Run(Values{x});
  const core::DeviceMemory::Use before = Memory()->use();
  const uint64_t resident = ResidentBytes();
  for (int i = 0; i < 10000; ++i) session->Run(Values{x});
  const core::DeviceMemory::Use after = Memory()->use();
  EXPECT_EQ(after.buffers, before.buffers);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.plugin_used, before.plugin_used);
  if (kFreedMemoryGoes) {
    EXPECT_LT(ResidentBytes(), resident + (uint64_t{1} << 20));
  }
}

TEST_F(VulkanValues, TheTraceHasWhatTheDeviceDid) {
  const auto session = Open("g (float[4] x) => (float[4] y) { y = Softmax(x) }");
  const ValuePtr x = Floats({4}, {1, 2, 3, 4});
  for (int i = 0; i < 3; ++i) session->Run(Values{x});
  EXPECT_THAT(Spans(*session), Contains(StartsWith("Softmax ")).Times(3));
}

TEST_F(VulkanValues, MoreDeviceMemoryThanASessionMayHaveIsAnErrorWithTheOption) {
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.Set("session.max_device_bytes", "5000000");
  const auto session = Open("g (float[N] x) => (float[N] y) { y = Neg(x) }", options);
  const auto run = [&](int64_t count) {
    return FailureOf([&] { session->Run(Values{Floats({count}, std::vector<float>(static_cast<size_t>(count)))}); });
  };
  EXPECT_EQ(run(500000), "OK");
  EXPECT_THAT(run(1000000), AllOf(StartsWith("OUT_OF_MEMORY"), HasSubstr("session.max_device_bytes allows 5000000")));
  EXPECT_EQ(run(500000), "OK");
}

TEST_F(VulkanValues, CancelledRunLeavesNoPendingWorkAndTheNextRunIsRight) {
  std::string graph = "g (float[512,512] x) => (float[512,512] y) { v0 = Relu(x) ";
  constexpr int kSteps = 24;
  for (int i = 0; i < kSteps; ++i) graph += "v" + std::to_string(i + 1) + " = MatMul(v" + std::to_string(i) + ", x) ";
  graph += "y = Identity(v" + std::to_string(kSteps) + ") }";
  const auto session = Open(graph, OptionsFor({"vulkan"}));
  std::vector<float> diagonal(512 * 512);
  for (size_t i = 0; i < 512; ++i) diagonal[513 * i] = 1;
  const ValuePtr x = There(Floats({512, 512}, diagonal));
  EXPECT_THAT(FloatsOf(*session->Run(Values{x})[0]), testing::ElementsAreArray(diagonal));
  std::stop_source stop;
  core::RunSettings settings;
  settings.stop = stop.get_token();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request_stop();
  });
  EXPECT_THAT(FailureOf([&] { session->Run(Values{x}, settings); }), StartsWith("CANCELED"));
  stopper.join();
  EXPECT_THAT(FloatsOf(*session->Run(Values{x})[0]), testing::ElementsAreArray(diagonal));
}

TEST_F(VulkanValues, WithoutTimelineSemaphoresTheSameIsDoneWithFences) {
  const core::LoadedPlugin& plugin = environment_->catalog().Load("vulkan");
  const std::filesystem::path manifest =
      temp_.Write("vulkan.yaml",
                  "manifest_version: 1\nname: vulkan\nvendor: Epiphyte\nversion: " + plugin.version +
                      "\nlicense: Apache-2.0\ndescription: with fences\nlibrary: " + plugin.library.string() +
                      "\nabi: \"0.2\"\nsources: [EpiphyteVulkan]\ndevices: [gpu]\nparameters: {disable: timeline}\n");
  core::CatalogOptions options;
  options.use_environment = false;
  options.use_user_folder = false;
  options.paths = {manifest};
  environment_ = std::make_unique<core::Environment>(std::move(options));
  EXPECT_EQ(environment_->catalog().Load("vulkan").manifest, manifest);
  const auto session = Open(kDecoder);
  const ValuePtr cache = There(Floats({1, 32, 8}, std::vector<float>(256)));
  const Step step = StepOf(0);
  const Values outputs = RunBound(*session, {cache, step.x, step.at, step.mask}, {{cache, nullptr}, {}});
  const Values expected = OnCpu(kDecoder, {Floats({1, 32, 8}, std::vector<float>(256)), step.x, step.at, step.mask});
  EXPECT_THAT(FloatsOf(*outputs[1]), Pointwise(FloatNear(1e-4f), FloatsOf(*expected[1])));
}

}  // namespace
}  // namespace epiphyte::test
