// Casts between each pair of types that the device computes with.
#include <cmath>
#include <limits>

#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/vulkan/ops/host/host_compute.h"
#include "tests/vulkan/ops/math/op_run.h"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr EpElementType kTypes[] = {EP_TYPE_FLOAT, EP_TYPE_FLOAT16, EP_TYPE_INT32, EP_TYPE_UINT32,
                                    EP_TYPE_INT64, EP_TYPE_UINT8,   EP_TYPE_INT8,  EP_TYPE_BOOL};

class Casts : public OpTest {
 protected:
  OpTensor Cast(const OpTensor& x, EpElementType to) {
    const std::string n = "[" + std::to_string(x.dims[0]) + "]";
    return Run("in x: " + kit::TypeName(x.type) + n + "\ny = Cast@13<to=" + std::to_string(to) +
                   ">(x) : " + kit::TypeName(to) + n + "\nout y\n",
               {x})[0];
  }
};

OpTensor Make(EpElementType type, const std::vector<double>& values) {
  HostTensor tensor = HostZeros(type, {static_cast<int64_t>(values.size())});
  tensor.ints.clear(), tensor.floats.clear();
  for (const double value : values) HostAppend(tensor, value);
  return {type, tensor.dims, BytesOf(tensor)};
}

TEST_F(Casts, EveryPairKeepsSmallNumbers) {
  for (const EpElementType from : kTypes)
    for (const EpElementType to : kTypes) {
      const std::vector<double> values = {0, 1, 7, 100, 0, 1, 2, 3, 5};
      const OpTensor x = Make(from, values);
      const HostTensor held = ReadHostTensor(from, x.dims, x.bytes.data());
      const OpTensor y = Cast(x, to);
      EXPECT_EQ(y.bytes, Make(to, HostNumbers(held)).bytes) << kit::TypeName(from) << " to " << kit::TypeName(to);
    }
}

TEST_F(Casts, NegativeIntegersEnterNarrowTypesByTheirLowBits) {
  const OpTensor x = Of<int64_t>({4}, {-1, -129, (1ll << 32) + 5, 300});
  EXPECT_THAT(Cast(x, EP_TYPE_INT32).As<int32_t>(), ElementsAre(-1, -129, 5, 300));
  EXPECT_THAT(Cast(x, EP_TYPE_UINT8).As<uint8_t>(), ElementsAre(255, 127, 5, 44));
  EXPECT_THAT(Cast(x, EP_TYPE_INT8).As<int8_t>(), ElementsAre(-1, 127, 5, 44));
  EXPECT_THAT(Cast(Of<int8_t>({2}, {-1, -128}), EP_TYPE_UINT32).As<uint32_t>(), ElementsAre(4294967295u, 4294967168u));
  EXPECT_THAT(Cast(Of<int32_t>({2}, {-1, 3}), EP_TYPE_INT64).As<int64_t>(), ElementsAre(-1, 3));
  EXPECT_THAT(Cast(Of<uint32_t>({1}, {4000000000u}), EP_TYPE_INT64).As<int64_t>(), ElementsAre(4000000000));
  EXPECT_THAT(Cast(Of<uint32_t>({1}, {4000000000u}), EP_TYPE_FLOAT).As<float>(), ElementsAre(4e9f));
}

TEST_F(Casts, FloatsAreTruncatedAndWhatFitsNowhereIsTheLowest) {
  const OpTensor x = Of<float>({8}, {1.9f, -1.9f, 3e9f, -3e9f, 1e20f, kInfinity, -kInfinity, kNaN});
  EXPECT_THAT(Cast(x, EP_TYPE_INT32).As<int32_t>(),
              ElementsAre(1, -1, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN));
  EXPECT_THAT(Cast(x, EP_TYPE_INT64).As<int64_t>(),
              ElementsAre(1, -1, 3000000000, -3000000000, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN));
  EXPECT_THAT(Cast(x, EP_TYPE_UINT32).As<uint32_t>(),
              ElementsAre(1u, 4294967295u, 3000000000u, 1294967296u, 0u, 0u, 0u, 0u));
  EXPECT_THAT(Cast(Of<float>({4}, {255.9f, -1, 256, 3e9f}), EP_TYPE_UINT8).As<uint8_t>(), ElementsAre(255, 255, 0, 0));
  EXPECT_THAT(Cast(x, EP_TYPE_BOOL).As<uint8_t>(), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(Cast(Of<float>({3}, {0, -0.0f, 0.1f}), EP_TYPE_BOOL).As<uint8_t>(), ElementsAre(0, 0, 1));
}

TEST_F(Casts, TheSameTypeIsTheSameMemory) {
  Cast(Of<float>({4}, {1, 2, 3, 4}), EP_TYPE_FLOAT);
  EXPECT_TRUE(program().dispatches.empty());
}

TEST_F(Casts, TypesWithoutKernelsAreRefusedWithTheReason) {
  EXPECT_THAT(ReasonOf([&] { Cast(Of<float>({1}, {1}), EP_TYPE_DOUBLE); }), testing::HasSubstr("double"));
  Disable(Capability::kInt64);
  EXPECT_THAT(ReasonOf([&] { Cast(Of<float>({1}, {1}), EP_TYPE_INT64); }), testing::HasSubstr("int64"));
}

}  // namespace
}  // namespace epiphyte::vulkan
