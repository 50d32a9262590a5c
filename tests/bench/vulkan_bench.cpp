// vulkan_bench: GFLOP/s of the Vulkan plugin's GEMMs and times of its row kernels, each a model of one node in a
// session. VK_DRIVER_FILES chooses the driver.
//
//     VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json vulkan_bench --benchmark_filter=Square/f32/512
#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/device/transfer.h"
#include "core/runtime/session.h"
#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/framework/test_session.h"

namespace epiphyte::test {
namespace {

struct Operand {
  core::DataType type = core::DataType::kFloat;
  std::vector<int64_t> dims;
};

// A tensor in device memory. All elements are 0.5, or for uint8 the byte 0x7A of two 4-bit weights.
core::ValuePtr OnDevice(core::Environment& environment, const Operand& operand) {
  const core::ValuePtr value = core::Value::Tensor(operand.type, operand.dims);
  const uint64_t count = value->element_count();
  switch (operand.type) {
    case core::DataType::kFloat16:
      std::fill_n(static_cast<uint16_t*>(value->mutable_data()), count, uint16_t{0x3800});
      break;
    case core::DataType::kUint8: std::fill_n(static_cast<uint8_t*>(value->mutable_data()), count, uint8_t{0x7A}); break;
    default: std::fill_n(static_cast<float*>(value->mutable_data()), count, 0.5f);
  }
  core::PluginDevice* const device = environment.devices().Find(environment.catalog().Load("vulkan"), 0);
  return core::ToDevice(*value, *device->main_memory(), environment.devices(), nullptr, "an operand");
}

// Returns whether the placement report assigns this kernel to the model's first node.
bool GetsKernel(core::Environment& environment, const std::string& model, const core::SessionOptions& options,
                const std::string& kernel) {
  const TempDir dir;
  std::ofstream(dir.path() / "model.onnx", std::ios::binary) << model;
  const core::Placement placement = core::PlaceModel(environment, dir.path() / "model.onnx", options);
  for (const std::string& note : placement.nodes.at(0).notes)
    if (note.starts_with(kernel)) return true;
  return false;
}

// Runs a model's graph, given as text, with inputs and outputs in device memory. The first node's kernel name must
// begin with `kernel`, otherwise the case is skipped; "" accepts any kernel.
void RunOnDevice(benchmark::State& state, const std::string& graph, const std::vector<Operand>& inputs,
                 const Operand& output, const std::map<std::string, std::string>& provider_options = {},
                 const std::string& kernel = "") {
  static const std::unique_ptr<core::Environment> environment = BuildTreeEnvironment();
  const std::string model = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]> " + graph);
  core::SessionOptions options = OptionsFor({"vulkan"});
  options.thread_count = 2;
  options.providers[0].options = provider_options;
  const std::string failure = FailureOf([&] {
    if (!kernel.empty() && !GetsKernel(*environment, model, options, kernel))
      throw std::runtime_error("the device has nothing for " + kernel);
    core::Session session(*environment, model.data(), model.size(), options);
    std::vector<core::ValuePtr> values;
    for (const Operand& input : inputs) values.push_back(OnDevice(*environment, input));
    core::RunBindings bindings;
    bindings.outputs = {{OnDevice(*environment, output), nullptr}};
    core::RunSettings settings;
    settings.bindings = &bindings;
    session.Run(values, settings);  // the first run records and compiles
    for (auto _ : state) benchmark::DoNotOptimize(session.Run(values, settings));
  });
  if (failure != "OK") state.SkipWithError(failure.c_str());
}

std::string TextOf(const Operand& operand) {
  std::string text = operand.type == core::DataType::kFloat16 ? "float16"
                     : operand.type == core::DataType::kUint8 ? "uint8"
                                                              : "float";
  for (size_t i = 0; i < operand.dims.size(); ++i) text += (i == 0 ? "[" : ",") + std::to_string(operand.dims[i]);
  return text + "]";
}

// Multiplies [rows, inner] by [inner, columns]. The rate counts a multiply-add as two operations.
void RunProduct(benchmark::State& state, core::DataType type, int64_t rows, int64_t inner, int64_t columns, bool packed,
                const std::map<std::string, std::string>& provider_options = {}, const std::string& kernel = "") {
  const Operand a{type, {rows, inner}}, b{type, {inner, columns}}, y{type, {rows, columns}};
  // Constant weights are packed when the session is created.
  std::string weights;
  if (packed) {
    weights = "<" + TextOf(b) + " b = {";
    for (int64_t i = 0; i < inner * columns; ++i) weights += (i == 0 ? "" : ",") + std::to_string(i % 7 - 3);
    weights += "}>";
  }
  std::vector<Operand> inputs = {a};
  if (!packed) inputs.push_back(b);
  RunOnDevice(state,
              "g (" + TextOf(a) + " a" + (packed ? "" : ", " + TextOf(b) + " b") + ") => (" + TextOf(y) + " y) " +
                  weights + " { y = MatMul(a, b) }",
              inputs, y, provider_options, kernel);
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void Square(benchmark::State& state, core::DataType type,
            const std::map<std::string, std::string>& provider_options = {}, const std::string& kernel = "") {
  RunProduct(state, type, state.range(0), state.range(0), state.range(0), false, provider_options, kernel);
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
// Square float16 matrices with cooperative matrices, even on devices that are faster without them, and without them.
BENCHMARK_CAPTURE(Square, coopmat, core::DataType::kFloat16, {{"prefer", "coopmat"}}, "matmul_coop")
    ->RangeMultiplier(2)
    ->Range(512, 4096)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Square, no_coopmat, core::DataType::kFloat16, {{"disable", "coopmat"}})
    ->RangeMultiplier(2)
    ->Range(512, 4096)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void SquareOfPackedWeights(benchmark::State& state) {
  RunProduct(state, core::DataType::kFloat, state.range(0), state.range(0), state.range(0), true);
}
BENCHMARK(SquareOfPackedWeights)->Arg(512)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

// The GEMM of a decoding step: one row.
void RowOfPackedWeights(benchmark::State& state) {
  RunProduct(state, core::DataType::kFloat, 1, state.range(0), state.range(0), true);
}
BENCHMARK(RowOfPackedWeights)->Arg(1024)->UseRealTime()->Unit(benchmark::kMillisecond);

// --- rows: one invocation per row, a subgroup, a workgroup of subgroups, a workgroup with its memory, and the plugin's
// own choice. Rates count the bytes that are read.

struct RowsCase {
  const char* name;
  const char* call;  // call with x0, x1, …
  std::vector<Operand> inputs;
  Operand output;
};

const std::map<std::string, std::string> kWays[] = {
    {{"disable", "subgroup,shared_memory"}},
    {{"prefer", "subgroup"}, {"disable", "shared_memory"}},
    {{"prefer", "subgroup,shared_memory"}},
    {{"prefer", "shared_memory"}, {"disable", "subgroup"}},
    {},
};
constexpr const char* kWayNames[] = {"alone", "subgroup", "subgroups", "shared", "chosen"};

void RegisterRows() {
  constexpr core::DataType kF32 = core::DataType::kFloat, kF16 = core::DataType::kFloat16;
  static const RowsCase kCases[] = {
      {"Softmax/64x4096", "Softmax(x0)", {{kF32, {64, 4096}}}, {kF32, {64, 4096}}},
      {"Softmax/65536x32", "Softmax(x0)", {{kF32, {65536, 32}}}, {kF32, {65536, 32}}},
      {"LayerNormalization/1x4096",
       "LayerNormalization(x0, x1, x2)",
       {{kF32, {1, 4096}}, {kF32, {4096}}, {kF32, {4096}}},
       {kF32, {1, 4096}}},
      {"LayerNormalization/512x768",
       "LayerNormalization(x0, x1, x2)",
       {{kF32, {512, 768}}, {kF32, {768}}, {kF32, {768}}},
       {kF32, {512, 768}}},
      {"ReduceSum/16x65536", "ReduceSum(x0, axes)", {{kF32, {16, 65536}}}, {kF32, {16, 1}}},
      {"ReduceMax/4096x512", "ReduceMax(x0, axes)", {{kF32, {4096, 512}}}, {kF32, {4096, 1}}},
      {"RowTimesMatrix/2048", "MatMul(x0, x1)", {{kF32, {1, 2048}}, {kF32, {2048, 2048}}}, {kF32, {1, 2048}}},
      {"RowTimesMatrix/f16/2048", "MatMul(x0, x1)", {{kF16, {1, 2048}}, {kF16, {2048, 2048}}}, {kF16, {1, 2048}}},
      {"RowTimesTransposed/2048",
       "Gemm<transB=1>(x0, x1)",
       {{kF32, {1, 2048}}, {kF32, {2048, 2048}}},
       {kF32, {1, 2048}}},
      {"FourRowsTimesMatrix/2048", "MatMul(x0, x1)", {{kF32, {4, 2048}}, {kF32, {2048, 2048}}}, {kF32, {4, 2048}}},
      {"RowTimesPacked/1024", "MatMul(x0, w)", {{kF32, {1, 1024}}}, {kF32, {1, 1024}}},
      {"RowTimesNBits/4096",
       "com.microsoft.MatMulNBits<K=4096, N=4096, block_size=32, bits=4>(x0, x1, x2)",
       {{kF32, {1, 4096}}, {core::DataType::kUint8, {4096, 128, 16}}, {kF32, {4096, 128}}},
       {kF32, {1, 4096}}},
  };
  for (const RowsCase& each : kCases) {
    for (size_t way = 0; way < std::size(kWays); ++way) {
      const auto run = [&each, way](benchmark::State& state) {
        std::string graph = "g (", initializers;
        double bytes = 0;
        for (size_t i = 0; i < each.inputs.size(); ++i) {
          const Operand& input = each.inputs[i];
          graph += (i == 0 ? "" : ", ") + TextOf(input) + " x" + std::to_string(i);
          uint64_t count = 1;
          for (const int64_t dim : input.dims) count *= static_cast<uint64_t>(dim);
          bytes += static_cast<double>(core::DataTypeBytes(input.type, count));
        }
        const std::string call = each.call;
        if (call.find("axes") != std::string::npos) initializers = "<int64[1] axes = {1}>";
        if (call.find("w)") != std::string::npos) {
          initializers = "<float[1024,1024] w = {";
          for (int64_t i = 0; i < 1024 * 1024; ++i) initializers += (i == 0 ? "" : ",") + std::to_string(i % 7 - 3);
          initializers += "}>";
          bytes += 4.0 * 1024 * 1024;
        }
        RunOnDevice(state, graph + ") => (" + TextOf(each.output) + " y) " + initializers + " { y = " + call + " }",
                    each.inputs, each.output, kWays[way]);
        state.counters["GB/s"] = benchmark::Counter(1e-9 * bytes, benchmark::Counter::kIsIterationInvariantRate);
      };
      benchmark::RegisterBenchmark((std::string("Rows/") + each.name + "/" + kWayNames[way]).c_str(), run)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

// --- convolutions and GEMMs of bytes: as a QDQ unit, as separate dispatches (the scales are inputs, so that the plugin
// finds no unit), and the same in float.

enum class Quantization { kNone, kNodes, kUnit };

struct QuantizedCase {
  const char* x;  // shapes, as in the text of a model
  const char* w;
  const char* op;  // operator on dx and dw
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

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  epiphyte::test::RegisterRows();
  benchmark::RunSpecifiedBenchmarks();
}
