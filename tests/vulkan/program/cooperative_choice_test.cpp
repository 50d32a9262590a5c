// Choice of cooperative matrices for GEMMs and convolutions by the device's capabilities, and the report's reasons
// against them.
#include <gmock/gmock.h>

#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// The capabilities of GoodDevice, with cooperative matrices of 16x16x16.
Capabilities CoopDevice() {
  Capabilities capabilities = GoodDevice();
  capabilities.has[static_cast<size_t>(Capability::kCoopMatrix)] = true;
  capabilities.disabled[static_cast<size_t>(Capability::kCoopMatrix)] = false;
  capabilities.coop_matrix = {16, 16, 16};
  capabilities.max_shared_memory = 48u << 10;
  return capabilities;
}

struct Chosen {
  Dispatch dispatch;
  std::vector<std::string> notes;
};

// Returns the choice for y = a b with a of shape [m, k] and b of shape [k, n].
Chosen Choose(const Capabilities& capabilities, int64_t m, int64_t k, int64_t n, EpElementType type = EP_TYPE_FLOAT16,
              std::string_view node = "MatMul@13(a, b)") {
  const std::string name = type == EP_TYPE_FLOAT16 ? "float16" : "float";
  const auto value = [&](int64_t rows, int64_t columns) {
    return name + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  const bool transposed = node.find("transB") != node.npos;
  const Dims b = transposed ? Dims{n, k} : Dims{k, n};
  const Program program = ProgramOf("graph \"g\"\nin a: " + value(m, k) + "\nin b: " + value(b[0], b[1]) +
                                        "\ny = " + std::string(node) + " : " + value(m, n) + "\nout y\n",
                                    {{type, {m, k}, nullptr}, {type, b, nullptr}}, capabilities);
  EXPECT_THAT(program.dispatches, SizeIs(1));
  Chosen chosen = {program.dispatches.at(0), {}};
  for (const auto& [of, note] : program.notes) chosen.notes.push_back(note);
  return chosen;
}

Capabilities Without(Capability capability) {
  Capabilities capabilities = CoopDevice();
  capabilities.Disable(capability);
  return capabilities;
}

TEST(CooperativeChoiceTest, LargeProductsOfFloat16AreCooperative) {
  const Chosen chosen = Choose(CoopDevice(), 512, 512, 512);
  EXPECT_EQ(chosen.dispatch.shader, "matmul_coop_rows.f16");
  EXPECT_THAT(chosen.notes, ElementsAre("matmul: matmul_coop_rows (tiles of 64 by 64, matrices of 16x16x16)"));
  // The first two specialization constants are the flags and the activation. Then follow: four subgroups of 32
  // invocations, the matrix shape, two by two matrices for each subgroup, and four units of four elements for each
  // invocation to fetch.
  EXPECT_THAT(std::vector<uint32_t>(chosen.dispatch.specialization.begin() + 2, chosen.dispatch.specialization.end()),
              ElementsAre(128, 16, 16, 16, 2, 2, 4));
  EXPECT_THAT(chosen.dispatch.groups, ElementsAre(8, 8, 1));
  EXPECT_TRUE(chosen.dispatch.full_subgroups);
  EXPECT_EQ(Choose(CoopDevice(), 512, 512, 512, EP_TYPE_FLOAT16, "Gemm@13<transB=1>(a, b)").dispatch.shader,
            "matmul_coop_columns.f16");
}

TEST(CooperativeChoiceTest, TilesAreLargeWhereTheDeviceHasWorkForAll) {
  Capabilities capabilities = CoopDevice();
  const Chosen chosen = Choose(capabilities, 2048, 2048, 2048);
  EXPECT_THAT(chosen.notes, Contains(HasSubstr("tiles of 128 by 128")));
  EXPECT_THAT(chosen.dispatch.groups, ElementsAre(16, 16, 1));
  capabilities.max_shared_memory = 32u << 10;
  EXPECT_THAT(Choose(capabilities, 2048, 2048, 2048).notes, Contains(HasSubstr("tiles of 64 by 64")));
}

TEST(CooperativeChoiceTest, TilesAreSmallWhereThereIsLittleWorkUnlessMatricesAreLarge) {
  Capabilities capabilities = CoopDevice();
  const Chosen chosen = Choose(capabilities, 128, 768, 768);
  EXPECT_THAT(chosen.notes, Contains(HasSubstr("tiles of 32 by 32")));
  EXPECT_THAT(chosen.dispatch.groups, ElementsAre(24, 4, 1));
  EXPECT_THAT(std::vector<uint32_t>(chosen.dispatch.specialization.begin() + 2, chosen.dispatch.specialization.end()),
              ElementsAre(128, 16, 16, 16, 1, 1, 2));
  capabilities.coop_matrix = {32, 8, 16};
  EXPECT_THAT(Choose(capabilities, 128, 768, 768).notes, Contains(HasSubstr("tiles of 64 by 64")));
}

TEST(CooperativeChoiceTest, MatricesOfAnyShapeFillTheTile) {
  Capabilities capabilities = CoopDevice();
  capabilities.coop_matrix = {8, 16, 32};
  capabilities.subgroup_size = 16;
  const Chosen chosen = Choose(capabilities, 100, 100, 100);
  EXPECT_THAT(std::vector<uint32_t>(chosen.dispatch.specialization.begin() + 2, chosen.dispatch.specialization.end()),
              ElementsAre(64, 8, 16, 32, 2, 1, 4));
}

TEST(CooperativeChoiceTest, WithoutThemTheReportSaysWhy) {
  const auto expect = [](const Capabilities& capabilities, std::string_view kernel, const std::string& why_not) {
    const Chosen chosen = Choose(capabilities, 512, 512, 512);
    EXPECT_EQ(chosen.dispatch.shader, kernel) << why_not;
    EXPECT_THAT(chosen.notes, Contains("matmul: not in cooperative matrices, " + why_not));
  };
  Capabilities lacking = CoopDevice();
  lacking.has[static_cast<size_t>(Capability::kCoopMatrix)] = false;
  expect(lacking, "matmul_tiled_rows_half.f16", "the device has no coopmat");
  lacking.slow[static_cast<size_t>(Capability::kCoopMatrix)] = true;
  expect(lacking, "matmul_tiled_rows_half.f16", "the device does better without coopmat");
  expect(Without(Capability::kCoopMatrix), "matmul_tiled_rows_half.f16", "coopmat is turned off by option 'disable'");
  expect(Without(Capability::kFp16), "matmul_tiled_rows.f16", "fp16 is turned off by option 'disable'");
  expect(Without(Capability::kSharedMemory), "matmul_rows_8.f16", "shared_memory is turned off by option 'disable'");
  Capabilities small = CoopDevice();
  small.max_shared_memory = 16u << 10;
  small.coop_matrix = {32, 16, 16};  // a tile of 32 by 32 doesn't hold four of these matrices
  expect(small, "matmul_tiled_rows_half.f16", "the device has too little workgroup memory");
  small = CoopDevice();
  small.max_workgroup_invocations = 64;
  expect(small, "matmul_rows_8.f16", "the device's workgroups are too small");
  small = CoopDevice();
  small.max_workgroup_count[1] = 7;
  expect(small, "matmul_rows_8.f16", "it would take more workgroups than the device allows");
  small = CoopDevice();
  small.max_passes = 80;
  EXPECT_THAT(Choose(small, 64, 512, 64).notes,
              Contains("matmul: not in cooperative matrices, sums are too long for the device's loops"));
}

TEST(CooperativeChoiceTest, FloatProductsStayInFloat) {
  const Chosen chosen = Choose(CoopDevice(), 512, 512, 512, EP_TYPE_FLOAT);
  EXPECT_EQ(chosen.dispatch.shader, "matmul_tiled_rows.f32");
  EXPECT_THAT(chosen.notes, Contains("matmul: not in cooperative matrices, they are of float16"));
}

TEST(CooperativeChoiceTest, SmallProductsAreCooperativeOnlyWhenThatIsPreferred) {
  Capabilities capabilities = CoopDevice();
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{31, 512, 512}, {512, 28, 512}, {512, 512, 28}, {1, 512, 512}})
    EXPECT_THAT(Choose(capabilities, m, k, n).dispatch.shader, Not(HasSubstr("coop")));
  capabilities.Prefer(Capability::kCoopMatrix);
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{31, 512, 512}, {512, 28, 512}, {512, 512, 28}, {1, 4, 4}})
    EXPECT_EQ(Choose(capabilities, m, k, n).dispatch.shader, "matmul_coop_rows.f16");
  EXPECT_THAT(Choose(capabilities, 33, 33, 33).dispatch.shader, Not(HasSubstr("coop"))) << "it is not read in fours";
}

TEST(CooperativeChoiceTest, ConvolutionsOfFloat16Are) {
  const auto chosen = [](const std::string& type, const Capabilities& capabilities) {
    const EpElementType number = type == "float" ? EP_TYPE_FLOAT : EP_TYPE_FLOAT16;
    const Program program =
        ProgramOf("graph \"g\"\nin x: " + type + "[2,64,28,28]\nin w: " + type +
                      "[128,32,3,3]\ny = Conv@11<group=2>(x, w) : " + type + "[2,128,26,26]\nout y\n",
                  {{number, {2, 64, 28, 28}, nullptr}, {number, {128, 32, 3, 3}, nullptr}}, capabilities);
    EXPECT_THAT(program.notes, SizeIs(1));
    return std::pair(program.dispatches.back(), program.notes.at(0).second);
  };
  const auto [dispatch, note] = chosen("float16", CoopDevice());
  EXPECT_EQ(dispatch.shader, "conv_coop.f16");
  EXPECT_EQ(note, "conv_coop (tiles of 32 by 32, matrices of 16x16x16)");
  EXPECT_THAT(dispatch.groups, ElementsAre(22, 2, 4));
  EXPECT_EQ(chosen("float16", Without(Capability::kCoopMatrix)).second,
            "conv_tiled (tiles of 32 by 32); not conv_coop: coopmat is turned off by option 'disable'");
  EXPECT_EQ(chosen("float", CoopDevice()).second, "conv_tiled (tiles of 32 by 32)");
}

TEST(CooperativeChoiceTest, SubgroupsOfOddSizesAreNotUsed) {
  Capabilities capabilities = CoopDevice();
  for (const uint32_t size : {4u, 256u}) {
    capabilities.subgroup_size = size;
    EXPECT_THAT(
        Choose(capabilities, 512, 512, 512).notes,
        Contains("matmul: not in cooperative matrices, subgroups have " + std::to_string(size) + " invocations"));
  }
}

TEST(CooperativeChoiceTest, OnASlowDeviceTheyNeedNoOtherPreference) {
  Capabilities capabilities = CoopDevice();
  for (const Capability emulated : {Capability::kSubgroup, Capability::kSharedMemory, Capability::kCoopMatrix}) {
    capabilities.has[static_cast<size_t>(emulated)] = false;
    capabilities.slow[static_cast<size_t>(emulated)] = true;
  }
  capabilities.Prefer(Capability::kCoopMatrix);
  EXPECT_EQ(Choose(capabilities, 64, 64, 64).dispatch.shader, "matmul_coop_rows.f16");
}

}  // namespace
}  // namespace epiphyte::vulkan
