// Compares the simulator's cycles with published figures, reports every deviation, and measures how fast it computes.
//
//   npusim_bench [--effort fast|balanced|exhaustive] [--no-exhaustive]
//
// Sources: NVDLA's primer (nvdla.org/primer, ResNet-50 int8 at 1 GHz: frames per second by MACs, buffer and DRAM);
// SCALE-Sim's golden reports and its issue 51, STONNE; Arm's ml-embedded-evaluation-kit (MobileNetV2 on Ethos-U55-128);
// Gemmini and VTA, which bracket 256 MACs. Two parameters of the model are the same for all devices: the DMA's
// efficiency and the overhead of a fold. Both are fitted only to NVDLA's rows of 2,048 and 128 MACs; its other five
// rows are predictions. All else follows from the geometry (isa/systolic.h). A further column has the geometry's
// figures without any fit: a port without losses, and folds that fill and drain the array one by one. The exit status
// is 0 only if every required bound holds.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "plugins/npu/simulator/compiler/compiler.h"
#include "plugins/npu/simulator/device/cycles.h"
#include "plugins/npu/simulator/device/device.h"
#include "plugins/npu/simulator/isa/systolic.h"
#include "tests/npu/simulator/networks.h"

namespace epiphyte::npusim {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

int misses = 0;

void Verdict(bool holds, const char* rule) {
  std::printf("  %s %s\n", holds ? "ok  " : "MISS", rule);
  if (!holds) ++misses;
}

CompiledGraph CompileNetwork(void (*build)(GraphBuilder&, int64_t), const Config& config, Effort effort) {
  GraphBuilder b("network");
  build(b, 224);
  return Compile(*b.Graph(), {.config = config, .effort = effort});
}

struct NvdlaRow {
  uint32_t rows, columns, buffer_kib;
  double gigabytes, frames;
  double PublishedCycles() const { return 1e9 / frames; }
};
constexpr std::array<NvdlaRow, 7> kNvdla = {{{64, 32, 512, 20, 269},
                                             {32, 32, 256, 15, 153},
                                             {32, 16, 256, 10, 93},
                                             {16, 16, 256, 5, 46},
                                             {16, 8, 256, 2, 20},
                                             {8, 8, 128, 1, 7.3},
                                             {8, 4, 128, 0.5, 3.6}}};

Config ConfigOf(const NvdlaRow& row) {
  Config config;
  config.rows = row.rows;
  config.columns = row.columns;
  config.scratchpad_bytes = row.buffer_kib * 1024;
  config.dma_millibytes_per_cycle = static_cast<uint32_t>(std::lround(row.gigabytes * 1000));
  return config;
}

void Nvdla(Effort effort) {
  std::printf("\nNVDLA's primer: ResNet-50, int8, batch 1, 1 GHz\n");
  std::vector<Config> configs;
  std::vector<CompiledGraph> compiled;
  for (const NvdlaRow& row : kNvdla) {
    configs.push_back(ConfigOf(row));
    compiled.push_back(CompileNetwork(BuildResNet50, configs.back(), effort));
  }
  const auto cycles = [&](size_t row, uint32_t efficiency, uint32_t overhead) {
    Config config = configs[row];
    config.dma_efficiency_permille = efficiency;
    config.fold_overhead_millicycles = overhead;
    return static_cast<double>(TotalCycles(compiled[row].program, config));
  };
  // The fit uses the two rows of 2,048 and 128 MACs.
  double best = 1e9;
  uint32_t efficiency = 0;
  uint32_t overhead = 0;
  for (uint32_t e = 400; e <= 1000; e += 25) {
    for (uint32_t o = 0; o <= 80'000; o += 1000) {
      const double wide = std::log(cycles(0, e, o) / kNvdla[0].PublishedCycles());
      const double narrow = std::log(cycles(4, e, o) / kNvdla[4].PublishedCycles());
      const double error = wide * wide + narrow * narrow;
      if (error >= best) continue;
      best = error;
      efficiency = e;
      overhead = o;
    }
  }
  std::printf(
      "  two parameters are fitted, to the published cycles of the rows of 2,048 and 128 MACs and to nothing else:\n"
      "  DMA efficiency %.3f, overhead of a fold %.3f cycles (the model's defaults: %.3f, %.3f)\n"
      "  geometry alone: DMA efficiency 1, overhead of a fold rows + columns - 1 (filled and drained by itself)\n",
      efficiency / 1000.0, overhead / 1000.0, Config{}.dma_efficiency_permille / 1000.0,
      Config{}.fold_overhead_millicycles / 1000.0);
  std::printf("  %6s %6s %7s %12s %12s %8s %11s %11s %8s\n", "MACs", "KiB", "GB/s", "published M", "simulated M",
              "error", "", "geometry M", "error");
  std::vector<double> errors;
  std::vector<double> geometry_errors;
  bool ordered = true;
  double before = 0;
  for (size_t row = 0; row < kNvdla.size(); ++row) {
    const double found = cycles(row, efficiency, overhead);
    const double published = kNvdla[row].PublishedCycles();
    const double error = found / published - 1;
    const bool fitted = row == 0 || row == 4;
    ordered = ordered && found > before;
    before = found;
    if (!fitted) errors.push_back(std::fabs(error));
    const double geometry = cycles(row, 1000, 1000 * (configs[row].rows + configs[row].columns - 1));
    if (!fitted) geometry_errors.push_back(std::fabs(geometry / published - 1));
    std::printf("  %6u %6u %7.1f %12.2f %12.2f %+7.1f%% %11s %11.2f %+7.1f%%\n", configs[row].Macs(),
                kNvdla[row].buffer_kib, kNvdla[row].gigabytes, published / 1e6, found / 1e6, 100 * error,
                fitted ? "(fitted)" : "(predicted)", geometry / 1e6, 100 * (geometry / published - 1));
  }
  std::sort(errors.begin(), errors.end());
  std::sort(geometry_errors.begin(), geometry_errors.end());
  std::printf("  predicted: median error %.1f %%, worst %.1f %%; of the same rows by geometry alone %.1f %%, %.1f %%\n",
              100 * errors[errors.size() / 2], 100 * errors.back(), 100 * geometry_errors[geometry_errors.size() / 2],
              100 * geometry_errors.back());
  Verdict(ordered, "order of the seven rows");
  Verdict(errors[errors.size() / 2] <= 0.25, "median error of the predicted rows at most 25 %");
  Verdict(errors.back() <= 0.60, "worst error of the predicted rows at most 60 %");
  // Programs are compiled for the default parameters, so the fitted values are only compared with the defaults roughly.
  const auto near = [](double value, double other, double distance) { return std::fabs(value - other) <= distance; };
  Verdict(near(efficiency, Config{}.dma_efficiency_permille, 100) &&
              near(overhead, Config{}.fold_overhead_millicycles, 4'000),
          "the model's defaults are the fitted values, to 0.1 of efficiency and 4 cycles of overhead");
}

// Returns the cycles of a network at each effort, the lowest effort first. `utilisation`: set to the share of the MACs
// that are used at the highest effort.
std::vector<uint64_t> Efforts(const char* network, void (*build)(GraphBuilder&, int64_t), bool exhaustive,
                              double& utilisation) {
  std::vector<uint64_t> totals;
  for (const auto& [name, effort] : {std::pair{"fast", Effort::kFast}, std::pair{"balanced", Effort::kBalanced},
                                     std::pair{"exhaustive", Effort::kExhaustive}}) {
    if (effort == Effort::kExhaustive && !exhaustive) continue;
    const Clock::time_point begin = Clock::now();
    const CompiledGraph compiled = CompileNetwork(build, Config{}, effort);
    const double seconds = SecondsSince(begin);
    const CycleCounters c = Simulate(compiled.program, Config{}).counters;
    totals.push_back(c.npu_total_cycles);
    utilisation = static_cast<double>(c.macs) / 256 / static_cast<double>(c.npu_total_cycles);
    std::printf("  %-5s %-11s %9.2f %9.2f %7.1f%% %8.1f %9.1f%% %9.1f%% %9.1f\n", network, name,
                static_cast<double>(c.macs) / 1e9, static_cast<double>(c.npu_total_cycles) / 1e6, 100 * utilisation,
                static_cast<double>((c.axi_read_beats + c.axi_write_beats) * c.axi_beat_bytes) / 1e6,
                100.0 * static_cast<double>(c.stall_dma_cycles) / static_cast<double>(c.npu_total_cycles),
                100.0 * static_cast<double>(c.stall_dependency_cycles) / static_cast<double>(c.npu_total_cycles),
                seconds);
  }
  return totals;
}

void ResNetAt256(bool exhaustive) {
  std::printf(
      "\nResNet-50 at 256 MACs (16x16, 256 KiB, 16 bytes a cycle), between VTA's 22.0 M and Gemmini's 38.4 M, which "
      "are\n"
      "of v1.5 (strides in the 3x3); v1 (strides in the first 1x1) is what NVDLA's figures are of\n");
  std::printf("  %-5s %-11s %9s %9s %8s %8s %10s %10s %9s\n", "", "effort", "G MACs", "M cycles", "used", "DMA MB",
              "stall DMA", "stall dep", "compile s");
  double utilisation_v1 = 0;
  double utilisation = 0;
  Efforts("v1", BuildResNet50, exhaustive, utilisation_v1);
  const std::vector<uint64_t> totals = Efforts("v1.5", BuildResNet50V15, exhaustive, utilisation);
  Verdict(totals[1] >= 22'000'000 && totals[1] <= 38'000'000, "v1.5 takes 22 to 38 M cycles (balanced)");
  Verdict(utilisation >= 0.60 && utilisation_v1 >= 0.60,
          "at the highest effort the MACs are used to at least 60 % by both");
  if (exhaustive) {
    Verdict(static_cast<double>(totals[2]) <= 0.9 * static_cast<double>(totals[0]),
            "exhaustive takes at least 10 % fewer cycles than fast");
  }
}

void ScaleSim() {
  std::printf("\nArray cycles of SCALE-Sim and STONNE (exact)\n");
  const auto isolated = [](Dataflow dataflow, uint64_t rows, uint64_t columns, const Product3& p) {
    return IsolatedFoldCycles(FoldsOf(dataflow, rows, columns, p), rows, columns);
  };
  const Product3 gemm{.m = 256, .n = 128, .k = 256};
  const Folds chain = FoldsOf(Dataflow::kWeightStationary, 128, 128, {.m = 256, .n = 256, .k = 768});
  const Folds stonne = FoldsOf(Dataflow::kOutputStationary, 4, 4, {.m = 5, .n = 2, .k = 2});
  const struct {
    const char* name;
    uint64_t published, found;
  } rows[] = {
      {"GEMM 256x128x256 on 32x32, os", 52'447 - 42'272, isolated(Dataflow::kOutputStationary, 32, 32, gemm) - 1},
      {"GEMM 256x128x256 on 32x32, ws", 52'447 - 41'248, isolated(Dataflow::kWeightStationary, 32, 32, gemm) - 1},
      {"GEMM 256x128x256 on 32x32, is", 19'984 - 5'777, isolated(Dataflow::kInputStationary, 32, 32, gemm) - 1},
      {"AlexNet conv1 on 32x32, ws", 112'283,
       isolated(Dataflow::kWeightStationary, 32, 32, {.m = 3025, .n = 96, .k = 363}) - 1},
      {"GEMM 256x768x256 on 128x128, ws, chained", 4'608, ChainedFoldCycles(chain, 128)},
      {"STONNE 5x2x2 on 4x4, os (one more a fold)", 18, IsolatedFoldCycles(stonne, 4, 4) + stonne.count},
  };
  for (const auto& row : rows) {
    std::printf("  %-44s %8llu %8llu\n", row.name, static_cast<unsigned long long>(row.published),
                static_cast<unsigned long long>(row.found));
    Verdict(row.published == row.found, row.name);
  }
}

void Channels17(Effort effort) {
  std::printf(
      "\nA 3x3 convolution of 128x128 pixels, 16 and 17 channels in and out (Ethos-U55: 2,795,457 to 5,228,677)\n");
  std::array<double, 2> cycles{};
  for (const int64_t channels : {16, 17}) {
    GraphBuilder b("conv");
    NetworkBuilder net(b);
    const uint32_t x = b.Input("x", NSDK_INT8, {1, channels, 128, 128}, {0.05f, 0});
    // The convolution is in the middle of a network, because inputs and outputs of a graph have ONNX's order of
    // dimensions.
    const uint32_t first = net.Conv(x, channels, 1, 1, true);
    b.Output(net.Conv(first, channels, 3, 1, true), "y");
    const CompiledGraph compiled = Compile(*b.Graph(), {.config = {}, .effort = effort});
    cycles[static_cast<size_t>(channels - 16)] = static_cast<double>(TotalCycles(compiled.program, Config{}));
  }
  std::printf("  %.0f to %.0f cycles: %.2fx (Ethos-U55: 1.87x)\n", cycles[0], cycles[1], cycles[1] / cycles[0]);
  Verdict(cycles[1] >= 1.7 * cycles[0], "the seventeenth channel costs at least 1.7x");
}

void MobileNet(Effort effort) {
  std::printf("\nMobileNetV2 at 128 MACs (16x8, 8 bytes a cycle), beside Ethos-U55-128 (reported as it is)\n");
  Config config;
  config.columns = 8;
  config.dma_millibytes_per_cycle = 8'000;
  config.axi_bytes = 8;
  const CompiledGraph compiled = CompileNetwork(BuildMobileNetV2, config, effort);
  const CycleCounters c = Simulate(compiled.program, config).counters;
  const auto row = [](const char* name, double published, double found) {
    std::printf("  %-22s %12.0f %12.0f %+7.1f%%\n", name, published, found, 100 * (found / published - 1));
  };
  std::printf("  %-22s %12s %12s %8s\n", "", "published", "simulated", "");
  row("NPU active cycles", 7'345'741, static_cast<double>(c.npu_active_cycles));
  row("NPU total cycles", 7'346'172, static_cast<double>(c.npu_total_cycles));
  row("AXI read beats", 2'468'259 + 432'351, static_cast<double>(c.axi_read_beats));
  row("AXI write beats", 1'151'319, static_cast<double>(c.axi_write_beats));
  std::printf("  MACs used to %.1f %% (published: 32 %%)\n",
              100 * static_cast<double>(c.macs) / config.Macs() / static_cast<double>(c.npu_total_cycles));
}

void Speed(Effort effort) {
  std::printf("\nResNet-50's arithmetic on this machine, one thread\n");
  const CompiledGraph compiled = CompileNetwork(BuildResNet50, Config{}, effort);
  uint64_t size = 0;
  for (const WeightPiece& piece : compiled.weights) size = std::max<uint64_t>(size, piece.offset + piece.bytes->size());
  std::vector<std::byte> weights(size);
  for (const WeightPiece& piece : compiled.weights) {
    std::memcpy(weights.data() + piece.offset, piece.bytes->data(), piece.bytes->size());
  }
  std::vector<std::byte> scratch(compiled.scratch_size);
  std::vector<std::byte> image(compiled.inputs[0].size, std::byte{3});
  std::vector<std::byte> logits(compiled.outputs[0].size);
  const std::byte* const inputs[] = {image.data()};
  std::byte* const outputs[] = {logits.data()};
  Device device{Config{}};
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point begin = Clock::now();
    device.Run(compiled.program, {weights.data(), scratch.data(), inputs, outputs}, nullptr);
    best = std::min(best, SecondsSince(begin));
  }
  const Clock::time_point begin = Clock::now();
  const uint64_t cycles = TotalCycles(compiled.program, Config{});
  std::printf("  %.3f s a run, best of 3; %zu commands, whose %llu cycles are counted in %.1f ms\n", best,
              compiled.program.size(), static_cast<unsigned long long>(cycles), 1e3 * SecondsSince(begin));
  Verdict(best <= 2.0, "at most 2 s a run");
}

int Main(int argc, char** argv) {
  Effort effort = Effort::kBalanced;
  bool exhaustive = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--no-exhaustive") {
      exhaustive = false;
    } else if (word == "--effort" && i + 1 < argc && std::string(argv[i + 1]) == "fast") {
      effort = Effort::kFast;
      ++i;
    } else if (word == "--effort" && i + 1 < argc && std::string(argv[i + 1]) == "balanced") {
      effort = Effort::kBalanced;
      ++i;
    } else if (word == "--effort" && i + 1 < argc && std::string(argv[i + 1]) == "exhaustive") {
      effort = Effort::kExhaustive;
      ++i;
    } else {
      std::fprintf(stderr, "usage: npusim_bench [--effort fast|balanced|exhaustive] [--no-exhaustive]\n");
      return 2;
    }
  }
  ScaleSim();
  Nvdla(effort);
  ResNetAt256(exhaustive);
  Channels17(effort);
  MobileNet(effort);
  Speed(effort);
  std::printf("\n%d missed\n", misses);
  return misses == 0 ? 0 : 1;
}

}  // namespace
}  // namespace epiphyte::npusim

int main(int argc, char** argv) { return epiphyte::npusim::Main(argc, argv); }
