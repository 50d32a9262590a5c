// vulkan_ceiling_bench: what a Vulkan device reaches at most: multiply-adds that only registers feed, and bytes read
// once. The physical limits beside which tests/bench/gpu.sh sets the plugin's products. Times are the device's own.
//
//     vulkan_ceiling_bench [--device=NAME] [--benchmark_…]
//
// NAME as in the provider option `use`; without it the best device that there is, or a software device if there is
// nothing else.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "plugins/vulkan/device/device.h"
#include "plugins/vulkan/device/instance.h"
#include "tests/vulkan/host_program.h"

namespace epiphyte::vulkan {

const KernelSet& BenchKernels();  // of tests/bench/shaders; the build generates it

namespace {

// Runs one command until the benchmark has seen enough, each of `units` of work.
void Measure(benchmark::State& state, const std::shared_ptr<Device>& device, const Command& command, const char* name,
             double units) {
  HostList list;
  list.commands.push_back(command);
  CompileOptions options;
  options.profile = true;
  HostProgram program(device, list, options);
  std::vector<CommandTime> times;
  RunOptions run;
  run.times = &times;
  program.Run({}, {}, run);  // compiles
  for (auto _ : state) {
    program.Run({}, {}, run);
    state.SetIterationTime(1e-9 * static_cast<double>(times.at(0).duration_ns));
  }
  state.counters[name] = benchmark::Counter(units * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

std::array<uint32_t, 3> GroupsOf(uint32_t invocations) { return {invocations / 64, 1, 1}; }

void MultiplyAdd(benchmark::State& state, const std::shared_ptr<Device>& device, const std::string& type) {
  const bool software = device->info().type == DeviceType::kSoftware;
  const uint32_t invocations = software ? 1u << 10 : 1u << 20;
  const uint32_t steps = software ? 1u << 12 : 1u << 10;
  const uint64_t element_bytes = type == "f16" ? 2 : 4;
  const BufferRange sums = {device->Allocate(invocations * element_bytes, "sums"), 0, invocations * element_bytes};
  const Command command = {.shader = "multiply_add." + type,
                           .parameters = {invocations, steps},
                           .bindings = {{sums, Access::kWrite}},
                           .groups = GroupsOf(invocations),
                           .work = uint64_t{invocations} * steps};
  Measure(state, device, command, "GFLOP/s", 2.0 * 32.0 * invocations * steps);
}

// Multiplies cooperative matrices. Each subgroup has 16 accumulators.
void MultiplyAddMatrices(benchmark::State& state, const std::shared_ptr<Device>& device) {
  const Capabilities& can = device->info().capabilities;
  const MatrixShape& matrix = can.coop_matrix;
  constexpr uint32_t kGroups = 1u << 12, kSteps = 1u << 10, kSubgroups = 4;
  const uint64_t bytes = uint64_t{kGroups} * kSubgroups * matrix.m * matrix.n * sizeof(float);
  const BufferRange sums = {device->Allocate(bytes, "sums"), 0, bytes};
  const double multiply_adds = 16.0 * matrix.m * matrix.n * matrix.k * kSteps * kSubgroups * kGroups;
  const Command command = {.shader = "multiply_add_matrices.f16",
                           .specialization = {kSubgroups * can.subgroup_size, matrix.m, matrix.n, matrix.k},
                           .parameters = {kSteps},
                           .bindings = {{sums, Access::kWrite}},
                           .groups = {kGroups, 1, 1},
                           .work = static_cast<uint64_t>(multiply_adds),
                           .full_subgroups = true};
  Measure(state, device, command, "GFLOP/s", 2.0 * multiply_adds);
}

void Read(benchmark::State& state, const std::shared_ptr<Device>& device) {
  const uint64_t bytes = std::min<uint64_t>(device->info().capabilities.max_buffer_range, uint64_t{512} << 20);
  const uint32_t invocations = device->info().type == DeviceType::kSoftware ? 1u << 10 : 1u << 18;
  const BufferRange from = {device->Allocate(bytes, "what is read"), 0, bytes};
  const BufferRange sums = {device->Allocate(invocations * 4, "sums"), 0, uint64_t{invocations} * 4};
  const std::vector<std::byte> zeros(bytes);
  device->Upload(std::vector<HostToDevice>{{from, zeros.data()}});
  const Command command = {.shader = "read.f32",
                           .parameters = {static_cast<uint32_t>(bytes / 16), invocations},
                           .bindings = {{from, Access::kRead}, {sums, Access::kWrite}},
                           .groups = GroupsOf(invocations),
                           .work = bytes / 16};
  Measure(state, device, command, "GB/s", static_cast<double>(bytes));
}

int Main(int argc, char** argv) {
  std::string wanted;
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--device=", 9) == 0) {
      wanted = argv[i] + 9;
    } else {
      std::fprintf(stderr, "vulkan_ceiling_bench: unexpected argument '%s'\n", argv[i]);
      return 2;
    }
  }
  const OpenedInstance opened = OpenInstance();
  if (opened.instance == nullptr) {
    std::fprintf(stderr, "vulkan_ceiling_bench: %s\n", opened.why_not.c_str());
    return 1;
  }
  const DeviceInfo info = ChooseDevice(opened.instance->devices(), {.device = wanted, .allow_software = true});
  if (!info.timestamps) {
    std::fprintf(stderr, "vulkan_ceiling_bench: %s takes no times\n", info.name.c_str());
    return 1;
  }
  const std::shared_ptr<Device> device = Device::Open(opened.instance, info, {.kernels = &BenchKernels()});
  benchmark::AddCustomContext("device", info.name);
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMillisecond);
  };
  add("MultiplyAdd/f32", [&](benchmark::State& state) { MultiplyAdd(state, device, "f32"); });
  if (info.capabilities.Has(Capability::kFp16))
    add("MultiplyAdd/f16", [&](benchmark::State& state) { MultiplyAdd(state, device, "f16"); });
  // Emulated cooperative matrices are skipped: a compiler then sees that each step adds the same, and multiplies once.
  if (info.capabilities.Has(Capability::kCoopMatrix))
    add("MultiplyAdd/coopmat", [&](benchmark::State& state) { MultiplyAddMatrices(state, device); });
  add("Read", [&](benchmark::State& state) { Read(state, device); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace epiphyte::vulkan

int main(int argc, char** argv) {
  try {
    return epiphyte::vulkan::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vulkan_ceiling_bench: %s\n", error.what());
    return 1;
  }
}
