// Kernels made with the kit: states, exclusive kernels, and functions of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/abi/host_tables.h"
#include "tests/plugin_api/plugin/scripted.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kOne = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] y) { y = Abs(x) })";

class KitKernel : public testing::Test {
 protected:
  // Returns the kernel of a model of one node.
  core::Kernel& Compile(std::function<std::unique_ptr<kit::Kernel>()> make, std::string_view text = kOne) {
    scripted_.script.compile = [make = std::move(make)](kit::Compilation& all) { all.SetKernel(0, make()); };
    provider_ = scripted_.Make();
    model_ = scripted_.harness().Compile(*provider_, text);
    return *model_.kernels.at(0);
  }

  Scripted scripted_;
  std::shared_ptr<core::Provider> provider_;
  CompiledModel model_;
};

struct Counter {
  Counter() { ++made; }
  ~Counter() { --alive; }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  int runs = 0;
  std::atomic<bool> in_use = false;
  static inline std::atomic<int> made = 0;
  static inline std::atomic<int> alive = 0;
};

class CountingKernel final : public kit::StatefulKernel<Counter> {
 public:
  std::unique_ptr<Counter> MakeState() const override {
    ++Counter::alive;
    return std::make_unique<Counter>();
  }
  void Execute(const kit::Run& run, Counter& counter) override {
    EXPECT_FALSE(counter.in_use.exchange(true)) << "one Execute at a time";
    float* y = run.Output<float>(0, EP_TYPE_FLOAT, std::vector<int64_t>{2});
    y[0] = y[1] = static_cast<float>(++counter.runs);
    std::this_thread::yield();
    counter.in_use = false;
  }
};

TEST_F(KitKernel, AStateIsUsedAgainAndNeverShared) {
  Counter::made = Counter::alive = 0;
  {
    core::Kernel& kernel = Compile([] { return std::make_unique<CountingKernel>(); });
    EXPECT_THAT(RunKernel(kernel, {Floats({2}, {0, 0})}), ElementsAre(1, 1));
    EXPECT_THAT(RunKernel(kernel, {Floats({2}, {0, 0})}), ElementsAre(2, 2));
    EXPECT_EQ(Counter::made, 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) RunKernel(kernel, {Floats({2}, {0, 0})});
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(Counter::made, 4);
    model_.kernels.clear();
  }
  EXPECT_EQ(Counter::alive, 0);
}

TEST_F(KitKernel, AStatefulKernelRunsWithoutOneToo) {
  struct Host {
    static EpStatus* GetInfo(const EpRun*, EpRunInfo* info) {
      *info = {sizeof *info, 0, 1, 1, nullptr, "", nullptr, 0, 0, 1, 0};
      return nullptr;
    }
    static EpStatus* AllocateOutput(EpRun* run, uint32_t, EpElementType, const int64_t*, uint32_t, void** data) {
      *data = run;
      return nullptr;
    }
  };
  Counter::alive = 0;
  EpRunApi api = *core::HostInfo()->run;
  api.GetInfo = Host::GetInfo;
  api.AllocateOutput = Host::AllocateOutput;
  EpHostInfo host = *core::HostInfo();
  host.run = &api;
  float output[2] = {};
  CountingKernel kernel;
  static_cast<kit::Kernel&>(kernel).Execute(kit::Run(host, reinterpret_cast<EpRun*>(output)));
  EXPECT_EQ(output[0], 1);
  EXPECT_EQ(Counter::alive, 0);
}

TEST_F(KitKernel, OneThatIsExclusiveRunsAlone) {
  class Alone final : public kit::Kernel {
   public:
    bool IsExclusive() const override { return true; }
    void Execute(const kit::Run& run) override {
      EXPECT_FALSE(running_.exchange(true));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      run.Output<float>(0, EP_TYPE_FLOAT, std::vector<int64_t>{2});
      running_ = false;
    }

   private:
    std::atomic<bool> running_ = false;
  };
  core::Kernel& kernel = Compile([] { return std::make_unique<Alone>(); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) RunKernel(kernel, {Floats({2}, {0, 0})});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A kernel that calls a lambda.
class ScriptedKernel final : public kit::Kernel {
 public:
  explicit ScriptedKernel(std::function<void(const kit::Run& run)> execute) : execute_(std::move(execute)) {}
  void Execute(const kit::Run& run) override { execute_(run); }

 private:
  std::function<void(const kit::Run& run)> execute_;
};

class KitRun : public KitKernel {
 protected:
  // The claims leave all other nodes without a kernel.
  void ClaimOnly(const char* op_type) {
    scripted_.script.claim = [op_type](const kit::GraphView& graph, kit::Claims& claims) {
      for (const kit::NodeView& node : graph.nodes())
        if (node.Is(op_type)) claims.Support(node);
    };
  }
  std::vector<core::ValuePtr> Run(std::string_view text, std::function<void(const kit::Run& run)> execute,
                                  std::vector<core::ValuePtr> inputs, size_t outputs = 1) {
    core::Kernel& kernel = Compile([&] { return std::make_unique<ScriptedKernel>(execute); }, text);
    std::vector<core::Value*> pointers;
    for (const core::ValuePtr& input : inputs) pointers.push_back(input.get());
    std::vector<core::ValuePtr> results(outputs);
    kernel.Execute(pointers, results);
    return results;
  }
};

TEST_F(KitRun, WhatIsNoTensorOrNotThereIsSaidWithItsNumber) {
  EXPECT_THAT(FailureOf([&] {
                Run(kOne, [](const kit::Run& run) { run.input(1); }, {Floats({2}, {1, 2})});
              }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("input 1 is absent; a tensor expected")));
  constexpr std::string_view kSequence = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (int64 y) { s = SequenceConstruct(x) y = SequenceLength(s) })";
  ClaimOnly("SequenceLength");
  auto sequence = core::Value::Sequence(core::DataType::kFloat, {Floats({2}, {1, 2})});
  EXPECT_THAT(FailureOf([&] { Run(kSequence, [](const kit::Run& run) { run.input(0); }, {sequence}); }),
              HasSubstr("input 0 is no tensor"));
}

TEST_F(KitRun, SequencesAreMadeFromTheInsideOut) {
  constexpr std::string_view kText = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] z) => (int64 y) { s = SequenceConstruct(x, z) y = SequenceLength(s) })";
  ClaimOnly("SequenceConstruct");
  const auto results = Run(kText,
                           [](const kit::Run& run) {
                             std::vector<kit::OwnedValue> elements;
                             elements.push_back(run.Share(run.value(0)));
                             void* data = nullptr;
                             elements.push_back(run.MakeTensor(EP_TYPE_FLOAT, std::vector<int64_t>{2}, &data));
                             static_cast<float*>(data)[0] = 7;
                             static_cast<float*>(data)[1] = 8;
                             run.SetOutput(0, run.MakeSequence(EP_TYPE_FLOAT, elements));
                           },
                           {Floats({2}, {1, 2}), Floats({2}, {3, 4})});
  ASSERT_EQ(results[0]->elements().size(), 2u);
  EXPECT_THAT(FloatsOf(*results[0]->elements()[0]), ElementsAre(1, 2));
  EXPECT_THAT(FloatsOf(*results[0]->elements()[1]), ElementsAre(7, 8));
}

TEST_F(KitRun, AsManyStringsAreGivenAsTheShapeHas) {
  constexpr std::string_view kText = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (string[2] x) => (string[2] y) { y = Identity(x) })";
  const EpString strings[] = {{"a", 1}, {"bc", 2}, {"d", 1}};
  const auto input = core::Value::Strings(std::vector<int64_t>{2}, {"x", "y"});
  const auto execute = [&](size_t count) {
    return [&strings, count](const kit::Run& run) {
      run.SetStrings(0, std::vector<int64_t>{2}, std::span(strings).first(count));
    };
  };
  EXPECT_THAT(FailureOf([&] { Run(kText, execute(3), {input}); }), HasSubstr("3 strings given for a tensor of 2"));
  const auto results = Run(kText, execute(2), {input});
  EXPECT_EQ(results[0]->string_at(0), "a");
  EXPECT_EQ(results[0]->string_at(1), "bc");
}

}  // namespace
}  // namespace epiphyte::test
