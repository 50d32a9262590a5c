// vulkan_bench: what the Vulkan plugin's products reach, in GFLOP/s, each a model of one node in a session. The driver
// is that of VK_DRIVER_FILES.
//
//     VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json vulkan_bench --benchmark_filter=Square/f32/512
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/device/transfer.h"
#include "core/runtime/session.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

// [rows, inner] by [inner, columns]; what is read and written lies in the device's memory. Rates are of multiply-adds,
// two operations each.
void RunProduct(benchmark::State& state, core::DataType type, int64_t rows, int64_t inner, int64_t columns,
                bool packed) {
  const std::string name = type == core::DataType::kFloat16 ? "float16" : "float";
  const auto shape = [](int64_t a, int64_t b) { return "[" + std::to_string(a) + "," + std::to_string(b) + "]"; };
  const std::string a_shape = shape(rows, inner), b_shape = shape(inner, columns);
  // Weights that are constant are packed when the session is created.
  std::string weights;
  if (packed) {
    weights = "<" + name + b_shape + " b = {";
    for (int64_t i = 0; i < inner * columns; ++i) weights += (i == 0 ? "" : ",") + std::to_string(i % 7 - 3);
    weights += "}>";
  }
  const std::string model = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 18]> g (" + name + a_shape + " a" +
                                         (packed ? "" : ", " + name + b_shape + " b") + ") => (" + name +
                                         shape(rows, columns) + " y) " + weights + " { y = MatMul(a, b) }");
  static const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.thread_count = 2;
  const std::string failure = FailureOf([&] {
    core::PluginDevice* const device = environment->devices().Find(environment->catalog().Load("vulkan"), 0);
    const auto halves = [&](int64_t a, int64_t b) {
      const int64_t dims[] = {a, b};
      const core::ValuePtr value = core::Value::Tensor(type, dims);
      if (type == core::DataType::kFloat16) {
        std::fill_n(static_cast<uint16_t*>(value->mutable_data()), a * b, uint16_t{0x3800});
      } else {
        std::fill_n(static_cast<float*>(value->mutable_data()), a * b, 0.5f);
      }
      return core::ToDevice(*value, *device->main_memory(), environment->devices(), nullptr, "an operand");
    };
    core::Session session(*environment, model.data(), model.size(), options);
    std::vector<core::ValuePtr> inputs = {halves(rows, inner)};
    if (!packed) inputs.push_back(halves(inner, columns));
    core::RunBindings bindings;
    bindings.outputs = {{halves(rows, columns), nullptr}};
    core::RunSettings settings;
    settings.bindings = &bindings;
    session.Run(inputs, settings);  // records and compiles
    for (auto _ : state) benchmark::DoNotOptimize(session.Run(inputs, settings));
  });
  if (failure != "OK") return state.SkipWithError(failure.c_str());
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void Square(benchmark::State& state, core::DataType type) {
  RunProduct(state, type, state.range(0), state.range(0), state.range(0), false);
}
BENCHMARK_CAPTURE(Square, f32, core::DataType::kFloat)
    ->RangeMultiplier(2)
    ->Range(512, 4096)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Square, f16, core::DataType::kFloat16)
    ->RangeMultiplier(2)
    ->Range(512, 4096)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void SquareOfPackedWeights(benchmark::State& state) {
  RunProduct(state, core::DataType::kFloat, state.range(0), state.range(0), state.range(0), true);
}
BENCHMARK(SquareOfPackedWeights)->Arg(512)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

// A step of decoding.
void RowOfPackedWeights(benchmark::State& state) {
  RunProduct(state, core::DataType::kFloat, 1, state.range(0), state.range(0), true);
}
BENCHMARK(RowOfPackedWeights)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

// --- convolutions and products of bytes: as the plugin runs a QDQ unit, one dispatch after the other (the units'
// scales are inputs, so that none is found), and the same in float.

enum class Quantization { kNone, kNodes, kUnit };

struct QuantizedCase {
  const char* x;  // shapes, as in the text of a model
  const char* w;
  const char* op;  // of dx and dw
  int64_t x_count = 0;
  std::vector<int64_t> x_dims;
  int64_t w_count = 0;
  double products = 0;
};

std::string Numbers(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(i * 7 % 200 - 100);
  return text;
}

void RunQuantized(benchmark::State& state, const QuantizedCase& of, Quantization quantization) {
  const std::string x = of.x, w = of.w, op = of.op;
  const std::string model =
      quantization == Quantization::kNone
          ? "g (float" + x + " dx) => (float[] y) <float" + w + " dw = {" + Numbers(of.w_count) + "}> { y = " + op +
                " }"
          : "g (int8" + x + " x" + (quantization == Quantization::kNodes ? ", float s" : "") + ") => (int8[] y) <int8" +
                w + " w = {" + Numbers(of.w_count) + "}" + ", " +
                (quantization == Quantization::kNodes ? "" : "float s = {0.05}, ") +
                "int8 z = {0}> { dx = DequantizeLinear(x, s, z) dw = DequantizeLinear(w, s, z) f = " + op +
                " y = QuantizeLinear(f, s, z) }";
  const std::string bytes = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 18]> " + model);
  static const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.thread_count = 2;
  const std::string failure = FailureOf([&] {
    core::Session session(*environment, bytes.data(), bytes.size(), options);
    std::vector<core::ValuePtr> inputs;
    if (quantization == Quantization::kNone) {
      inputs.push_back(Floats(of.x_dims, std::vector<float>(static_cast<size_t>(of.x_count), 0.5f)));
    } else {
      inputs.push_back(core::Value::Tensor(core::DataType::kInt8, of.x_dims));
      std::fill_n(static_cast<int8_t*>(inputs[0]->mutable_data()), of.x_count, int8_t{3});
      if (quantization == Quantization::kNodes) inputs.push_back(Floats({}, {0.05f}));
    }
    session.Run(inputs);
    for (auto _ : state) benchmark::DoNotOptimize(session.Run(inputs));
  });
  if (failure != "OK") return state.SkipWithError(failure.c_str());
  state.counters["GMAC/s"] = benchmark::Counter(1e-9 * of.products, benchmark::Counter::kIsIterationInvariantRate);
}

const QuantizedCase kConv3 = {"[1,64,56,56]",         "[64,64,3,3]",   "Conv <pads = [1,1,1,1]> (dx, dw)",
                              64 * 56 * 56,           {1, 64, 56, 56}, 64 * 64 * 9,
                              64.0 * 64 * 9 * 56 * 56};
const QuantizedCase kConv1 = {"[1,256,56,56]",  "[64,256,1,1]", "Conv(dx, dw)",      256 * 56 * 56,
                              {1, 256, 56, 56}, 64 * 256,       64.0 * 256 * 56 * 56};
const QuantizedCase kMatMul = {"[512,512]", "[512,512]", "MatMul(dx, dw)", 512 * 512,
                               {512, 512},  512 * 512,   512.0 * 512 * 512};

void Conv3x3(benchmark::State& state, Quantization quantization) { RunQuantized(state, kConv3, quantization); }
void Conv1x1(benchmark::State& state, Quantization quantization) { RunQuantized(state, kConv1, quantization); }
void MatMul512(benchmark::State& state, Quantization quantization) { RunQuantized(state, kMatMul, quantization); }
#define QUANTIZED(name)                                \
  BENCHMARK_CAPTURE(name, float, Quantization::kNone)  \
      ->UseRealTime()                                  \
      ->MeasureProcessCPUTime()                        \
      ->Unit(benchmark::kMillisecond);                 \
  BENCHMARK_CAPTURE(name, nodes, Quantization::kNodes) \
      ->UseRealTime()                                  \
      ->MeasureProcessCPUTime()                        \
      ->Unit(benchmark::kMillisecond);                 \
  BENCHMARK_CAPTURE(name, unit, Quantization::kUnit)   \
      ->UseRealTime()                                  \
      ->MeasureProcessCPUTime()                        \
      ->Unit(benchmark::kMillisecond)
QUANTIZED(Conv3x3);
QUANTIZED(Conv1x1);
QUANTIZED(MatMul512);
#undef QUANTIZED

}  // namespace
}  // namespace epiphyte::test

BENCHMARK_MAIN();
