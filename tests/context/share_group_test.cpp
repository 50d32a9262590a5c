// A share group is not locked while the application gets a progress report, so the callback may use the group.
#include "core/context/share_group.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/base/hash.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using core::ContextBlob;

class ShareGroupTest : public testing::Test {
 protected:
  TempDir dir_;
  const std::string bytes_ = std::string(size_t{16} << 20, 'p');  // large enough for a report while it is read
  const std::filesystem::path file_ = dir_.Write("payload.bin", bytes_);
  core::ShareGroup group_{"g"};
};

TEST_F(ShareGroupTest, AReportWhileADigestIsComputedMayUseTheGroup) {
  const ContextBlob blob = group_.OpenFile(file_);
  int reports = 0;
  std::string inner;
  const std::string outer = group_.DigestOf(blob, nullptr, [&](uint64_t, uint64_t, std::string_view) {
    ++reports;
    EXPECT_EQ(group_.OpenFile(file_).data, blob.data);
    inner = group_.DigestOf(blob, nullptr, {});
  });
  EXPECT_GE(reports, 1);
  EXPECT_EQ(outer, core::Xxh128(bytes_.data(), bytes_.size()));
  EXPECT_EQ(inner, outer);
}

TEST_F(ShareGroupTest, ADigestThatIsKnownIsNotComputedAgain) {
  const ContextBlob blob = group_.OpenFile(file_);
  int reports = 0;
  const auto count = [&](uint64_t, uint64_t, std::string_view) { ++reports; };
  const std::string digest = group_.DigestOf(blob, nullptr, count);
  const int once = reports;
  EXPECT_GE(once, 1);
  EXPECT_EQ(group_.DigestOf(blob, nullptr, count), digest);
  EXPECT_EQ(reports, once);
}

TEST_F(ShareGroupTest, ASessionThatIsCancelledLeavesTheDigestToTheNext) {
  const ContextBlob blob = group_.OpenFile(file_);
  EXPECT_THROW(
      group_.DigestOf(blob, nullptr, [](uint64_t, uint64_t, std::string_view) { throw std::runtime_error("cancel"); }),
      std::runtime_error);
  EXPECT_EQ(group_.DigestOf(blob, nullptr, {}), core::Xxh128(bytes_.data(), bytes_.size()));
}

}  // namespace
}  // namespace epiphyte::test
