// The device uses bound values in place. An SDK that can import host memory imports each value once and copies nothing.
#include <cstdlib>
#include <cstring>

#include "tests/npu/ep/hostile_sdk/hostile_sdk.h"
#include "tests/npu/ep/npu_harness.h"

namespace epiphyte::test {
namespace {

using testing::HasSubstr;

constexpr const char* kAdd =
    "g (uint8[1,64] a, uint8[1,64] b) => (uint8[1,64] y) <float s = {0.1}> { d = DequantizeLinear(a, s) e = "
    "DequantizeLinear(b, s) c = Add(d, e) y = QuantizeLinear(c, s) }";
constexpr size_t kBytes = 64;

class Import : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("EPIPHYTE_HOSTILE_SDK"); }

  void Open(const char* fault, const char* model = kAdd, std::vector<std::string> providers = {"npu"}) {
    setenv("EPIPHYTE_HOSTILE_SDK", fault, 1);
    environment_ = std::make_unique<NpuEnvironment>(EPIPHYTE_HOSTILE_SDK_LIBRARY);
    const std::string bytes = QuantisedModel(model);
    session_ = std::make_unique<core::Session>(**environment_, bytes.data(), bytes.size(), OptionsFor(providers));
  }

  ValuePtr Value(int number, std::vector<int64_t> dims = {1, 64}) {
    ValuePtr value = Numbers().Bytes(DataType::kUint8, dims);
    std::memset(value->mutable_data(), number, value->byte_size());
    return value;
  }
  void Run(const ValuePtr& a, const ValuePtr& b, const ValuePtr& y) {
    core::RunBindings bindings;
    bindings.outputs = {{y, nullptr}};
    bindings.numbers = &numbers_;
    core::RunSettings settings;
    settings.bindings = &bindings;
    const ValuePtr inputs[] = {a, b};
    EXPECT_EQ(session_->Run(inputs, settings)[0].get(), y.get());
  }
  static int First(const ValuePtr& value) { return static_cast<const uint8_t*>(value->data())[0]; }
  static uint64_t Calls(const char* function) {
    return HostileFunction<decltype(&hostile_sdk_calls)>("hostile_sdk_calls")(function);
  }
  static HostileBinding Bound(NsdkDirection direction, uint32_t index) {
    return HostileFunction<decltype(&hostile_sdk_binding)>("hostile_sdk_binding")(direction, index);
  }
  // Checks that the device reads and writes the values in place, imported or not.
  static void ExpectInPlace(const ValuePtr& a, const ValuePtr& b, const ValuePtr& y, bool is_imported) {
    const std::pair<HostileBinding, const core::Value*> all[] = {
        {Bound(NSDK_INPUT, 0), a.get()}, {Bound(NSDK_INPUT, 1), b.get()}, {Bound(NSDK_OUTPUT, 0), y.get()}};
    for (const auto& [bound, value] : all) {
      EXPECT_EQ(bound.address, value->data());
      EXPECT_EQ(bound.size, kBytes);
      EXPECT_EQ(bound.is_imported, is_imported);
    }
  }

  std::unique_ptr<NpuEnvironment> environment_;
  std::unique_ptr<core::Session> session_;
  core::BindingNumbers numbers_;
};

TEST_F(Import, BoundValuesAreImportedOnceAndReadAndWrittenInPlace) {
  Open("none");
  const uint64_t imports = Calls("mem_create"), binds = Calls("exec_bind");
  const ValuePtr a = Value(30), b = Value(12), y = Value(0);
  Run(a, b, y);
  ExpectInPlace(a, b, y, true);
  EXPECT_EQ(First(y), 42);
  std::memset(a->mutable_data(), 100, kBytes);
  for (int i = 0; i < 10; ++i) Run(a, b, y);
  EXPECT_EQ(First(y), 112) << "what is written into them later is seen";
  EXPECT_EQ(Calls("mem_create") - imports, 3u);
  EXPECT_EQ(Calls("exec_bind") - binds, 3u) << "nothing is bound twice";
}

TEST_F(Import, OtherValuesAreImportedAnewAndTheFirstOnesGivenBack) {
  Open("none");
  const ValuePtr a = Value(30), b = Value(12), y = Value(0), other = Value(0);
  Run(a, b, y);
  const uint64_t gone = Calls("mem_destroy");
  Run(a, b, other);
  EXPECT_EQ(First(other), 42);
  ExpectInPlace(a, b, other, true);
  EXPECT_EQ(Calls("mem_destroy") - gone, 3u);
  session_.reset();
  EXPECT_EQ(Calls("mem_destroy") - gone, 6u);
}

TEST_F(Import, ValuesThatAreNotBoundAreNotImported) {
  Open("none");
  const uint64_t imports = Calls("mem_create");
  const ValuePtr inputs[] = {Value(30), Value(12)};
  const ValuePtr y = session_->Run(inputs)[0];
  EXPECT_EQ(First(y), 42);
  EXPECT_EQ(Calls("mem_create"), imports);
  ExpectInPlace(inputs[0], inputs[1], y, false);
}

TEST_F(Import, AnSdkThatCanNotIsGivenHostAddresses) {
  for (const char* fault : {"version.plain", "mem_create.fails", "mem_create.throws", "mem_create.null"}) {
    SCOPED_TRACE(fault);
    Open(fault);
    const uint64_t imports = Calls("mem_create");
    const ValuePtr a = Value(30), b = Value(12), y = Value(0);
    Run(a, b, y);
    EXPECT_EQ(First(y), 42);
    ExpectInPlace(a, b, y, false);
    EXPECT_EQ(Calls("mem_create") - imports, std::string_view(fault) == "version.plain" ? 0u : 3u);
  }
}

TEST_F(Import, MisalignedMemoryIsPassedByAddress) {
  Open("target.pages");
  const uint64_t imports = Calls("mem_create");
  const ValuePtr a = Value(30), b = Value(12), y = Value(0);
  Run(a, b, y);
  EXPECT_EQ(First(y), 42);
  ExpectInPlace(a, b, y, false);
  EXPECT_EQ(Calls("mem_create"), imports);
}

TEST_F(Import, WhatIsTooSmallIsRefused) {
  Open("none");
  const ValuePtr a = Value(30), b = Value(12), small = Value(0, {1, 63});
  EXPECT_THAT(FailureOf([&] { Run(a, b, small); }), HasSubstr("bind a tensor of the output's type and shape"));
  const ValuePtr y = Value(0);
  EXPECT_THAT(FailureOf([&] { Run(small, b, y); }), HasSubstr("INVALID_ARGUMENT"));
  Run(a, b, y);
  EXPECT_EQ(First(y), 42) << "and then all is well again";
}

// Values made by another provider have other addresses in the next run.
TEST_F(Import, WhatARunMakesItselfIsNotImported) {
  Open("none",
       "g (uint8[1,64] a, uint8[1,64] b) => (uint8[1,64] y) <float s = {0.1}> { p = BitwiseOr(a, b) d = "
       "DequantizeLinear(p, s) e = DequantizeLinear(b, s) c = Add(d, e) y = QuantizeLinear(c, s) }",
       {"npu", "cpu"});
  const uint64_t imports = Calls("mem_create");
  const ValuePtr a = Value(32), b = Value(8), y = Value(0);
  for (int i = 0; i < 3; ++i) Run(a, b, y);
  EXPECT_EQ(First(y), 48);
  EXPECT_EQ(Calls("mem_create"), imports);
}

}  // namespace
}  // namespace epiphyte::test
