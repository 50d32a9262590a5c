// The example's encrypted files: reading returns the written bytes, and chunks can't be removed or reordered.
#include <gmock/gmock.h>

#include "epiphyte/error.hpp"
#include "host/examples/encrypted_store/encrypted_store.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using encrypted_store::EncryptedStore;
using encrypted_store::kChunkSize;
using encrypted_store::kHeaderSize;
using encrypted_store::kTagSize;
using ::testing::HasSubstr;

constexpr size_t kSealed = kChunkSize + kTagSize;

class EncryptedChunks : public ::testing::Test {
 protected:
  EncryptedChunks() { key_.fill(7); }
  EncryptedStore Store() { return EncryptedStore(folder_.path(), key_); }
  static std::string Text(size_t size) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 1000);
    return text;
  }
  void Put(const std::string& text, size_t step) {
    EncryptedStore store = Store();
    auto writer = store.Create("file");
    for (size_t at = 0; at < text.size(); at += step) {
      writer->Write(text.data() + at, std::min(step, text.size() - at));
    }
    writer->Commit();
  }
  std::string Get() {
    EncryptedStore store = Store();
    const ContextStore::Bytes bytes = store.Open("file");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data) % 64, 0u) << "as plugins expect payloads";
    return std::string(static_cast<const char*>(bytes.data), static_cast<size_t>(bytes.size));
  }
  std::string Refusal(const std::string& sealed) {
    folder_.Write("file.enc", sealed);
    try {
      Get();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  TempDir folder_;
  encrypted_store::Key key_;
};

TEST_F(EncryptedChunks, EverySizeComesBackHoweverItWasWritten) {
  for (size_t size :
       {size_t{0}, size_t{1}, kChunkSize - 1, kChunkSize, kChunkSize + 1, 2 * kChunkSize, 5 * kChunkSize / 2}) {
    const std::string text = Text(size);
    for (size_t step : {size_t{4097}, kChunkSize, 3 * kChunkSize}) {
      Put(text, step);
      EXPECT_TRUE(Get() == text) << size << " bytes in steps of " << step;
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << "nothing staged is left";
  }
}

TEST_F(EncryptedChunks, TheSameTextLooksDifferentEachTime) {
  Put(Text(100), 100);
  const std::string first = ReadFile(folder_ / "file.enc");
  Put(Text(100), 100);
  EXPECT_NE(ReadFile(folder_ / "file.enc").substr(kHeaderSize), first.substr(kHeaderSize));
}

TEST_F(EncryptedChunks, ChunksThatAreLeftOutRepeatedOrMovedAreFound) {
  Put(Text(3 * kChunkSize), kChunkSize);
  const std::string whole = ReadFile(folder_ / "file.enc");
  ASSERT_EQ(whole.size(), kHeaderSize + 3 * kSealed);
  const std::string header = whole.substr(0, kHeaderSize);
  const auto chunk = [&](size_t i) { return whole.substr(kHeaderSize + i * kSealed, kSealed); };
  ASSERT_EQ(Refusal(whole), "accepted");
  EXPECT_THAT(Refusal(header + chunk(0) + chunk(1)), HasSubstr("cut off")) << "the last one is missing";
  EXPECT_THAT(Refusal(header + chunk(1) + chunk(0) + chunk(2)), HasSubstr("chunk 0"));
  EXPECT_THAT(Refusal(header + chunk(0) + chunk(2)), HasSubstr("chunk 1"));
  EXPECT_THAT(Refusal(header + chunk(0) + chunk(1) + chunk(1) + chunk(2)), HasSubstr("chunk 2"));
  EXPECT_THAT(Refusal(whole + "x"), HasSubstr("cut off"));
  EXPECT_THAT(Refusal(whole + chunk(2)), HasSubstr("chunk 2"));
  EXPECT_THAT(Refusal(header), HasSubstr("cut off"));
}

TEST_F(EncryptedChunks, ChunksOfAnotherFileDoNotFit) {
  Put(Text(2 * kChunkSize), kChunkSize);
  const std::string first = ReadFile(folder_ / "file.enc");
  Put(Text(2 * kChunkSize), kChunkSize);
  const std::string second = ReadFile(folder_ / "file.enc");
  const size_t middle = kHeaderSize + kSealed;
  EXPECT_THAT(Refusal(first.substr(0, middle) + second.substr(middle)), HasSubstr("chunk 1"));
}

TEST_F(EncryptedChunks, WhatIsNotCommittedLeavesNothing) {
  {
    EncryptedStore store = Store();
    auto writer = store.Create("file");
    const std::string text = Text(3 * kChunkSize);
    writer->Write(text.data(), text.size());
    EXPECT_FALSE(store.Exists("file"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THROW(Store().Create("../escape"), Error);
}

}  // namespace
}  // namespace epiphyte::test
