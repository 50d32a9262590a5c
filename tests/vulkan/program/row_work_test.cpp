// Choice of the invocations that share a row: by the device's capabilities, the number of rows and their length.
#include "plugins/vulkan/ops/row_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Chosen(const Capabilities& capabilities, int64_t count, int64_t length) {
  return RowWork(capabilities, {.count = count, .length = length, .shared = true}).Explain("k");
}
Capabilities Without(Capability capability, Capabilities capabilities = GoodDevice()) {
  capabilities.Disable(capability);
  return capabilities;
}
Capabilities SlowAtBoth() {
  Capabilities capabilities = GoodDevice();
  for (const Capability capability : {Capability::kSubgroup, Capability::kSharedMemory}) {
    capabilities.has[static_cast<size_t>(capability)] = false;
    capabilities.slow[static_cast<size_t>(capability)] = true;
  }
  return capabilities;
}

TEST(RowWorkTest, FewLongRowsAreAWorkgroupsEach) {
  EXPECT_EQ(Chosen(GoodDevice(), 1, 4096), "k_subgroup (256 invocations for a row)");
  EXPECT_EQ(Chosen(GoodDevice(), 64, 500), "k_subgroup (128 invocations for a row)");
}

TEST(RowWorkTest, OfManyLongRowsEachIsASubgroups) {
  EXPECT_EQ(Chosen(GoodDevice(), 5000, 4096), "k_subgroup (32 invocations for a row)");
  EXPECT_EQ(Chosen(GoodDevice(), 8, 100), "k_subgroup (32 invocations for a row)") << "too short for a workgroup";
  EXPECT_EQ(Chosen(Without(Capability::kSharedMemory), 1, 4096), "k_subgroup (32 invocations for a row)");
}

TEST(RowWorkTest, ShortRowsAreAnInvocationsEach) {
  EXPECT_EQ(Chosen(GoodDevice(), 1, 31),
            "k; not k_subgroup: a row has only 31 steps; not k_shared: a row has only 31 steps");
  EXPECT_THAT(Chosen(GoodDevice(), 100000, 100),
              StartsWith("k; not k_subgroup: there are 100000 rows, of 100 steps each"));
  EXPECT_THAT(Chosen(GoodDevice(), 100000, 128), StartsWith("k_subgroup"));
  Capabilities wide = GoodDevice();
  wide.subgroup_size = 128;
  EXPECT_THAT(Chosen(wide, 1, 100), HasSubstr("not k_subgroup: a row has only 100 steps"));
  Capabilities small = GoodDevice();
  small.subgroup_size = 1;
  EXPECT_THAT(Chosen(small, 1, 4096),
              HasSubstr("k_shared (256 invocations for a row); not k_subgroup: subgroups have only 1"));
}

TEST(RowWorkTest, WithoutSubgroupsWorkgroupMemoryIsUsed) {
  EXPECT_EQ(Chosen(Without(Capability::kSubgroup), 2, 500),
            "k_shared (128 invocations for a row); not k_subgroup: subgroup is turned off by option 'disable'");
  EXPECT_THAT(Chosen(Without(Capability::kSubgroup, Without(Capability::kSharedMemory)), 2, 500),
              StartsWith("k; not k_subgroup: subgroup is turned off"));
  EXPECT_THAT(RowWork(Without(Capability::kSubgroup), {.count = 2, .length = 500}).suffix(), "")
      << "a kernel that has no such variant";
}

TEST(RowWorkTest, ADeviceThatDoesBetterWithoutUsesNeitherUnlessItIsAsked) {
  Capabilities slow = SlowAtBoth();
  EXPECT_EQ(Chosen(slow, 2, 500),
            "k; not k_subgroup: the device does better without subgroup; not k_shared: the device does better without "
            "shared_memory");
  slow.Prefer(Capability::kSubgroup);
  for (const int64_t length : {0, 1, 500})
    EXPECT_EQ(Chosen(slow, 100000, length), "k_subgroup (32 invocations for a row)") << "whatever it costs";
}

TEST(RowWorkTest, RowsThatAreTooLongForAnInvocationAreSharedWhateverItCosts) {
  Capabilities slow = SlowAtBoth();
  slow.max_passes = 1000;
  EXPECT_THAT(Chosen(slow, 2, 1000), StartsWith("k; not k_subgroup: the device does better without"));
  EXPECT_EQ(Chosen(slow, 2, 1001), "k_subgroup (256 invocations for a row)");
  EXPECT_THAT(Chosen(Without(Capability::kSubgroup, slow), 2, 1001), StartsWith("k_shared (256 invocations for a row)"));
  EXPECT_TRUE(RowWork(slow, {.count = 2, .length = 500, .passes = 2}).alone());
  EXPECT_FALSE(RowWork(slow, {.count = 2, .length = 500, .passes = 3}).alone());
  EXPECT_TRUE(RowWork(slow, {.count = 2, .length = 5000, .alone = 1000}).alone()) << "its own kernel makes few";
}

TEST(RowWorkTest, WhatAKernelCannotOrNeedNotDoIsSaid) {
  EXPECT_EQ(RowWork(GoodDevice(), {.count = 1, .length = 500, .cannot = "it is odd"}).Explain("k", "plain"),
            "plain; not k_subgroup: it is odd");
  EXPECT_EQ(RowWork(GoodDevice(), {.count = 1, .length = 500, .needless = "it is even"}).Explain("k"),
            "k; not k_subgroup: it is even");
}

// Returns the note on a matrix product. The choice depends on the number of rows, the layout of the operands, and the
// amount of work.
std::string ProductNote(const std::string& node, const std::string& a, const std::string& b, const Dims& a_dims,
                        const Dims& b_dims, const std::string& y) {
  return ProgramOf("graph \"g\"\nin a: float" + a + "\nin b: float" + b + "\ny = " + node + "(a, b) : float" + y +
                       "\nout y\n",
                   {FloatInput(a_dims), FloatInput(b_dims)})
      .notes.at(0)
      .second;
}

TEST(RowWorkTest, ProductsOfFewRowsDivideTheirSums) {
  EXPECT_EQ(ProductNote("MatMul@13", "[1,4096]", "[4096,512]", {1, 4096}, {4096, 512}, "[1,512]"),
            "matmul: matmul_split_rows_1_subgroup (256 invocations for a row)");
  EXPECT_EQ(ProductNote("Gemm@13<transB=1>", "[4,4096]", "[512,4096]", {4, 4096}, {512, 4096}, "[4,512]"),
            "matmul: matmul_split_columns_4_subgroup (256 invocations for a row)");
  EXPECT_EQ(ProductNote("MatMul@13", "[5,4096]", "[4096,512]", {5, 4096}, {4096, 512}, "[5,512]"),
            "matmul: matmul_rows_4");
  EXPECT_EQ(ProductNote("MatMul@13", "[1,60]", "[60,512]", {1, 60}, {60, 512}, "[1,512]"),
            "matmul: matmul_rows_1; not matmul_split_rows_1_subgroup: sums of 60 are short");
  EXPECT_EQ(ProductNote("MatMul@13", "[1,64]", "[64,131072]", {1, 64}, {64, 131072}, "[1,131072]"),
            "matmul: matmul_rows_1; not matmul_split_rows_1_subgroup: there are enough columns");
}

}  // namespace
}  // namespace epiphyte::vulkan
