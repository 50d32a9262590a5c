#include "core/graph/constant.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "core/base/error.h"
#include "core/base/mapped_file.h"
#include "tests/framework/resident_memory.h"
#include "tests/framework/temp_dir.h"

namespace epiphyte::test {
namespace {

using namespace core;

TEST(Constant, ViewKeepsItsOwnerAndCopiesNothing) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  ConstantPtr constant = Constant::View(DataType::kFloat, {3}, owner->data(), 12, owner);
  EXPECT_EQ(constant->data(), owner->data());
  owner.reset();
  EXPECT_FALSE(watch.expired());
  constant.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(Constant, CopyIsAlignedForVectorLoads) {
  const std::vector<uint8_t> bytes(100, 7);
  const ConstantPtr constant = Constant::Copy(DataType::kUint8, {100}, bytes.data(), bytes.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(constant->data()) % 64, 0u);
  EXPECT_EQ(std::memcmp(constant->data(), bytes.data(), 100), 0);
}

#if defined(__linux__)
TEST(Constant, CopiesGoBackToTheSystemAtOnceWhateverLiesBetweenThem) {
  const std::vector<uint8_t> bytes(size_t{1} << 20, 7);
  void* volatile block = std::malloc(size_t{30} << 20);
  std::free(block);  // afterwards glibc keeps blocks of this size
  std::vector<ConstantPtr> large, small;
  for (int i = 0; i < 16; ++i) {
    large.push_back(Constant::Copy(DataType::kUint8, {1 << 20}, bytes.data(), bytes.size()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large.back()->data()) % 64, 0u);
    EXPECT_EQ(std::memcmp(large.back()->data(), bytes.data(), bytes.size()), 0);
    small.push_back(Constant::Copy(DataType::kUint8, {100}, bytes.data(), 100));
  }
  const uint64_t before = ResidentBytes();
  large.clear();
  EXPECT_GE(before, ResidentBytes() + 15 * bytes.size());
}
#endif

// A float tensor that begins one byte after the start of its buffer.
struct Odd {
  std::shared_ptr<std::vector<uint8_t>> buffer;
  ConstantPtr constant;

  explicit Odd(size_t count) : buffer(std::make_shared<std::vector<uint8_t>>(count * 4 + 1)) {
    for (size_t i = 0; i < buffer->size(); ++i) (*buffer)[i] = static_cast<uint8_t>(i * 7);
    constant = Constant::ViewOfAnyAlignment(DataType::kFloat, {static_cast<int64_t>(count)}, buffer->data() + 1,
                                            count * 4, buffer);
  }
  bool IsRight(const void* data) const {
    return reinterpret_cast<uintptr_t>(data) % 64 == 0 &&
           std::memcmp(data, buffer->data() + 1, constant->byte_size()) == 0;
  }
};

TEST(ConstantOfAnyAlignment, IsAViewWhereItCanBe) {
  const auto owner = std::make_shared<std::vector<float>>(4096);
  const ConstantPtr constant =
      Constant::ViewOfAnyAlignment(DataType::kFloat, {4096}, owner->data(), owner->size() * 4, owner);
  EXPECT_EQ(constant->data(), owner->data());
  constant->Drop();
  EXPECT_EQ(constant->data(), owner->data());
}

TEST(ConstantOfAnyAlignment, IsShownAlignedAndReadWhereItIs) {
  for (const size_t count : {size_t{3}, size_t{2000}, size_t{1} << 18}) {
    const Odd odd(count);
    EXPECT_TRUE(odd.IsRight(odd.constant->data())) << count;
    EXPECT_TRUE(odd.IsRight(odd.constant->abi()->data)) << count;
    EXPECT_EQ(std::memcmp(odd.constant->bytes(), odd.buffer->data() + 1, count * 4), 0) << count;
  }
}

TEST(ConstantOfAnyAlignment, IsCopiedOnFirstUse) {
  const size_t bytes = size_t{16} << 20;
  const Odd odd(bytes / 4);
  const uint64_t before = ResidentBytes();
  EXPECT_EQ(odd.constant->bytes(), odd.buffer->data() + 1);
  EXPECT_LT(ResidentBytes(), before + bytes / 2);
  EXPECT_TRUE(odd.IsRight(odd.constant->lent()->data));
  EXPECT_GE(ResidentBytes(), before + bytes / 2);
  odd.constant->Drop();
  EXPECT_LT(ResidentBytes(), before + bytes / 2);
  EXPECT_TRUE(odd.IsRight(odd.constant->lent()->data)) << "the next one has it again";
}

TEST(ConstantOfAnyAlignment, KeepsWhatMustStay) {
  const Odd odd(2000);
  const void* data = odd.constant->abi()->data;
  odd.constant->Drop();
  EXPECT_EQ(odd.constant->data(), data);
  EXPECT_TRUE(odd.IsRight(data));
}

TEST(ConstantOfAnyAlignment, LeavesNoPagesOfItsFileInMemory) {
  if (!kFreedMemoryGoes) GTEST_SKIP() << "a sanitizer takes memory of its own for each byte";
  const TempDir dir;
  const size_t bytes = size_t{16} << 20;
  const std::shared_ptr<const MappedFile> file = MappedFile::Open(dir.Write("weights", std::string(bytes + 1, 'w')));
  const ConstantPtr constant =
      Constant::ViewOfAnyAlignment(DataType::kFloat, {static_cast<int64_t>(bytes / 4)}, file->data() + 1, bytes, file);
  const uint64_t before = ResidentBytes();
  EXPECT_EQ(static_cast<const char*>(constant->data())[bytes - 1], 'w');
  EXPECT_LT(ResidentBytes(), before + bytes + bytes / 2);
}

TEST(ConstantOfAnyAlignment, IsNotInMemoryTwiceWhileItIsCopied) {
  if (!kFreedMemoryGoes) GTEST_SKIP() << "a sanitizer takes memory of its own for each byte";
  const TempDir dir;
  const size_t bytes = size_t{64} << 20;
  const std::shared_ptr<const MappedFile> file = MappedFile::Open(dir.Write("weights", std::string(bytes + 1, 'w')));
  const ConstantPtr constant =
      Constant::ViewOfAnyAlignment(DataType::kFloat, {static_cast<int64_t>(bytes / 4)}, file->data() + 1, bytes, file);
  if (!ForgetPeak()) GTEST_SKIP() << "the system doesn't forget it";
  const uint64_t before = PeakResidentBytes();
  EXPECT_EQ(static_cast<const char*>(constant->data())[bytes - 1], 'w');
  EXPECT_LT(PeakResidentBytes(), before + bytes + bytes / 2);
}

TEST(Constant, RefusesDataOfTheWrongSize) {
  const float values[4] = {};
  try {
    Constant::Copy(DataType::kFloat, {2, 3}, values, sizeof values);
    FAIL() << "16 bytes are no float[2,3]";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::kInvalidGraph);
    EXPECT_EQ(error.message(), "tensor of float[2,3] has 16 bytes of data, 24 expected");
  }
  EXPECT_THROW(Constant::Copy(DataType::kFloat, {-1}, values, 4), Error);
  EXPECT_THROW(Constant::View(DataType::kFloat, {2}, nullptr, 8, nullptr), Error);
  EXPECT_THROW(Constant::View(DataType::kUndefined, {1}, values, 4, nullptr), Error);
  EXPECT_THROW(Constant::View(static_cast<DataType>(99), {1}, values, 4, nullptr), Error);
  EXPECT_THROW(Constant::View(DataType::kString, {1}, values, 16, nullptr), Error);
}

TEST(Constant, EmptyTensorsNeedNoData) {
  const ConstantPtr constant = Constant::View(DataType::kFloat, {0, 5}, nullptr, 0, nullptr);
  EXPECT_EQ(constant->element_count(), 0u);
  EXPECT_EQ(constant->abi()->rank, 2u);
}

TEST(Constant, StringsMayHoldZeroBytes) {
  const ConstantPtr constant = Constant::Strings({2}, {std::string("a\0b", 3), ""});
  ASSERT_EQ(constant->element_count(), 2u);
  const auto* views = static_cast<const EpString*>(constant->data());
  EXPECT_EQ(std::string(views[0].data, views[0].size), std::string("a\0b", 3));
  EXPECT_EQ(views[1].size, 0u);
  EXPECT_EQ(constant->byte_size(), 2 * sizeof(EpString));
  EXPECT_THROW(Constant::Strings({3}, {"one"}), Error);
}

}  // namespace
}  // namespace epiphyte::test
