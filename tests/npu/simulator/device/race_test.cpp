#include "plugins/npu/simulator/device/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epiphyte::npusim {
namespace {

LoadCommand Load(uint32_t offset, uint32_t bytes) {
  LoadCommand load;
  load.region = kInputs;
  load.scratchpad_offset = offset;
  load.run = bytes;
  return load;
}

LookupCommand Lookup(uint32_t from, uint32_t to, uint32_t count) {
  return {.x_offset = from, .y_offset = to, .table_offset = 8192, .columns = count};
}

StoreCommand Store(uint32_t offset, uint32_t bytes) {
  StoreCommand store;
  store.region = kOutputs;
  store.scratchpad_offset = offset;
  store.run = bytes;
  return store;
}

TEST(Race, TokensOrder) {
  const std::vector<Command> program = {{kLoad, Load(0, 100)},
                                        {kExecute, Lookup(0, 200, 100), {1, 0, 0}},
                                        {kStore, Store(200, 100), {0, 1, 0}},
                                        {kLoad, Load(200, 100), {0, 0, 1}}};
  EXPECT_EQ(FindRace(program), std::nullopt);
}

TEST(Race, AMissingTokenIsFound) {
  std::vector<Command> program = {{kLoad, Load(0, 100)}, {kExecute, Lookup(0, 200, 100)}};
  const auto race = FindRace(program);
  ASSERT_TRUE(race);
  EXPECT_EQ(race->first, 0u);
  EXPECT_EQ(race->second, 1u);
  EXPECT_THAT(race->what, testing::HasSubstr("LOAD"));
  EXPECT_THAT(race->what, testing::HasSubstr("the scratchpad at 0"));
}

TEST(Race, OverwritingWhatIsStillReadIsFound) {
  const std::vector<Command> program = {
      {kLoad, Load(0, 100)}, {kExecute, Lookup(0, 200, 100), {1, 0, 0}}, {kLoad, Load(50, 100)}};
  const auto race = FindRace(program);
  ASSERT_TRUE(race);
  EXPECT_EQ(race->first, 1u);
  EXPECT_EQ(race->second, 2u);
}

TEST(Race, OrderGoesThroughOtherQueues) {
  const std::vector<Command> program = {{kLoad, Load(0, 100)},
                                        {kExecute, Lookup(0, 200, 50), {1, 0, 0}},
                                        {kStore, Store(0, 100), {0, 1, 0}}};  // the lookup waits for the load
  EXPECT_EQ(FindRace(program), std::nullopt);
}

TEST(Race, GapsOfStridedAccessesAreNotAccessed) {
  LoadCommand even = Load(0, 4);
  even.count[4] = 10;
  even.external_stride[4] = 4;
  even.scratchpad_stride[4] = 8;
  LookupCommand odd = Lookup(8192, 4, 4);
  odd.rows = 10;
  odd.y_row_stride = 8;
  EXPECT_EQ(FindRace(std::vector<Command>{{kLoad, even}, {kExecute, odd}}), std::nullopt);
}

}  // namespace
}  // namespace epiphyte::npusim
