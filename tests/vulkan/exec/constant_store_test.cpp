// The constant store: sessions of a share group share equal constants on the device; different constants with equal
// digests stay apart.
#include "plugins/vulkan/exec/constant_store.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "epiphyte/kit/memory/digest.hpp"
#include "tests/vulkan/exec/device_graph.h"

namespace epiphyte::vulkan {
namespace {

using Words = std::vector<uint64_t>;

std::span<const std::byte> BytesOf(const Words& words) { return std::as_bytes(std::span(words)); }

// Returns words with the same XXH3 digest for every `difference`. XXH3 adds the first word of each stripe of eight to
// one sum. To another sum it adds the product of both halves of (word xor secret), and the secret is known. The words
// here make the lower half 0, so all products are 0. The surplus in the upper half of one stripe's word is subtracted
// from the word of the next stripe.
Words WithOneDigest(uint32_t difference) {
  Words words(64, 1);
  const auto* secret = reinterpret_cast<const unsigned char*>(XXH3_kSecret);
  for (const size_t stripe : {0, 1}) {
    uint64_t key = 0;
    std::memcpy(&key, secret + stripe * XXH_SECRET_CONSUME_RATE, sizeof key);
    const uint64_t upper = stripe == 0 ? 1000 + uint64_t{difference} : 1000 - uint64_t{difference};
    words[stripe * 8] = upper << 32 | (key & 0xffffffff);
  }
  return words;
}

class ConstantStoreTest : public DeviceGraphTest {
 protected:
  std::vector<BufferRange> Load(const std::vector<Words>& constants) {
    std::vector<std::span<const std::byte>> data;
    for (const Words& words : constants) data.push_back(BytesOf(words));
    return store_.Load(device(), data);
  }
  Words Read(const BufferRange& range) const {
    Words words(range.size / sizeof(uint64_t));
    const DeviceToHost copy = {range, words.data()};
    device()->Download({&copy, 1});
    return words;
  }

  ConstantStore store_;
};

bool SamePlace(const BufferRange& a, const BufferRange& b) { return a.buffer == b.buffer && a.offset == b.offset; }

TEST_F(ConstantStoreTest, EqualConstantsAreThereOnce) {
  const Words words(100, 7);
  const std::vector<BufferRange> first = Load({words, {1, 2}, words});
  EXPECT_TRUE(SamePlace(first[0], first[2]));
  EXPECT_FALSE(SamePlace(first[0], first[1]));
  EXPECT_TRUE(SamePlace(Load({words})[0], first[0]));
  EXPECT_EQ(Read(first[1]), (Words{1, 2}));
}

TEST_F(ConstantStoreTest, DifferentConstantsWithOneDigestStayDifferent) {
  const std::vector<Words> all = {WithOneDigest(0), WithOneDigest(1), WithOneDigest(2)};
  for (const Words& words : all)
    ASSERT_EQ(kit::Digest(words.data(), words.size() * sizeof(uint64_t)),
              kit::Digest(all[0].data(), all[0].size() * sizeof(uint64_t)));
  const std::vector<BufferRange> together = Load({all[0], all[1]});
  const std::vector<BufferRange> later = Load({all[1], all[2], all[0]});
  EXPECT_TRUE(SamePlace(later[0], together[1]));
  EXPECT_TRUE(SamePlace(later[2], together[0]));
  EXPECT_EQ(Read(together[0]), all[0]);
  EXPECT_EQ(Read(together[1]), all[1]);
  EXPECT_EQ(Read(later[1]), all[2]);
}

}  // namespace
}  // namespace epiphyte::vulkan
