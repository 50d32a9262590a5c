// Compiling with the kit: all partitions at once or one by one, declined partitions, progress in parts, cancelling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plugin_api/plugin/scripted.h"

namespace epiphyte::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A model of three unconnected nodes.
constexpr std::string_view kThree = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2] x) => (float[2] a, float[2] b, float[2] c) { a = Abs(x) b = Neg(x) c = Exp(x) })";

class KitCompile : public testing::Test {
 protected:
  KitCompile() {
    scripted_.script.claim = [](const kit::GraphView& graph, kit::Claims& claims) {
      for (const kit::NodeView& node : graph.nodes()) {
        const EpNode* const handle = node.handle();
        claims.Exactly({&handle, 1});
      }
    };
  }
  // Compiles and keeps the progress reports. From report number `cancelled` on, the user has cancelled.
  core::CompiledPartitions Compile(size_t cancelled = SIZE_MAX) {
    core::ProviderConfig config;
    config.progress = [this, cancelled](uint64_t done, uint64_t total, const std::string& text) {
      EXPECT_LE(done, total);
      reports_.emplace_back(static_cast<double>(done) / static_cast<double>(total), text);
      return reports_.size() > cancelled;
    };
    provider_ = core::Provider::Create(scripted_.plugin(), config);
    const std::string bytes = OnnxFromText(kThree);
    model_ = core::ReadModelMemory(bytes.data(), bytes.size(), nullptr, {});
    core::PartitionProvider candidate{"scripted", "",
                                      [&](core::Graph& graph) { return provider_->GetCapability(graph); }};
    partitions_ = core::PartitionGraph(*model_.graph, {&candidate, 1}, "").partitions;
    std::vector<const core::Partition*> pointers;
    for (const core::Partition& partition : partitions_) {
      partition.graph->Finalize();
      pointers.push_back(&partition);
    }
    return provider_->Compile(pointers);
  }
  static float Run(core::Kernel& kernel) { return RunKernel(kernel, {Floats({2}, {10, 10})}).at(0); }

  Scripted scripted_;
  std::shared_ptr<core::Provider> provider_;
  core::Model model_;
  std::vector<core::Partition> partitions_;
  std::vector<std::pair<double, std::string>> reports_;
};

TEST_F(KitCompile, EachPartitionHasItsNameItsGraphAndItsNumber) {
  std::vector<std::string> seen;
  scripted_.script.compile = [&](kit::Compilation& all) {
    for (size_t i = 0; i < all.partitions().size(); ++i) {
      const kit::Partition& partition = all.partitions()[i];
      seen.push_back(std::string(partition.name) + " " + std::string(partition.graph.outputs().at(0).name()) + " " +
                     std::to_string(partition.index));
      all.SetKernel(i, std::make_unique<AddKernel>(static_cast<float>(i)));
    }
  };
  const core::CompiledPartitions compiled = Compile();
  EXPECT_THAT(seen, ElementsAre("g_scripted_0 a 0", "g_scripted_1 b 1", "g_scripted_2 c 2"));
  ASSERT_EQ(compiled.kernels.size(), 3u);
  EXPECT_EQ(Run(*compiled.kernels[2]), 12);
}

TEST_F(KitCompile, ADeclinedPartitionGoesBackWithItsReason) {
  scripted_.script.compile = [](kit::Compilation& all) {
    all.SetKernel(0, std::make_unique<AddKernel>(1.0f));
    all.Decline(1, "needs 9 MiB of the chip's 8");
    all.SetKernel(2, std::make_unique<AddKernel>(2.0f));
  };
  const core::CompiledPartitions compiled = Compile();
  EXPECT_EQ(compiled.kernels[1], nullptr);
  EXPECT_EQ(compiled.declined[1], "needs 9 MiB of the chip's 8");
  EXPECT_EQ(Run(*compiled.kernels[2]), 12);
}

// A class that overrides Compile gets the partitions one by one.
class OneByOne final : public kit::Provider {
 public:
  explicit OneByOne(std::function<std::unique_ptr<kit::Kernel>(const kit::Partition&)> compile)
      : compile_(std::move(compile)) {}
  std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override { return compile_(partition); }

 private:
  std::function<std::unique_ptr<kit::Kernel>(const kit::Partition&)> compile_;
};

TEST_F(KitCompile, TheShortWayDeclinesByThrowing) {
  OneByOne provider([](const kit::Partition& partition) -> std::unique_ptr<kit::Kernel> {
    if (partition.index == 0) throw kit::Declined("not this one");
    return std::make_unique<AddKernel>(1.0f);
  });
  scripted_.script.compile = [&](kit::Compilation& all) { provider.CompileAll(all); };
  const core::CompiledPartitions compiled = Compile();
  EXPECT_EQ(compiled.kernels[0], nullptr);
  EXPECT_EQ(compiled.declined[0], "not this one");
  EXPECT_NE(compiled.kernels[2], nullptr);
}

TEST_F(KitCompile, ReportsOfAPartitionCountForItsShareOfTheWhole) {
  OneByOne provider([](const kit::Partition& partition) {
    partition.task.Report(1, 2, "half");
    partition.task.Part(1, 2).Report(1, 2, "three quarters");
    return std::make_unique<AddKernel>(1.0f);
  });
  scripted_.script.compile = [&](kit::Compilation& all) { provider.CompileAll(all); };
  Compile();
  ASSERT_EQ(reports_.size(), 9u);
  const double expected[] = {0, 0.5 / 3, 0.75 / 3, 1.0 / 3, 1.5 / 3, 1.75 / 3, 2.0 / 3, 2.5 / 3, 2.75 / 3};
  for (size_t i = 0; i < reports_.size(); ++i) EXPECT_NEAR(reports_[i].first, expected[i], 1e-5) << i;
  EXPECT_EQ(reports_[0].second, "g_scripted_0");
  EXPECT_EQ(reports_[4].second, "half");
}

TEST_F(KitCompile, CancellingEndsItAtTheNextReport) {
  size_t compiled = 0;
  OneByOne provider([&](const kit::Partition&) {
    ++compiled;
    return std::make_unique<AddKernel>(1.0f);
  });
  scripted_.script.compile = [&](kit::Compilation& all) { provider.CompileAll(all); };
  EXPECT_THAT(FailureOf([&] { Compile(/*cancelled=*/1); }), StartsWith("MODEL_LOAD_CANCELED"));
  EXPECT_EQ(compiled, 1u);
}

TEST_F(KitCompile, ACancelListenerIsCalledAtOnceAndNotAfterItsEnd) {
  int calls = 0;
  scripted_.script.compile = [&](kit::Compilation& all) {
    {
      const kit::CancelListener listener(all.task(), [&] { ++calls; });
      EXPECT_FALSE(all.task().IsCancelled());
      EXPECT_THROW(all.task().Report(0, 1), kit::Error);
      EXPECT_TRUE(all.task().IsCancelled());
      EXPECT_EQ(calls, 1);
    }
    EXPECT_THROW(all.task().ThrowIfCancelled(), kit::Error);
    const kit::CancelListener late(all.task(), [&] {
      ++calls;
      throw 1;  // an exception without any information
    });
    EXPECT_EQ(calls, 2) << "it has happened";
    all.task().ThrowIfCancelled();
  };
  EXPECT_THAT(FailureOf([&] { Compile(/*cancelled=*/0); }), StartsWith("MODEL_LOAD_CANCELED"));
  EXPECT_EQ(calls, 2);
}

TEST_F(KitCompile, PartitionWithoutKernelIsNamed) {
  scripted_.script.compile = [](kit::Compilation& all) {
    all.SetKernel(0, std::make_unique<AddKernel>(1.0f));
    all.SetKernel(2, std::make_unique<AddKernel>(1.0f));
  };
  EXPECT_THAT(FailureOf([&] { Compile(); }),
              AllOf(HasSubstr("'g_scripted_1'"), HasSubstr("neither compiled nor declined")));
}

TEST_F(KitCompile, APartitionIsDoneOnceAndWithAKernel) {
  scripted_.script.compile = [](kit::Compilation& all) {
    all.SetKernel(0, std::make_unique<AddKernel>(1.0f));
    all.SetKernel(0, std::make_unique<AddKernel>(1.0f));
  };
  EXPECT_THAT(FailureOf([&] { Compile(); }), HasSubstr("'g_scripted_0' is done already"));
  scripted_.script.compile = [](kit::Compilation& all) { all.SetKernel(1, nullptr); };
  EXPECT_THAT(FailureOf([&] { Compile(); }), AllOf(HasSubstr("'g_scripted_1'"), HasSubstr("kit::Declined")));
}

TEST_F(KitCompile, AClassThatCompilesNothingSaysSo) {
  class Lazy final : public kit::Provider {
  } provider;
  scripted_.script.compile = [&](kit::Compilation& all) { provider.CompileAll(all); };
  EXPECT_THAT(FailureOf([&] { Compile(); }), AllOf(StartsWith("NOT_IMPLEMENTED"), HasSubstr("CompileAll")));
}

}  // namespace
}  // namespace epiphyte::test
