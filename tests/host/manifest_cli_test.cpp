// epiphyte manifest, as a vendor or a packager uses it: the library is stripped after the build, and the digest
// updated.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/framework/crashing_plugin/crashing_plugin.h"
#include "tests/framework/temp_dir.h"
#include "tests/host/run_program.h"

namespace epiphyte::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class ManifestCommand : public ::testing::Test {
 protected:
  ManifestCommand() { InstallCrashingPlugin(folder_.path(), "fine_one"); }
  ProgramResult Run(const std::vector<std::string>& arguments) {
    return RunEpiphyte(arguments, folder_.path(), OnlyPlugins(folder_.path()));
  }
  ProgramResult Doctor() { return Run({"doctor", "--json", "--disable", "cpu,npu,vulkan"}); }

  TempDir folder_;
};

TEST_F(ManifestCommand, WritesTheDigestOfALibraryThatWasStripped) {
  const ProgramResult first = Run({"manifest", "--digest", "fine_one.yaml"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("written"));
  EXPECT_THAT(Run({"manifest", "fine_one.yaml"}).out, HasSubstr("fits"));
  ASSERT_EQ(RunProgram(EPIPHYTE_STRIP, {"fine_one.so"}, folder_.path()).code, 0);

  const ProgramResult doctor = Doctor();
  EXPECT_EQ(doctor.code, 1);
  const Json report = Json::parse(doctor.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << doctor.out;
  EXPECT_THAT(report.dump(), AllOf(HasSubstr("DigestMismatch"), HasSubstr("the library is stripped"),
                                   HasSubstr("epiphyte manifest --digest '")));
  const ProgramResult differs = Run({"manifest", "fine_one.yaml"});
  EXPECT_EQ(differs.code, 1);
  EXPECT_THAT(differs.out, HasSubstr("differs"));
  EXPECT_THAT(differs.err, AllOf(HasSubstr("1 wrong digest"), HasSubstr("epiphyte manifest --digest")));

  EXPECT_EQ(Run({"manifest", "--digest", "fine_one.yaml"}).code, 0);
  EXPECT_EQ(Doctor().code, 0) << Doctor().err;
}

TEST_F(ManifestCommand, PrintsWhatItFoundAsJson) {
  const ProgramResult result = Run({"manifest", "fine_one.yaml", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  const Json json = Json::parse(result.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << result.out;
  EXPECT_EQ(json[0]["manifest"], "fine_one.yaml");
  EXPECT_EQ(json[0]["libraries"][0]["state"], "no digest");
  EXPECT_EQ(json[0]["libraries"][0]["actual"].get<std::string>().size(), 64u);
}

TEST_F(ManifestCommand, SaysWhatIsWrongWithAManifest) {
  folder_.Write("bad.yaml", "manifest_version: 1\nname: a b\n");
  EXPECT_THAT(Run({"manifest", "bad.yaml"}).err, ContainsRegex("bad.yaml:2:7: name 'a b' found"));
  EXPECT_THAT(Run({"manifest", "absent.yaml"}).err, HasSubstr("absent.yaml"));
  EXPECT_EQ(Run({"manifest"}).code, 2);
}

}  // namespace
}  // namespace epiphyte::test
