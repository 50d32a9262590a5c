#include "host/conformance/cases/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/framework/temp_dir.h"

namespace epiphyte::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Expectations, ReadsNamesAndLeavesOutComments) {
  const test::TempDir dir;
  const auto file = dir.Write("list.txt", "# why\ntest_a\n\n  # more\ntest_b  # because\r\n");
  EXPECT_THAT(ReadExpectations(file), ElementsAre("test_a", "test_b"));
}

TEST(Expectations, RefusesAFileThatIsNotThere) {
  const test::TempDir dir;
  EXPECT_THROW(ReadExpectations(dir / "none.txt"), std::runtime_error);
}

TEST(Expectations, AreMetWhenExactlyTheListedCasesFail) {
  EXPECT_THAT(FindSurprises({"b"}, {{"a", ""}, {"b", "NOT_IMPLEMENTED"}}), IsEmpty());
}

TEST(Expectations, NameEachUnexpectedResult) {
  const std::vector<CaseResult> results = {{"passes", ""}, {"fails", "wrong"}, {"listed", "NOT_IMPLEMENTED"}};
  EXPECT_THAT(FindSurprises({"passes", "listed", "gone"}, results),
              ElementsAre("passes passes but is listed; take it off the list", "fails fails and is not listed",
                          "gone is listed but there is no such case"));
}

}  // namespace
}  // namespace epiphyte::conformance
