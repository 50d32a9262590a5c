// Digests of bytes, and of bytes that will be padded with zeros.
#include <gtest/gtest.h>

#include <string>

#include "epiphyte/kit/memory/digest.hpp"

namespace epiphyte::test {
namespace {

TEST(Digest, ZerosBehindAreAsIfTheyWereThere) {
  for (const size_t size : {0, 1, 63, 64, 1000}) {
    const std::string bytes(size, 'x');
    for (const size_t zeros : {0, 1, 63, 64, 65, 300}) {
      const std::string filled = bytes + std::string(zeros, '\0');
      EXPECT_EQ(kit::Digest(bytes.data(), size, zeros), kit::Digest(filled.data(), filled.size()));
    }
  }
}

TEST(Digest, DiffersWhereABitDoes) {
  std::string bytes(1000, 'x');
  const uint64_t before = kit::Digest(bytes.data(), bytes.size());
  for (size_t at = 0; at < bytes.size(); at += 37) {
    bytes[at] ^= 1;
    EXPECT_NE(kit::Digest(bytes.data(), bytes.size()), before) << at;
    bytes[at] ^= 1;
  }
}

}  // namespace
}  // namespace epiphyte::test
