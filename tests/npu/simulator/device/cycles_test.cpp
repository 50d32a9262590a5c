#include "plugins/npu/simulator/device/cycles.h"

#include <gtest/gtest.h>

#include "plugins/npu/simulator/isa/timing.h"

namespace epiphyte::npusim {
namespace {

LoadCommand Load(uint32_t offset, uint32_t bytes) {
  LoadCommand load;
  load.region = kInputs;
  load.scratchpad_offset = offset;
  load.run = bytes;
  return load;
}

StoreCommand Store(uint32_t offset, uint32_t bytes) {
  StoreCommand store;
  store.region = kOutputs;
  store.scratchpad_offset = offset;
  store.run = bytes;
  return store;
}

ConvCommand Conv(uint32_t pixels, uint32_t in, uint32_t out, uint32_t kernel = 1) {
  ConvCommand c;
  c.width = pixels;
  c.in_channels = in;
  c.x_pixel_stride = in;
  c.x_row_stride = pixels * in;
  c.w_offset = 64 * 1024;
  c.w_row_stride = out;
  c.window.height = c.window.width = kernel;
  c.out_width = pixels;
  c.out_channels = out;
  c.accumulator_pixel_stride = out;
  c.accumulator_row_stride = pixels * out;
  return c;
}

Config Plain() {
  Config config;
  config.dma_efficiency_permille = 1000;
  config.fold_overhead_millicycles = 0;
  return config;
}

TEST(Timing, AFoldIsSixteenBySixteenChannels) {
  const Config config = Plain();
  const auto cycles = [&](uint32_t in, uint32_t out) { return ExecuteCycles(Conv(400, in, out, 3), config); };
  EXPECT_EQ(cycles(16, 16), 16u + 9 * 400 + 30);
  EXPECT_EQ(cycles(1, 1), cycles(16, 16));
  EXPECT_EQ(cycles(17, 16) - 46, 2 * (cycles(16, 16) - 46));
  EXPECT_EQ(cycles(17, 17) - 46, 4 * (cycles(16, 16) - 46));
}

TEST(Timing, TransfersAreRoundedUpToWholeBeats) {
  const Config config = Plain();
  LoadCommand load = Load(0, 17);
  EXPECT_EQ(CostOf(load, config).beats, 2u);
  load.count[4] = 10;
  load.external_stride[4] = 17;
  EXPECT_EQ(CostOf(load, config).beats, 11u);  // contiguous: one run of 170 bytes
  load.external_stride[4] = 100;
  EXPECT_EQ(CostOf(load, config).beats, 20u);
  load.external_stride[4] = 17;
  load.external_offset = 15;
  EXPECT_EQ(CostOf(load, config).beats, 12u);
}

TEST(Timing, ASlowPortTakesLonger) {
  Config config = Plain();
  config.dma_millibytes_per_cycle = 500;
  EXPECT_EQ(CostOf(Load(0, 1600), config).port_cycles, 3200u);
  config.dma_efficiency_permille = 500;
  EXPECT_EQ(CostOf(Load(0, 1600), config).port_cycles, 6400u);
}

TEST(Cycles, ATokenOrdersQueuesAndOthersRunSideBySide) {
  const Config config = Plain();
  const QuantizedOp conv = Conv(1000, 16, 16);
  const uint64_t compute = ExecuteCycles(conv, config);
  const std::vector<Command> program = {{kLoad, Load(0, 16000)},
                                        {kExecute, conv, {1, 0, 0}},
                                        {kLoad, Load(16000, 16000)},
                                        {kExecute, conv, {2, 0, 0}},
                                        {kStore, Store(0, 1600), {0, 2, 0}}};
  const Timeline timeline = Simulate(program, config);
  EXPECT_EQ(timeline.spans[0].begin, config.dma_latency);
  EXPECT_EQ(timeline.spans[0].end, config.dma_latency + 1000u);
  EXPECT_EQ(timeline.spans[1].begin, timeline.spans[0].end);
  EXPECT_EQ(timeline.spans[2].begin, timeline.spans[0].end);  // the first command hides its latency
  EXPECT_EQ(timeline.spans[3].begin, timeline.spans[1].end);
  EXPECT_EQ(timeline.spans[4].begin, timeline.spans[3].end + config.dma_latency);
  const CycleCounters& c = timeline.counters;
  EXPECT_EQ(c.npu_total_cycles, config.dma_latency * 2 + 1000 + 2 * compute + 100);
  EXPECT_EQ(c.npu_idle_cycles, 2u * config.dma_latency);
  EXPECT_EQ(c.npu_active_cycles + c.npu_idle_cycles, c.npu_total_cycles);
  EXPECT_EQ(c.axi_read_beats, 2000u);
  EXPECT_EQ(c.axi_write_beats, 100u);
  EXPECT_EQ(c.axi_beat_bytes, 16u);
  EXPECT_EQ(c.macs, 2u * 1000 * 256);
  EXPECT_EQ(c.mac_active_cycles, 2000u);
  EXPECT_EQ(c.stall_dma_cycles, config.dma_latency + 1000u);
  EXPECT_EQ(c.stall_dependency_cycles, 0u);
  EXPECT_EQ(c.scratchpad_peak, 64u * 1024 + 256);
  EXPECT_EQ(TotalCycles(program, config), c.npu_total_cycles);
}

TEST(Cycles, LoadsAndStoresShareThePort) {
  const Config config = Plain();
  const std::vector<Command> program = {{kLoad, Load(0, 16000)}, {kStore, Store(32000, 16000)}};
  const Timeline timeline = Simulate(program, config);
  EXPECT_EQ(timeline.spans[1].begin, timeline.spans[0].end);
}

TEST(Cycles, WaitingForTheStoreQueuesOwnWorkIsAStallOfDependency) {
  PostCommand post;
  post.width = 1000;
  post.channels = 16;
  post.accumulator_pixel_stride = 16;
  post.table_offset = 128 * 1024;
  post.y_pixel_stride = 16;
  const std::vector<Command> program = {
      {kExecute, Conv(1000, 16, 16)}, {kStore, post, {0, 1, 0}}, {kExecute, Conv(1000, 16, 16), {0, 0, 1}}};
  const Timeline timeline = Simulate(program, Plain());
  EXPECT_EQ(timeline.counters.stall_dependency_cycles, ExecuteCycles(post, Plain()));
  EXPECT_EQ(timeline.counters.stall_dma_cycles, 0u);
}

TEST(Cycles, NothingTakesNoTime) { EXPECT_EQ(Simulate({}, Config{}).counters.npu_total_cycles, 0u); }

}  // namespace
}  // namespace epiphyte::npusim
