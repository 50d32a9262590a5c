// A small plan runs on the calling thread alone, because waking another thread takes longer than the plan.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <utility>

#include "plugins/cpu/onednn/threading.h"
#include "tests/cpu/exec/plan_host.h"
#include "tests/framework/single_thread_services.h"

namespace epiphyte::test {
namespace {

using kit::ir::Graph;

// Host services with two threads; all shares run on the calling thread. `shared` counts the parallel loops and gangs.
std::atomic<int> shared{0};
const EpServicesApi kTwoThreads = [] {
  EpServicesApi services = kSingleThreadServices;
  services.GetThreadCount = [](EpThreadPool*) -> uint32_t { return 2; };
  services.RunGang = [](EpThreadPool*, uint32_t, EpGangBody body, void* user) {
    ++shared;
    body(user, 0, 1);
  };
  services.ParallelFor = [](EpThreadPool*, uint64_t count, uint64_t, EpParallelBody body, void* user) {
    ++shared;
    body(user, 0, count, 0);
  };
  return services;
}();

// Returns the layout in which the plan packs the weights of its only node; "" if it packs none.
std::string PackedFormat(Graph def, uint32_t threads) {
  cpu::PlanConfig config;
  config.registry = &AllKernels();
  config.threads = {threads == 1 ? &kSingleThreadServices : &kTwoThreads, nullptr, threads};
  const cpu::OneDnnThreads scope(config.threads);
  const std::unique_ptr<cpu::Plan> plan = cpu::Plan::Build(std::move(def), config);
  return plan->packed().size() == 1 ? plan->packed()[0].format : "";
}

int TimesShared(Graph def, const std::vector<int64_t>& dims) {
  cpu::PlanConfig config;
  config.registry = &AllKernels();
  config.threads = {&kTwoThreads, nullptr, 2};
  const cpu::OneDnnThreads scope(config.threads);
  const std::unique_ptr<cpu::Plan> plan = cpu::Plan::Build(std::move(def), config);
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  const std::vector<float> data(count, 0.5f);
  EpTensorView tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.element_type = EP_TYPE_FLOAT;
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.dims = dims.data();
  tensor.data = data.data();
  tensor.element_count = count;
  tensor.byte_size = count * sizeof(float);
  const EpValueView view = {sizeof view, EP_KIND_TENSOR, &tensor, nullptr, 0, 0, 0};
  const EpValueView* const inputs[] = {&view};
  FakeRun run;
  run.outputs.resize(1);
  const EpRunInfo info = {sizeof info, 1, 1, 2, inputs};
  const kit::Run seen(*FakeHost(), reinterpret_cast<EpRun*>(&run), info);
  cpu::Frame frame(*plan, seen);
  shared = 0;
  frame.Execute(seen);
  return shared;
}

Graph Convolution(int64_t size) {
  PlanBuilder b;
  const int32_t x = b.Input({1, 16, size, size});
  b.Output(
      b.Node("Conv", 11, {x, b.Constant({16, 16, 3, 3}, std::vector<float>(2304, 0.1f))}, {1, 16, size - 2, size - 2}));
  return b.Take();
}

Graph Product(int64_t rows) {
  PlanBuilder b;
  const int32_t x = b.Input({rows, 64});
  b.Output(b.Node("MatMul", 13, {x, b.Constant({64, 64}, std::vector<float>(4096, 0.1f))}, {rows, 64}));
  return b.Take();
}

TEST(SmallWork, ASmallConvolutionIsNotShared) {
  EXPECT_EQ(TimesShared(Convolution(6), {1, 16, 6, 6}), 0);
  EXPECT_GT(TimesShared(Convolution(112), {1, 16, 112, 112}), 0) << "a large one is";
}

// Weights packed for two threads would be packed a second time when the small convolution first runs on one thread.
TEST(SmallWork, TheWeightsOfASmallConvolutionArePackedForOneThread) {
  const auto squeeze = [](int64_t from, int64_t to) {
    PlanBuilder b;
    const int32_t x = b.Input({1, from, 1, 1});
    const int32_t w = b.Constant({to, from, 1, 1}, std::vector<float>(static_cast<size_t>(from * to), 0.1f));
    b.Output(b.Node("Conv", 11, {x, w}, {1, to, 1, 1}));
    return b.Take();
  };
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{1152, 48}, {48, 1152}, {672, 28}, {32, 8}}) {
    const std::string alone = PackedFormat(squeeze(from, to), 1);
    EXPECT_NE(alone, "");
    EXPECT_EQ(PackedFormat(squeeze(from, to), 2), alone) << from << " to " << to;
  }
}

TEST(SmallWork, ASmallProductIsNotShared) {
  EXPECT_EQ(TimesShared(Product(8), {8, 64}), 0);
  EXPECT_GT(TimesShared(Product(4096), {4096, 64}), 0) << "a large one is";
}

}  // namespace
}  // namespace epiphyte::test
