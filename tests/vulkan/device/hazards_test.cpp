#include "plugins/vulkan/device/hazards.h"

#include <gtest/gtest.h>

#include <optional>

namespace epiphyte::vulkan {
namespace {

Touch Read(uint64_t begin, uint64_t size, uint64_t memory = 1) { return {memory, begin, size, true, false}; }
Touch Write(uint64_t begin, uint64_t size, uint64_t memory = 1) { return {memory, begin, size, false, true}; }

class HazardsTest : public testing::Test {
 protected:
  bool Waits(const Touch& touch, Hazards::Stages stage = Hazards::kShader) {
    return hazards_.Add({&touch, 1}, stage).has_value();
  }
  Hazards hazards_;
};

TEST_F(HazardsTest, AReadWaitsForAWriteOfTheSameBytes) {
  EXPECT_FALSE(Waits(Write(0, 16)));
  EXPECT_TRUE(Waits(Read(15, 1)));
}

TEST_F(HazardsTest, AWriteWaitsForAReadAndForAWrite) {
  EXPECT_FALSE(Waits(Read(0, 16)));
  EXPECT_TRUE(Waits(Write(0, 16)));
  EXPECT_TRUE(Waits(Write(8, 16)));
}

TEST_F(HazardsTest, ReadsWaitForNoReads) {
  EXPECT_FALSE(Waits(Read(0, 16)));
  EXPECT_FALSE(Waits(Read(0, 16)));
}

TEST_F(HazardsTest, NeighboursAndOtherMemoryAreNotWaitedFor) {
  EXPECT_FALSE(Waits(Write(0, 16)));
  EXPECT_FALSE(Waits(Write(16, 16)));
  EXPECT_FALSE(Waits(Write(0, 16, 2)));
}

TEST_F(HazardsTest, ABarrierIsForEverythingBefore) {
  EXPECT_FALSE(Waits(Write(0, 16)));
  EXPECT_FALSE(Waits(Write(16, 16)));
  EXPECT_TRUE(Waits(Read(0, 16)));
  EXPECT_FALSE(Waits(Read(16, 16)));
}

TEST_F(HazardsTest, ItNamesTheStagesThatAreWaitedFor) {
  const Touch first = Write(0, 16);
  const Touch second = Write(16, 16);
  const Touch both = Read(0, 32);
  EXPECT_EQ(hazards_.Add({&first, 1}, Hazards::kTransfer), std::nullopt);
  EXPECT_EQ(hazards_.Add({&second, 1}, Hazards::kShader), std::nullopt);
  EXPECT_EQ(hazards_.Add({&both, 1}, Hazards::kShader), Hazards::kTransfer | Hazards::kShader);
  EXPECT_EQ(hazards_.Add({&second, 1}, Hazards::kTransfer), Hazards::kShader);
}

}  // namespace
}  // namespace epiphyte::vulkan
