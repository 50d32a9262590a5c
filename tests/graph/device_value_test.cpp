// Tensors in a device's memory: they report their device, and no reader treats them as host tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/graph/run_state.h"
#include "core/graph/value.h"
#include "tests/framework/test_session.h"

namespace epiphyte::core {
namespace {

using test::FailureOf;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Storage : public DeviceStorage {
 public:
  explicit Storage(uint64_t size, bool* gone = nullptr)
      : DeviceStorage(reinterpret_cast<EpBuffer*>(uintptr_t{9}), 512, size, 3, 1), gone_(gone) {}
  ~Storage() override {
    if (gone_ != nullptr) *gone_ = true;
  }

 private:
  bool* gone_;
};

const std::vector<int64_t> kDims = {2, 3};

ValuePtr OnDevice(std::vector<int64_t> dims = kDims) {
  return Value::OnDevice(DataType::kFloat, dims, std::make_shared<Storage>(24));
}

TEST(DeviceValue, SaysWhereItIs) {
  const ValuePtr value = OnDevice();
  const EpTensorView& view = *value->abi()->tensor;
  EXPECT_EQ(view.buffer, reinterpret_cast<EpBuffer*>(uintptr_t{9}));
  EXPECT_EQ(view.offset, 512u);
  EXPECT_EQ(view.device, 3u);
  EXPECT_EQ(view.memory, 1u);
  EXPECT_EQ(view.data, nullptr);
  EXPECT_EQ(view.byte_size, 24u);
  EXPECT_EQ(view.element_count, 6u);
  EXPECT_TRUE(value->IsOnDevice());
  EXPECT_EQ(value->storage()->size(), 24u);
  EXPECT_EQ(value->data(), nullptr);
}

TEST(DeviceValue, OneInHostMemoryHasNoStorage) {
  const ValuePtr value = Value::Tensor(DataType::kFloat, kDims);
  EXPECT_FALSE(value->IsOnDevice());
  EXPECT_EQ(value->storage(), nullptr);
  EXPECT_EQ(value->abi()->tensor->buffer, nullptr);
  EXPECT_EQ(Value::EmptyOptional()->storage(), nullptr);
}

TEST(DeviceValue, KeepsItsStorageAndMayBeOfAnyRank) {
  bool gone = false;
  ValuePtr value = Value::OnDevice(DataType::kInt8, std::vector<int64_t>(9, 1), std::make_shared<Storage>(1, &gone));
  EXPECT_EQ(value->dims().size(), 9u);
  EXPECT_FALSE(gone);
  value = nullptr;
  EXPECT_TRUE(gone);
}

TEST(DeviceValue, FitsIntoItsStorage) {
  EXPECT_THAT(FailureOf([&] { OnDevice({7}); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("24 bytes can't hold a tensor of float that needs 28")));
  EXPECT_EQ(FailureOf([&] { OnDevice({5}); }), "OK");
  EXPECT_EQ(FailureOf([&] { OnDevice({0}); }), "OK");
  EXPECT_THAT(FailureOf([&] { OnDevice({-1}); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { Value::OnDevice(DataType::kFloat, kDims, nullptr); }), StartsWith("INVALID_ARGUMENT"));
  EXPECT_THAT(FailureOf([&] { Value::OnDevice(DataType::kString, kDims, std::make_shared<Storage>(4096)); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("strings")));
  EXPECT_THAT(FailureOf([&] { Value::OnDevice(static_cast<DataType>(99), kDims, std::make_shared<Storage>(4096)); }),
              StartsWith("INVALID_ARGUMENT"));
}

TEST(DeviceValue, BecomesNoConstantAndNoElement) {
  EXPECT_THAT(FailureOf([&] { ToConstant(OnDevice()); }),
              AllOf(StartsWith("INVALID_ARGUMENT"), HasSubstr("is in memory 1 of device 3, host memory expected")));
  EXPECT_THAT(FailureOf([&] { Value::Sequence(DataType::kFloat, {OnDevice()}); }), StartsWith("INVALID_ARGUMENT"));
  const ValuePtr keys = Value::Tensor(DataType::kInt64, std::vector<int64_t>{6});
  EXPECT_THAT(FailureOf([&] { Value::Map(keys, OnDevice({6})); }), StartsWith("INVALID_ARGUMENT"));
}

TEST(DeviceValue, DoesNotCountAsHostMemoryOfTheRun) {
  RunState run(MemoryLimits{.run_bytes = 1000});
  const ValuePtr host = Value::Tensor(DataType::kFloat, kDims, &run);
  const uint64_t used = run.used();
  ValuePtr value = OnDevice();
  run.Drop(value);
  EXPECT_EQ(run.used(), used);
}

}  // namespace
}  // namespace epiphyte::core
