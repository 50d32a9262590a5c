// Conversion of floats to and from every other numeric type.
#include "plugins/cpu/simd/convert/convert.h"

#include <type_traits>

#include "tests/cpu/simd/simd_testing.h"

namespace epiphyte::cpu::simd {
namespace {

using kit::BFloat16;
using kit::Float16;

template <typename T>
constexpr bool kIsSmallFloat = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <typename T>
bool SameNumber(T a, T b) {
  if constexpr (kIsSmallFloat<T>) {
    return a.bits == b.bits;
  } else {
    return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
  }
}

// Converts one number as the header defines it.
template <typename T>
T FromFloat(float value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (std::is_same_v<T, uint64_t> && value >= 0x1p63f && value < 0x1p64f) return static_cast<T>(value);
    using Via = std::conditional_t<(sizeof(T) < 4) || std::is_same_v<T, int32_t>, int32_t, int64_t>;
    const double limit = sizeof(Via) == 4 ? 0x1p31 : 0x1p63;
    const bool fits = value >= -limit && value < limit;
    return static_cast<T>(fits ? static_cast<Via>(value) : std::numeric_limits<Via>::min());
  } else {
    return static_cast<T>(value);
  }
}

std::vector<float> Floats(int64_t n) {
  std::vector<float> values;
  const float special[] = {0.0f,
                           -0.0f,
                           0.5f,
                           -0.5f,
                           0.99f,
                           -0.99f,
                           1.5f,
                           127.5f,
                           -128.5f,
                           255.9f,
                           256.0f,
                           65535.0f,
                           65519.9f,
                           65520.0f,
                           -65536.0f,
                           0x1p31f,
                           -0x1p31f,
                           0x1.fffffep30f,
                           3e9f,
                           0x1p32f,
                           0x1p40f,
                           0x1p63f,
                           -0x1p63f,
                           0x1.8p63f,
                           0x1p64f,
                           1e30f,
                           -1e30f,
                           0x1p-14f,
                           0x1p-15f,
                           0x1.8p-24f,
                           0x1p-25f,
                           0x1.000002p-25f,
                           0x1p-126f,
                           0x1p-149f,
                           1.00390625f,
                           1.01171875f,
                           INFINITY,
                           -INFINITY,
                           std::numeric_limits<float>::quiet_NaN(),
                           -std::numeric_limits<float>::quiet_NaN(),
                           std::bit_cast<float>(0x7F800001u),
                           std::bit_cast<float>(0xFFC01234u)};
  std::mt19937 random(7);
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(i % 3 == 0   ? special[static_cast<size_t>(i / 3) % std::size(special)]
                     : i % 3 == 1 ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                                  : static_cast<float>(static_cast<int>(random() % 2000) - 1000) / 4);
  }
  return values;
}

template <typename T>
std::vector<T> Numbers(int64_t n) {
  std::mt19937_64 random(5);
  std::vector<T> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = random() >> (i % 4 * 16);
    if constexpr (std::is_same_v<T, bool>) {
      values[i] = bits % 2 != 0;
    } else if constexpr (std::is_same_v<T, double>) {
      values[i] = i % 5 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(Floats(1)[0]) + 1e-3 * i;
    } else if constexpr (kIsSmallFloat<T>) {
      values[i].bits = static_cast<uint16_t>(random());
    } else {
      values[i] = i % 7 == 0   ? std::numeric_limits<T>::min()
                  : i % 7 == 1 ? std::numeric_limits<T>::max()
                               : static_cast<T>(bits);
    }
  }
  return values;
}

template <typename T>
void TestBothDirections(const char* name) {
  const ConvertLoop<T, float> to_float;
  const ConvertLoop<float, T> from_float;
  for (int64_t n : Lengths()) {
    std::vector<T> numbers;
    if constexpr (std::is_same_v<T, bool>) {
      for (int64_t i = 0; i < n; ++i) numbers.push_back(i % 3 == 1);
    } else {
      numbers = Numbers<T>(n);
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(n) * sizeof(T));
    for (int64_t i = 0; i < n; ++i) {
      const T number = numbers[static_cast<size_t>(i)];
      std::memcpy(&bytes[static_cast<size_t>(i) * sizeof(T)], &number, sizeof(T));
    }
    GuardedRow<uint8_t> from(bytes);
    GuardedRow<float> floats(n);
    to_float(reinterpret_cast<const T*>(from.data()), floats.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(SameNumber(floats[i], static_cast<float>(numbers[static_cast<size_t>(i)])))
          << "from " << name << ": " << floats[i] << ", element " << i << " of " << n;
    }

    GuardedRow<float> x(Floats(n));
    GuardedRow<uint8_t> to(static_cast<int64_t>(bytes.size()));
    from_float(x.data(), reinterpret_cast<T*>(to.data()), n);
    for (int64_t i = 0; i < n; ++i) {
      T found;
      std::memcpy(&found, to.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      ASSERT_TRUE(SameNumber(found, FromFloat<T>(x[i]))) << x[i] << " to " << name << ", element " << i << " of " << n;
    }
  }
}

using Conversion = EachTarget;
EPIPHYTE_EACH_TARGET(Conversion);

TEST_P(Conversion, IsThatOfOneElementAfterTheOther) {
  TestBothDirections<double>("double");
  TestBothDirections<Float16>("float16");
  TestBothDirections<BFloat16>("bfloat16");
  TestBothDirections<bool>("bool");
  TestBothDirections<int8_t>("int8");
  TestBothDirections<int16_t>("int16");
  TestBothDirections<int32_t>("int32");
  TestBothDirections<int64_t>("int64");
  TestBothDirections<uint8_t>("uint8");
  TestBothDirections<uint16_t>("uint16");
  TestBothDirections<uint32_t>("uint32");
  TestBothDirections<uint64_t>("uint64");
}

TEST_P(Conversion, KnowsEveryNumberOfSixteenBits) {
  std::vector<Float16> halves(65536);
  std::vector<BFloat16> brains(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i].bits = brains[i].bits = static_cast<uint16_t>(i);
  std::vector<float> floats(halves.size());
  const auto test = [&](const auto& numbers) {
    using T = std::decay_t<decltype(numbers[0])>;
    ConvertLoop<T, float>()(numbers.data(), floats.data(), 65536);
    std::vector<T> back(numbers.size());
    ConvertLoop<float, T>()(floats.data(), back.data(), 65536);
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_TRUE(SameNumber(floats[i], static_cast<float>(numbers[i]))) << "bits " << i;
      ASSERT_EQ(back[i].bits, T(floats[i]).bits) << "bits " << i;
    }
  };
  test(halves);
  test(brains);
}

TEST_P(Conversion, BytesOfABoolThatAreNeitherZeroNorOneAreOne) {
  const std::vector<uint8_t> bytes = {0, 1, 2, 255, 128, 0, 7};
  std::vector<float> floats(bytes.size());
  ConvertLoop<bool, float>()(reinterpret_cast<const bool*>(bytes.data()), floats.data(),
                             static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(floats, (std::vector<float>{0, 1, 1, 1, 1, 0, 1}));
}

}  // namespace
}  // namespace epiphyte::cpu::simd
