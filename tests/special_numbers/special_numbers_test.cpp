// Fused operators treat NaN, infinities, zeros and subnormal numbers as the separate operators do.
#include <gmock/gmock.h>

#include <map>
#include <string_view>

#include "tests/framework/test_session.h"
#include "tests/special_numbers/form.h"
#include "tests/vulkan/lavapipe.h"

namespace epiphyte::test::special_numbers {
namespace {

using core::DataType;

core::Environment& TheEnvironment() {
  static auto* const environment = BuildTreeEnvironment().release();
  return *environment;
}

struct Run {
  std::string name;
  DataType type;
  Setting setting;
};

void PrintTo(const Run& run, std::ostream* os) { *os << run.name; }

// EPIPHYTE_TEST_PROVIDER is the provider of this program.
std::vector<Run> Runs() {
  if (std::string_view(EPIPHYTE_TEST_PROVIDER) == "vulkan") {
    return {{"Float", DataType::kFloat, {{"vulkan", "cpu"}}}, {"Float16", DataType::kFloat16, {{"vulkan", "cpu"}}}};
  }
  return {{"Float", DataType::kFloat, {{"cpu"}}},
          {"Float16", DataType::kFloat16, {{"cpu"}}},
          {"Bfloat16", DataType::kBfloat16, {{"cpu"}}},
          {"Int8Dynamic", DataType::kFloat, {{"cpu"}, "int8-dynamic"}}};
}

// Each family has the forms of one product, or the forms without a product.
std::map<std::string, std::vector<Form>> FormsByFamily() {
  std::map<std::string, std::vector<Form>> families;
  for (Form& form : AllForms()) {
    const size_t end = form.name.find('_');
    families[end == std::string::npos ? "Recognised" : form.name.substr(0, end)].push_back(std::move(form));
  }
  return families;
}
std::vector<std::string> Families() {
  std::vector<std::string> names;
  for (const auto& [name, forms] : FormsByFamily()) names.push_back(name);
  return names;
}

class JoinedForms : public testing::TestWithParam<std::tuple<Run, std::string>> {};

TEST_P(JoinedForms, GiveWhatTheOperatorsGiveOneByOne) {
  const auto& [run, family] = GetParam();
  if (run.setting.providers.front() == "vulkan" && !vulkan::PinLavapipe()) GTEST_SKIP() << vulkan::kNoLavapipe;
  std::string differences;
  const std::map<std::string, std::vector<Form>> families = FormsByFamily();
  for (const Form& form : families.at(family))
    differences += FusionDifference(TheEnvironment(), form, run.type, run.setting);
  EXPECT_EQ(differences, "");
}
INSTANTIATE_TEST_SUITE_P(, JoinedForms, testing::Combine(testing::ValuesIn(Runs()), testing::ValuesIn(Families())),
                         [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace epiphyte::test::special_numbers
