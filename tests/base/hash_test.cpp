#include "core/base/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/mapped_file.h"
#include "core/base/thread_pool.h"
#include "tests/base/error_of.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::core {
namespace {

using testing::HasSubstr;

TEST(Sha256, AgreesWithThePublishedVectors) {
  EXPECT_EQ(Sha256("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Xxh128, AgreesWithThePublishedVector) { EXPECT_EQ(Xxh128("", 0), "99aa06d3014798d86001c324468d497f"); }

TEST(Streams, GiveTheSameHashHoweverTheBytesAreSplit) {
  const std::string data(100'000, 'x');
  for (const size_t step : {size_t{1}, size_t{7}, size_t{4096}, data.size()}) {
    Sha256Stream sha;
    Xxh128Stream xxh;
    for (size_t at = 0; at < data.size(); at += step) {
      const size_t size = std::min(step, data.size() - at);
      sha.Update(data.data() + at, size);
      xxh.Update(data.data() + at, size);
    }
    EXPECT_EQ(sha.Finish(), Sha256(data.data(), data.size())) << step;
    EXPECT_EQ(xxh.Finish(), Xxh128(data.data(), data.size())) << step;
  }
}

TEST(Xxh128OfMapping, IsTheDigestOfTheBytesWithAndWithoutHelp) {
  const test::TempDir folder;
  std::string data(20'000'003, 'x');
  for (size_t i = 0; i < data.size(); i += 4093) data[i] = static_cast<char>(i);
  const auto file = MappedFile::Open(folder.Write("file", data));
  ThreadPool alone(1);
  ThreadPool two(2);
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &alone, &two}) {
    EXPECT_EQ(Xxh128OfMapping(file->data(), file->size(), pool), Xxh128(data.data(), data.size()));
    EXPECT_EQ(Xxh128OfMapping(data.data() + 1, data.size() - 1, pool), Xxh128(data.data() + 1, data.size() - 1));
  }
}

TEST(Sha256OfFile, HashesTheContent) {
  const test::TempDir folder;
  const std::string data(1'000'003, 'y');
  EXPECT_EQ(Sha256OfFile(folder.Write("file", data)), Sha256(data.data(), data.size()));
  EXPECT_EQ(Sha256OfFile(folder.Write("empty", "")), Sha256("", 0));
}

TEST(Sha256OfFile, NamesAFileThatIsNotThere) {
  const std::string message = test::ErrorOf(StatusCode::kNoSuchFile, [] { Sha256OfFile("/nonexistent/library.so"); });
  EXPECT_THAT(message, HasSubstr("/nonexistent/library.so"));
}

TEST(HmacSha256, AgreesWithThePublishedVectors) {  // RFC 4231, cases 1, 2 and 6
  EXPECT_EQ(HmacSha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HmacSha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HmacSha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(SameDigest, ComparesAllOfBoth) {
  EXPECT_TRUE(SameDigest("abc", "abc"));
  EXPECT_FALSE(SameDigest("abc", "abd"));
  EXPECT_FALSE(SameDigest("abc", "ab"));
  EXPECT_FALSE(SameDigest("", "a"));
}

}  // namespace
}  // namespace epiphyte::core
