// Properties of compiled programs: equal graphs give equal bytes, programs have no races and pass verification, more
// effort gives fewer cycles, and tensors that stay on the chip cause less traffic.
#include "plugins/npu/simulator/compiler/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "plugins/npu/simulator/device/cycles.h"
#include "plugins/npu/simulator/device/race.h"
#include "tests/npu/simulator/networks.h"

namespace epiphyte::npusim {
namespace {

using testing::HasSubstr;

Config SmallDevice() {
  Config config;
  config.rows = 8;
  config.columns = 4;
  config.scratchpad_bytes = 16 * 1024;
  config.accumulator_bytes = 4 * 1024;
  return config;
}

// A bottleneck block of a residual network, with its pools and its classifier.
void BuildBlock(GraphBuilder& b, int64_t size = 28) {
  NetworkBuilder net(b);
  uint32_t x = b.Input("image", NSDK_INT8, {1, 3, size, size}, {1.0f / 64, 0});
  x = net.Conv(x, 24, 3, 1, true);
  x = net.MaxPool(x, 3, 2, 1);
  const uint32_t shortcut = net.Conv(x, 40, 1, 1, false);
  uint32_t y = net.Conv(x, 20, 1, 1, true);
  y = net.Conv(y, 20, 3, 1, true, 20);
  y = net.Conv(y, 40, 1, 1, false);
  net.Head(net.Add(y, shortcut, true), 30);
}

std::vector<std::byte> BlobOf(const NsdkGraph& graph, const CompileOptions& options) {
  const CompiledGraph compiled = Compile(graph, options);
  return WriteBlob(options.config, std::array{&compiled}, "1");
}

uint64_t CyclesOf(const NsdkGraph& graph, const CompileOptions& options) {
  return TotalCycles(Compile(graph, options).program, options.config);
}

TEST(Compiler, MakesTheSameBytesOfTheSameGraph) {
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kExhaustive}) {
    GraphBuilder a("net"), b("net");
    BuildBlock(a);
    BuildBlock(b);
    EXPECT_EQ(BlobOf(*a.Graph(), {.effort = effort}), BlobOf(*b.Graph(), {.effort = effort}));
  }
}

TEST(Compiler, ProgramsAreVerifiedAndHaveNoRaces) {
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kExhaustive}) {
    for (const bool fusion : {false, true}) {
      for (const Config& config : {Config{}, SmallDevice()}) {
        GraphBuilder b("net");
        BuildBlock(b);
        const CompileOptions options{.config = config, .effort = effort, .fusion = fusion};
        const CompiledGraph compiled = Compile(*b.Graph(), options);
        const std::vector<std::byte> blob = WriteBlob(config, std::array{&compiled}, "1");
        EXPECT_NO_THROW(ReadBlob(blob));
        const auto race = FindRace(compiled.program);
        EXPECT_FALSE(race) << race->what;
        EXPECT_LE(compiled.scratchpad_peak, config.scratchpad_bytes);
        EXPECT_EQ(compiled.scratchpad_peak, Simulate(compiled.program, config).counters.scratchpad_peak);
      }
    }
  }
}

TEST(Compiler, EffortBuysCycles) {
  GraphBuilder b("resnet");
  BuildResNet50(b, 96);
  const uint64_t fast = CyclesOf(*b.Graph(), {.effort = Effort::kFast}),
                 balanced = CyclesOf(*b.Graph(), {.effort = Effort::kBalanced}),
                 exhaustive = CyclesOf(*b.Graph(), {.effort = Effort::kExhaustive});
  EXPECT_LT(balanced, fast);
  EXPECT_LE(exhaustive, balanced);
  EXPECT_LE(exhaustive, fast / 100 * 95);  // small images; the bench requires more of large ones
}

TEST(Compiler, WhatStaysOnTheChipIsNotMoved) {
  GraphBuilder b("net");
  BuildBlock(b);
  const auto moved = [&](bool fusion) {
    const CompiledGraph compiled = Compile(*b.Graph(), {.fusion = fusion});
    const CycleCounters c = Simulate(compiled.program, Config{}).counters;
    return std::pair(c.axi_read_beats + c.axi_write_beats, compiled.scratch_size);
  };
  const auto [together, scratch_together] = moved(true);
  const auto [apart, scratch_apart] = moved(false);
  EXPECT_LT(together, apart * 7 / 10);
  EXPECT_LT(scratch_together, scratch_apart);
}

TEST(Compiler, SeventeenthChannelTakesAnotherBlockOfSixteen) {
  std::array<uint64_t, 2> cycles{};
  for (const int64_t channels : {16, 17}) {
    GraphBuilder b("conv");
    NetworkBuilder net(b);
    const uint32_t x = b.Input("x", NSDK_INT8, {1, channels, 64, 64}, {0.05f, 0});
    b.Output(net.Conv(net.Conv(x, channels, 3, 1, true), channels, 3, 1, true), "y");
    cycles[static_cast<size_t>(channels - 16)] = CyclesOf(*b.Graph(), {});
  }
  EXPECT_GE(cycles[1] * 10, cycles[0] * 17);
}

TEST(Compiler, GraphsOfOtherShapesShareTheirWeights) {
  const auto build = [](GraphBuilder& b, int64_t rows) {
    const uint32_t x = b.Input("x", NSDK_INT8, {rows, 256}, {0.05f, 3});
    const uint32_t w = b.RandomConstant(NSDK_INT8, {256, 1000}, {0.01f, 0});
    const uint32_t y = b.Value(NSDK_INT8, {rows, 1000}, {0.5f, 0});
    b.Op(NSDK_MATMUL, {x, w}, {y});
    b.Output(y, "y");
  };
  GraphBuilder prefill("prefill"), decode("decode");
  build(prefill, 128);
  build(decode, 1);
  const CompiledGraph a = Compile(*prefill.Graph(), {.effort = Effort::kExhaustive}),
                      b = Compile(*decode.Graph(), {.effort = Effort::kFast});
  const std::vector<std::byte> one = WriteBlob({}, std::array{&a}, "1"), both = WriteBlob({}, std::array{&a, &b}, "1");
  EXPECT_EQ(ReadBlob(one).weights.size(), ReadBlob(both).weights.size());
}

TEST(Compiler, ReportsProgressAndCanBeCancelled) {
  GraphBuilder b("resnet");
  BuildResNet50(b, 64);
  double last = 0;
  int calls = 0;
  const auto look = [&](double done, const std::string& text) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, 1);
    EXPECT_FALSE(text.empty());
    last = done;
    ++calls;
    return true;
  };
  Compile(*b.Graph(), {.effort = Effort::kBalanced, .progress = look});
  EXPECT_EQ(last, 1);
  EXPECT_GT(calls, 100);
  for (const int after : {1, 50, calls - 1}) {
    int left = after;
    std::chrono::steady_clock::time_point told;
    const auto stop = [&](double, const std::string&) {
      if (--left > 0) return true;
      told = std::chrono::steady_clock::now();
      return false;
    };
    EXPECT_THROW(Compile(*b.Graph(), {.effort = Effort::kBalanced, .progress = stop}), Cancelled);
    EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(1));
  }
}

TEST(Compiler, AnInputMayBeAnOutput) {
  GraphBuilder b("same");
  const uint32_t x = b.Input("x", NSDK_UINT8, {5, 7}, {0.5f, 3});
  b.Output(x, "x");
  const CompiledGraph compiled = Compile(*b.Graph(), {});
  EXPECT_EQ(compiled.outputs[0].size, 35u);
  EXPECT_EQ(compiled.program.size(), 2u);
}

TEST(Compiler, AResultThatIsReadAndGivenOutIsStoredTwice) {
  GraphBuilder b("twice");
  NetworkBuilder net(b);
  const uint32_t x = b.Input("x", NSDK_INT8, {1, 16, 8, 8}, {0.05f, 0});
  const uint32_t y = net.Conv(x, 16, 3, 1, true);
  b.Output(y, "y");
  b.Output(net.Conv(y, 16, 3, 1, true), "z");
  const CompiledGraph compiled = Compile(*b.Graph(), {});
  EXPECT_FALSE(FindRace(compiled.program));
  EXPECT_GT(compiled.scratch_size, 0u);
}

}  // namespace
}  // namespace epiphyte::npusim
