// vulkan_bench: what the Vulkan plugin's products reach, in GFLOP/s, each a model of one node in a session: copies of
// its inputs and outputs are part of a run. The driver is that of VK_DRIVER_FILES.
//
//     VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json vulkan_bench --benchmark_filter=Square/512
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

// [rows, inner] by [inner, columns]. Rates are of multiply-adds, two operations each.
void RunProduct(benchmark::State& state, int64_t rows, int64_t inner, int64_t columns, bool packed) {
  const auto shape = [](int64_t a, int64_t b) { return "[" + std::to_string(a) + "," + std::to_string(b) + "]"; };
  const std::string a_shape = shape(rows, inner), b_shape = shape(inner, columns);
  // Weights that are constant are packed when the session is created.
  std::string weights;
  if (packed) {
    weights = "<float" + b_shape + " b = {";
    for (int64_t i = 0; i < inner * columns; ++i) weights += (i == 0 ? "" : ",") + std::to_string(i % 7 - 3);
    weights += "}>";
  }
  const std::string model = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 18]> g (float" + a_shape + " a" +
                                         (packed ? "" : ", float" + b_shape + " b") + ") => (float[] y) " + weights +
                                         " { y = MatMul(a, b) }");
  static const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.thread_count = 2;
  const std::string failure = FailureOf([&] {
    core::Session session(*environment, model.data(), model.size(), options);
    std::vector<core::ValuePtr> inputs = {Floats({rows, inner}, std::vector<float>(rows * inner, 0.5f))};
    if (!packed) inputs.push_back(Floats({inner, columns}, std::vector<float>(inner * columns, 0.25f)));
    session.Run(inputs);  // records and compiles
    for (auto _ : state) benchmark::DoNotOptimize(session.Run(inputs));
  });
  if (failure != "OK") return state.SkipWithError(failure.c_str());
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void Square(benchmark::State& state) { RunProduct(state, state.range(0), state.range(0), state.range(0), false); }
BENCHMARK(Square)->Arg(512)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

void SquareOfPackedWeights(benchmark::State& state) {
  RunProduct(state, state.range(0), state.range(0), state.range(0), true);
}
BENCHMARK(SquareOfPackedWeights)->Arg(512)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

// A step of decoding.
void RowOfPackedWeights(benchmark::State& state) { RunProduct(state, 1, state.range(0), state.range(0), true); }
BENCHMARK(RowOfPackedWeights)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epiphyte::test

BENCHMARK_MAIN();
