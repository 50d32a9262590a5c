// Tokens make a queue wait for another where they access the same memory, and nowhere else.
#include "plugins/npu/simulator/compiler/tokens.h"

#include <gtest/gtest.h>

#include <random>

#include "plugins/npu/simulator/device/race.h"

namespace epiphyte::npusim {
namespace {

LoadCommand Load(uint32_t to, uint32_t bytes) {
  LoadCommand load;
  load.region = kInputs;
  load.scratchpad_offset = to;
  load.run = bytes;
  return load;
}

StoreCommand Store(uint32_t from, uint32_t bytes, uint32_t region = kOutputs, uint64_t to = 0) {
  StoreCommand store;
  store.region = region;
  store.external_offset = to;
  store.scratchpad_offset = from;
  store.run = bytes;
  return store;
}

FillCommand Fill(uint32_t at, uint32_t bytes) {
  FillCommand fill;
  fill.offset = at;
  fill.count = {1, 1, 1, bytes};
  fill.stride = {0, 0, 0, 1};
  return fill;
}

TEST(Tokens, AReaderWaitsForTheWriter) {
  std::vector<Command> program = {{kLoad, Load(0, 64)}, {kLoad, Load(64, 64)}, {kStore, Store(0, 64)}};
  AssignTokens(program);
  EXPECT_EQ(program[2].wait[kLoad], 1u);
}

TEST(Tokens, AWriterWaitsForReaders) {
  std::vector<Command> program = {{kLoad, Load(0, 64)}, {kStore, Store(0, 64)}, {kLoad, Load(32, 64)}};
  AssignTokens(program);
  EXPECT_EQ(program[2].wait[kStore], 1u);
}

TEST(Tokens, WhatTouchesOtherBytesDoesNotWait) {
  std::vector<Command> program = {{kLoad, Load(0, 64)}, {kExecute, Fill(64, 64)}, {kStore, Store(128, 64)}};
  AssignTokens(program);
  for (const Command& command : program) EXPECT_EQ(command.wait, (std::array<uint32_t, 3>{}));
}

TEST(Tokens, ScratchMemoryOutsideCountsToo) {
  LoadCommand back = Load(256, 64);
  back.region = kScratch;
  back.external_offset = 32;
  std::vector<Command> program = {
      {kStore, Store(0, 64, kScratch)}, {kStore, Store(0, 64, kScratch, 96)}, {kLoad, back}};
  AssignTokens(program);
  EXPECT_EQ(program[2].wait[kStore], 1u);
}

TEST(Tokens, WhatIsKnownToBeOverIsNotWaitedForAgain) {
  std::vector<Command> program = {
      {kLoad, Load(0, 64)}, {kExecute, Fill(0, 64)}, {kExecute, Fill(0, 64)}, {kStore, Store(0, 64)}};
  AssignTokens(program);
  EXPECT_EQ(program[1].wait[kLoad], 1u);
  EXPECT_EQ(program[2].wait[kLoad], 0u);  // runs after a command of its queue that has waited
  EXPECT_EQ(program[3].wait[kLoad], 0u);  // the second fill has ended, so the load has, too
  EXPECT_EQ(program[3].wait[kExecute], 2u);
}

TEST(Tokens, GapsBelongToOthers) {
  LoadCommand even = Load(0, 16);
  even.count[4] = 8;
  even.external_stride[4] = 16;
  even.scratchpad_stride[4] = 64;
  std::vector<Command> program = {{kLoad, even}, {kExecute, Fill(16, 48)}, {kExecute, Fill(64, 1)}};
  AssignTokens(program);
  EXPECT_EQ(program[1].wait[kLoad], 0u);
  EXPECT_EQ(program[2].wait[kLoad], 1u);
}

TEST(Tokens, RandomProgramsHaveNoRaces) {
  std::mt19937 random(3);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  int races_without = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Command> program;
    for (int i = 0; i < 60; ++i) {
      const uint32_t at = below(400), bytes = 1 + below(100);
      switch (below(4)) {
        case 0: {
          LoadCommand load = Load(at, bytes);
          load.region = below(2) != 0 ? kScratch : kInputs;
          load.external_offset = below(200);
          load.count[2] = 1 + below(3);
          load.scratchpad_stride[2] = static_cast<int32_t>(below(90));
          program.push_back({kLoad, load});
          break;
        }
        case 1: program.push_back({kStore, Store(at, bytes, kScratch, below(200))}); break;
        case 2: program.push_back({kExecute, Fill(at, bytes)}); break;
        default: program.push_back({kLoad, Fill(at, bytes)}); break;
      }
    }
    races_without += FindRace(program).has_value();
    AssignTokens(program);
    const auto race = FindRace(program);
    ASSERT_FALSE(race) << "round " << round << ": " << race->what;
  }
  EXPECT_GT(races_without, 190);  // nearly all programs have a race without tokens
}

}  // namespace
}  // namespace epiphyte::npusim
