#include "plugins/vulkan/device/kernel_set.h"

#include <cstdio>
#include <fstream>

#include "tests/framework/temp_dir.h"
#include "tests/vulkan/device/test_device.h"

namespace epiphyte::vulkan {
namespace {

TEST(KernelSetTest, ShadersAreFoundByName) {
  ASSERT_NE(TestKernels().Find("add.u32"), nullptr);
  EXPECT_EQ(TestKernels().Find("add.u32")->name, "add.u32");
  EXPECT_EQ(TestKernels().Find("add"), nullptr);
  EXPECT_EQ(TestKernels().Find("zzz"), nullptr);
  EXPECT_EQ(TestKernels().Find(""), nullptr);
}

TEST(KernelSetTest, TheDigestCoversNamesWordsAndNumber) {
  const uint32_t one[] = {1, 2};
  const uint32_t other[] = {1, 3};
  const auto digest = [](std::vector<Shader> shaders) { return KernelSet(shaders).digest(); };
  const uint64_t base = digest({{"a", one}, {"b", one}});
  EXPECT_EQ(digest({{"a", one}, {"b", one}}), base);
  EXPECT_NE(digest({{"a", one}, {"b", other}}), base);
  EXPECT_NE(digest({{"a", one}, {"c", one}}), base);
  EXPECT_NE(digest({{"a", one}}), base);
  EXPECT_ANY_THROW(digest({{"b", one}, {"a", one}})) << "not in order";
}

// Every module of the build is valid for Vulkan 1.1; this covers modules that few models use. A validator older than
// KHR's cooperative matrices (Debian 12) refuses their capability by its number, 6022; those modules are skipped.
TEST(BuiltInKernelsTest, EveryModuleIsValid) {
  const test::TempDir dir;
  for (const Shader& shader : BuiltInKernels().shaders()) {
    const std::string file = (dir.path() / (std::string(shader.name) + ".spv")).string();
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(shader.words.data()), static_cast<std::streamsize>(shader.words.size_bytes()));
    const std::string command = "spirv-val --target-env vulkan1.1 '" + file + "' 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string said;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
    const int status = pclose(pipe);
    if (IsCooperative(shader) && said.find("Invalid capability operand: 6022") != std::string::npos) continue;
    EXPECT_EQ(status, 0) << shader.name << ": " << said;
  }
}

}  // namespace
}  // namespace epiphyte::vulkan
