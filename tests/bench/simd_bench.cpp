// Times of the CPU plugin's vector loops, for each instruction set that this CPU has: function/target/length.
//
//     simd_bench --benchmark_filter='softmax/.*/(16|128)$'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/cpu/simd/convert/convert.h"
#include "plugins/cpu/simd/convert/quantize.h"
#include "plugins/cpu/simd/elementwise/binary.h"
#include "plugins/cpu/simd/elementwise/select.h"
#include "plugins/cpu/simd/elementwise/unary.h"
#include "plugins/cpu/simd/gemm/panel_product.h"
#include "plugins/cpu/simd/gemm/row_dots.h"
#include "plugins/cpu/simd/gemm/row_times_panel.h"
#include "plugins/cpu/simd/gemm/tile_matmul.h"
#include "plugins/cpu/simd/reduce/normalize.h"
#include "plugins/cpu/simd/reduce/reduce.h"
#include "plugins/cpu/simd/sequence/attention_rows.h"
#include "plugins/cpu/simd/sequence/recurrent.h"
#include "plugins/cpu/simd/target/targets.h"
#include "plugins/cpu/simd/window/channel_scale.h"
#include "plugins/cpu/simd/window/local_response.h"

namespace epiphyte::cpu::simd {
namespace {

// Rows of operands for one function; all live until the program ends.
struct Rows {
  explicit Rows(int64_t count) : a(Random(count, 1)), b(Random(count, 2)), c(Random(count, 3)), y(Random(count, 4)) {}
  static std::vector<float> Random(int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> distribution(0.1f, 1);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = distribution(random);
    return values;
  }
  std::vector<float> a, b, c, y;
  std::vector<uint8_t> bytes = std::vector<uint8_t>(a.size());
};

using Body = std::function<void(Rows&, int64_t n)>;

// Registers a benchmark for each length and instruction set. `floats` returns the floats of a row of that length, and
// `items` the items of work in it.
void Register(const std::string& function, const std::vector<int64_t>& lengths,
              const std::function<int64_t(int64_t)>& floats, const std::function<int64_t(int64_t)>& items,
              const Body& body) {
  for (const std::string& target : SupportedTargets()) {
    for (const int64_t n : lengths) {
      const std::string name = function + "/" + target + "/" + std::to_string(n);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        const TargetChoice choice(target);
        Rows rows(floats(n));
        for (auto step : state) {
          body(rows, n);
          benchmark::ClobberMemory();
        }
        state.SetItemsProcessed(state.iterations() * items(n));
      });
    }
  }
}

int64_t Same(int64_t n) { return n; }
void RegisterRow(const std::string& function, const Body& body) {
  Register(function, {1, 8, 64, 100, 1000, 100000}, Same, Same, body);
}

void RegisterUnary() {
  const std::pair<const char*, Unary> functions[] = {{"exp", Unary::kExp},
                                                     {"log", Unary::kLog},
                                                     {"tanh", Unary::kTanh},
                                                     {"erf", Unary::kErf},
                                                     {"sigmoid", Unary::kSigmoid},
                                                     {"softplus", Unary::kSoftplus},
                                                     {"relu", Unary::kRelu},
                                                     {"gelu", Unary::kGelu},
                                                     {"elu", Unary::kElu},
                                                     {"sqrt", Unary::kSqrt},
                                                     {"hard_swish", Unary::kHardSwish}};
  for (const auto& [name, function] : functions) {
    RegisterRow(name, [function = function](Rows& rows, int64_t n) {
      UnaryLoop(function, 1)(rows.a.data(), rows.y.data(), n);
    });
  }
}

void RegisterBinary() {
  const std::pair<const char*, Binary> functions[] = {
      {"add", Binary::kAdd}, {"mul", Binary::kMul}, {"div", Binary::kDiv}, {"max", Binary::kMax}};
  for (const auto& [name, function] : functions) {
    RegisterRow(name, [function = function](Rows& rows, int64_t n) {
      BinaryLoop loop(function);
      loop(rows.a.data(), 1, rows.b.data(), 1, rows.y.data(), n);
    });
  }
  RegisterRow("mul_by_number", [](Rows& rows, int64_t n) {
    BinaryLoop loop(Binary::kMul);
    loop(rows.a.data(), 1, rows.b.data(), 0, rows.y.data(), n);
  });
  RegisterRow("select", [](Rows& rows, int64_t n) {
    const auto words = [](std::vector<float>& values) { return reinterpret_cast<uint32_t*>(values.data()); };
    SelectLoop<uint32_t> loop;
    loop(rows.bytes.data(), words(rows.a), 1, words(rows.b), 1, words(rows.y), n);
  });
  RegisterRow("bytes_to_floats", [](Rows& rows, int64_t n) {
    ConvertLoop<uint8_t, float> loop;
    loop(rows.bytes.data(), rows.y.data(), n);
  });
  RegisterRow("floats_to_bytes", [](Rows& rows, int64_t n) {
    ConvertLoop<float, uint8_t> loop;
    loop(rows.a.data(), rows.bytes.data(), n);
  });
}

void RegisterReductions() {
  const std::pair<const char*, Reduction> reductions[] = {{"reduce_sum", Reduction::kSum},
                                                          {"reduce_squares", Reduction::kSumOfSquares},
                                                          {"reduce_largest", Reduction::kLargest}};
  for (const auto& [name, reduction] : reductions) {
    RegisterRow(name, [reduction = reduction](Rows& rows, int64_t n) {
      ReduceLoop loop(reduction);
      benchmark::DoNotOptimize(loop(rows.a.data(), n));
    });
  }
}

void RegisterNormalizations() {
  RegisterRow("sum",
              [](Rows& rows, int64_t n) { benchmark::DoNotOptimize(ChosenNormalizeLoops().sum(rows.a.data(), n)); });
  RegisterRow("normalize", [](Rows& rows, int64_t n) {
    ChosenNormalizeLoops().normalize(rows.a.data(), rows.y.data(), n, 0.5f, 2, rows.b.data(), rows.c.data());
  });
  RegisterRow("softmax",
              [](Rows& rows, int64_t n) { ChosenNormalizeLoops().softmax(rows.a.data(), rows.y.data(), n); });
  RegisterRow("power", [](Rows& rows, int64_t n) {
    ScaleByPower(rows.a.data(), rows.b.data(), rows.y.data(), n, 1, 0.1f, 0.75f);
  });
  constexpr int64_t kPoints = 196;
  Register(
      "channels", {8, 16, 20, 64, 256}, [](int64_t n) { return n * kPoints; }, [](int64_t n) { return n * kPoints; },
      [](Rows& rows, int64_t n) {
        ScaleChannels(rows.a.data(), rows.b.data(), rows.c.data(), rows.y.data(), kPoints, n);
      });
}

void RegisterAttention() {
  RegisterRow("masked_softmax",
              [](Rows& rows, int64_t n) { MaskedSoftmax(rows.y.data(), rows.b.data(), 1, 0.125f, n); });
  constexpr int64_t kDepth = 64;
  const auto floats = [](int64_t n) { return n * kDepth; };
  Register("dots_of_64", {1, 16, 128, 1000}, floats, floats,
           [](Rows& rows, int64_t n) { RowDots(rows.a.data(), rows.b.data(), kDepth, n, kDepth, rows.y.data()); });
}

void RegisterRecurrent() {
  const std::vector<int64_t> lengths = {16, 64, 128, 256, 512};
  const auto gates = [](int64_t n) { return 4 * n; };
  Register("lstm_step", lengths, gates, Same,
           [](Rows& rows, int64_t n) { LstmStep(rows.a.data(), n, rows.b.data(), rows.y.data(), n); });
  Register("gru_step", lengths, Same, Same, [](Rows& rows, int64_t n) {
    GruStep(rows.a.data(), rows.b.data(), rows.c.data(), nullptr, rows.y.data(), n);
  });
  const auto panels = [](int64_t n) { return PanelFloats(4 * n, n); };
  for (const int64_t batch : {1, 4}) {
    Register(
        "lstm_product_of_" + std::to_string(batch), lengths, panels, [=](int64_t n) { return batch * 4 * n * n; },
        [=](Rows& rows, int64_t n) {
          PanelProduct product;
          product.a = rows.a.data();
          product.a_stride = n;
          product.panels = rows.b.data();
          product.panel_stride = kPanelWidth * n;
          product.y = rows.y.data();
          product.y_stride = 4 * n;
          product.sum = product.y;
          product.rows = batch;
          product.n = 4 * n;
          product.k = n;
          RunPanelProduct(product);
        });
  }
}

void RegisterProducts() {
  constexpr int64_t kRows = 64;
  const auto items = [](int64_t n) { return kRows * n * n; };
  const auto floats = [=](int64_t n) { return std::max(kRows, n) * n; };
  const std::vector<int64_t> lengths = {8, 16, 33, 64, 100, 256};
  Register("tiles_of_float", lengths, floats, items, [](Rows& rows, int64_t n) {
    TileMatMul(TileOperands<float>{rows.a.data(), n, rows.b.data(), n, rows.y.data(), n, kRows, n, n});
  });
  Register("tiles_of_uint32", lengths, floats, items, [](Rows& rows, int64_t n) {
    const auto as_words = [](std::vector<float>& values) { return reinterpret_cast<uint32_t*>(values.data()); };
    TileMatMul(TileOperands<uint32_t>{as_words(rows.a), n, as_words(rows.b), n, as_words(rows.y), n, kRows, n, n});
  });
  for (const int64_t width : {16, 64}) {
    Register(
        "row_times_panel_of_" + std::to_string(width), {64, 1024, 4096}, [=](int64_t n) { return width * n; },
        [=](int64_t n) { return width * n; },
        [=](Rows& rows, int64_t n) { RowTimesPanel(rows.a.data(), rows.b.data(), width, n, rows.y.data()); });
  }
}

void RegisterQuantization() {
  for (const int64_t stride : {0, 1}) {
    const std::string suffix = stride == 0 ? "" : "_by_element";
    RegisterRow("quantize" + suffix, [=](Rows& rows, int64_t n) {
      QuantizeRow(rows.a.data(), rows.bytes.data(), n, rows.b.data(), rows.c.data(), stride);
    });
    RegisterRow("dequantize" + suffix, [=](Rows& rows, int64_t n) {
      DequantizeRow(rows.bytes.data(), rows.y.data(), n, rows.b.data(), rows.c.data(), stride);
    });
  }
  RegisterRow("range", [](Rows& rows, int64_t n) { benchmark::DoNotOptimize(RangeWithZero(rows.a.data(), n)); });
}

}  // namespace
}  // namespace epiphyte::cpu::simd

int main(int argc, char** argv) {
  namespace simd = epiphyte::cpu::simd;
  simd::RegisterUnary();
  simd::RegisterBinary();
  simd::RegisterReductions();
  simd::RegisterNormalizations();
  simd::RegisterAttention();
  simd::RegisterRecurrent();
  simd::RegisterProducts();
  simd::RegisterQuantization();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
