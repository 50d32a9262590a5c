#include "plugins/npu/simulator/isa/encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

using testing::HasSubstr;

// A program with one command of each kind, for a scratchpad of 256 KiB and 16 K accumulator words.
std::vector<Command> OneOfEach() {
  std::vector<Command> program;
  LoadCommand load;
  load.region = kInputs;
  load.run = 64;
  load.count = {1, 1, 1, 2, 8};
  load.external_stride = {0, 0, 0, 512, 64};
  load.scratchpad_stride = {0, 0, 0, 512, 64};
  program.push_back({kLoad, load, {}, 1});
  program.push_back({kLoad, FillCommand{.offset = 4096, .value = 7, .count = {1, 1, 1, 100}, .stride = {0, 0, 0, 1}}});
  ConvCommand conv;
  conv.x_pixel_stride = 16;
  conv.x_row_stride = 64;
  conv.height = 4;
  conv.width = 4;
  conv.in_channels = 16;
  conv.w_offset = 8192;
  conv.w_row_stride = 8;
  conv.window = {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1};
  conv.accumulator_pixel_stride = 8;
  conv.accumulator_row_stride = 32;
  conv.out_height = 4;
  conv.out_width = 4;
  conv.out_channels = 8;
  program.push_back({kExecute, conv, {2, 0, 0}, 1});
  PostCommand post;
  post.accumulator_pixel_stride = 8;
  post.accumulator_row_stride = 32;
  post.height = 4;
  post.width = 4;
  post.channels = 8;
  post.table_offset = 16384;
  post.y_offset = 20000;
  post.y_row_stride = 32;
  post.y_pixel_stride = 8;
  program.push_back({kExecute, post, {}, 1});
  ElementwiseCommand add;
  add.count = {1, 1, 1, 1, 128};
  add.a_stride[4] = add.b_stride[4] = add.y_stride[4] = 1;
  add.shift = 30;
  program.push_back({kExecute, add});
  PoolCommand pool;
  pool.x_row_stride = 16;
  pool.x_pixel_stride = 4;
  pool.height = 4;
  pool.width = 4;
  pool.channels = 4;
  pool.window = {.height = 2, .width = 2, .stride_y = 2, .stride_x = 2};
  pool.y_offset = 30000;
  pool.y_row_stride = 8;
  pool.y_pixel_stride = 4;
  pool.out_height = 2;
  pool.out_width = 2;
  pool.shift = 30;
  program.push_back({kExecute, pool});
  program.push_back({kExecute, LookupCommand{.y_offset = 64, .table_offset = 1024, .columns = 64}});
  program.push_back({kExecute, SoftmaxCommand{.columns = 64, .exponentials_offset = 2048}});
  program.push_back({kExecute, LayerNormCommand{.columns = 64, .scale_offset = 2048, .bias_offset = 4096}});
  ResizeCommand resize;
  resize.rows_offset = 1024;
  resize.columns_offset = 2048;
  resize.shift = 30;
  program.push_back({kExecute, resize});
  StoreCommand store;
  store.region = kOutputs;
  store.run = 128;
  program.push_back({kStore, store, {0, 8, 0}, 2});
  return program;
}

RegionSizes Regions() { return {.weights = 1024, .scratch = 1024, .inputs = {1024}, .outputs = {128}}; }

std::vector<std::byte> Stream(const std::vector<Command>& program) {
  std::vector<std::byte> stream;
  for (const Command& command : program) Encode(command, stream);
  return stream;
}

std::string Refusal(const std::vector<Command>& program, const Config& config = {}) {
  try {
    Verify(program, config, Regions());
  } catch (const BadProgram& e) {
    return e.what();
  }
  return "";
}

TEST(Encoding, CommandsComeBackAsTheyWere) {
  const std::vector<Command> program = OneOfEach();
  const std::vector<std::byte> stream = Stream(program);
  const std::vector<Command> decoded = Decode(stream);
  ASSERT_EQ(decoded.size(), program.size());
  EXPECT_EQ(Stream(decoded), stream);
  EXPECT_EQ(Refusal(decoded), "");
  for (size_t i = 0; i < program.size(); ++i) {
    EXPECT_EQ(decoded[i].queue, program[i].queue);
    EXPECT_EQ(decoded[i].op, program[i].op);
    EXPECT_EQ(decoded[i].wait, program[i].wait);
  }
  EXPECT_EQ(std::get<ConvCommand>(decoded[2].work).window.pad_y, 1);
  EXPECT_EQ(std::get<LoadCommand>(decoded[0].work).external_stride[3], 512);
}

TEST(Encoding, AStreamThatEndsAnywhereElseThanAfterACommandIsRefused) {
  const std::vector<std::byte> stream = Stream(OneOfEach());
  size_t whole = 0;
  for (size_t size = 0; size < stream.size(); ++size) {
    try {
      Decode({stream.data(), size});
      ++whole;
    } catch (const BadProgram&) {
    }
  }
  EXPECT_EQ(whole, OneOfEach().size());
}

TEST(Encoding, DamagedStreamsAreRefusedOrStayWithinTheirMemory) {
  const std::vector<std::byte> stream = Stream(OneOfEach());
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> damaged = stream;
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int f = 0; f < flips; ++f) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    try {
      Verify(Decode(damaged), Config{}, Regions());
    } catch (const BadProgram&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5'000);
}

TEST(Verify, SaysWhichCommandAndWhy) {
  std::vector<Command> program = OneOfEach();
  std::get<LoadCommand>(program[0].work).run = 1024;
  EXPECT_THAT(Refusal(program), HasSubstr("command 0 (LOAD): it reaches beyond a region of external memory"));

  program = OneOfEach();
  std::get<LoadCommand>(program[0].work).external_stride[3] = -64;
  EXPECT_THAT(Refusal(program), HasSubstr("below the beginning"));

  program = OneOfEach();
  std::get<PostCommand>(program[3].work).y_offset = 256 * 1024 - 1;
  EXPECT_THAT(Refusal(program), HasSubstr("command 3 (POST): it reaches beyond the scratchpad"));

  program = OneOfEach();
  std::get<ConvCommand>(program[2].work).accumulator = 16 * 1024 - 127;
  EXPECT_THAT(Refusal(program), HasSubstr("beyond the accumulators"));

  program = OneOfEach();
  program.back().wait[kExecute] = 9;
  EXPECT_THAT(Refusal(program), HasSubstr("waits for a token"));

  program = OneOfEach();
  program.back().queue = kLoad;
  EXPECT_THAT(Refusal(program), HasSubstr("queue that doesn't execute it"));

  program = OneOfEach();
  std::get<StoreCommand>(program.back().work).region = kWeights;
  EXPECT_THAT(Refusal(program), HasSubstr("can only be read"));

  program = OneOfEach();
  std::get<ElementwiseCommand>(program[4].work).shift = 63;
  EXPECT_THAT(Refusal(program), HasSubstr("a shift isn't 1 to 62"));
}

TEST(Verify, NumbersThatOverflowReachNowhere) {
  std::vector<Command> program = OneOfEach();
  auto& load = std::get<LoadCommand>(program[0].work);
  load.external_offset = UINT64_MAX - 1000;
  EXPECT_NE(Refusal(program), "");
  program = OneOfEach();
  auto& conv = std::get<ConvCommand>(program[2].work);
  conv.height = conv.width = 0xffffffff;
  conv.x_row_stride = conv.x_pixel_stride = 0;
  EXPECT_NE(Refusal(program), "");
}

}  // namespace
}  // namespace epiphyte::npusim
