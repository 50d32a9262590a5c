// Overhead of the microkernel beside the work of the nodes: Run() of one tiny node and of chains of tiny nodes, from
// one and from several threads; session creation as the graph grows; and listing the installed plugins.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/registry/catalog.h"
#include "core/runtime/session.h"
#include "tests/framework/temp_dir.h"
#include "tests/models/models.h"
#include "tests/models/sample_inputs.h"
#include "tests/onnx_backend/value_files.h"
#include "tests/registry/manifest_text.h"

namespace epiphyte::test {
namespace {

class Model {
 public:
  explicit Model(const std::string& name)
      : path_(WriteModel(name, dir_.path())),
        inputs_(ReadTensorFiles(WriteSampleInputs(name, dir_.path()), "input_")),
        environment_(core::CatalogOptions{}) {
    options_.thread_count = 1;
  }

  std::unique_ptr<core::Session> CreateSession() {
    return std::make_unique<core::Session>(environment_, path_, options_);
  }
  const std::vector<core::ValuePtr>& inputs() const { return inputs_; }

 private:
  TempDir dir_;
  std::filesystem::path path_;
  std::vector<core::ValuePtr> inputs_;
  core::Environment environment_;
  core::SessionOptions options_;
};

void RunModel(benchmark::State& state, const std::string& name) {
  Model model(name);
  const std::unique_ptr<core::Session> session = model.CreateSession();
  for (auto _ : state) benchmark::DoNotOptimize(session->Run(model.inputs()));
}

void BM_RunTinyAdd(benchmark::State& state) { RunModel(state, "tiny_add"); }
BENCHMARK(BM_RunTinyAdd);

void BM_RunChain(benchmark::State& state) {
  RunModel(state, "chain_" + std::to_string(state.range(0)));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RunChain)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);

// One session has several callers. The first thread makes it before the loop begins, where all threads wait.
void BM_RunTinyAddFromThreads(benchmark::State& state) {
  static Model* model = nullptr;
  static core::Session* session = nullptr;
  if (state.thread_index() == 0) {
    model = new Model("tiny_add");
    session = model->CreateSession().release();
  }
  for (auto _ : state) benchmark::DoNotOptimize(session->Run(model->inputs()));
  if (state.thread_index() == 0) {
    delete session;
    delete model;
  }
}
BENCHMARK(BM_RunTinyAddFromThreads)->Threads(2)->UseRealTime();

void BM_CreateSessionOfChain(benchmark::State& state) {
  Model model("chain_" + std::to_string(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(model.CreateSession());
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_CreateSessionOfChain)
    ->RangeMultiplier(10)
    ->Range(1000, 100000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

// Time until an application can show which plugins are installed. No library is opened.
void BM_ListPlugins(benchmark::State& state) {
  TempDir folder;
  for (int64_t i = 0; i < state.range(0); ++i) {
    folder.Write(fmt::format("lib{}.so", i), "");
    folder.Write(fmt::format("m{}.yaml", i),
                 ManifestText(fmt::format("p{}", i), fmt::format("lib{}.so", i),
                              fmt::format("license: Apache-2.0\ndescription: A plugin that is there to be listed\n"
                                          "sources: [S{}]\ndevices: [gpu]\npriority: {}\noptions: {{device: 0}}",
                                          i, i)));
  }
  core::CatalogOptions options;
  options.paths = {folder.path()};
  options.use_environment = options.use_user_folder = options.use_system_folders = false;
  for (auto _ : state) {
    core::Environment environment(options);
    if (environment.catalog().entries().size() != static_cast<size_t>(state.range(0)))
      state.SkipWithError("not every manifest is listed");
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_ListPlugins)->RangeMultiplier(10)->Range(1, 100)->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);

}  // namespace
}  // namespace epiphyte::test
