// Helpers for the tests of vector loops: the instruction sets to run, rows that end at the end of accessible memory,
// and distances between floats.
//
//     using Scale = EachTarget;
//     EPIPHYTE_EACH_TARGET(Scale);
//     TEST_P(Scale, MultipliesEveryElement) {
//       for (int64_t n : kLengths) {
//         GuardedRow<float> x(RandomFloats(n, -1, 1));
//         simd::Scale(x.data(), 3, n);
//         …
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "plugins/cpu/simd/target/targets.h"

namespace epiphyte::cpu::simd {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Fixture: calls of loops go to the target that the parameter names.
class EachTarget : public ::testing::TestWithParam<std::string> {
 private:
  TargetChoice choice_{GetParam()};
};

#define EPIPHYTE_EACH_TARGET(suite)                                                                        \
  INSTANTIATE_TEST_SUITE_P(Targets, suite, ::testing::ValuesIn(::epiphyte::cpu::simd::SupportedTargets()), \
                           [](const auto& info) { return info.param; })

// Lengths of rows: every remainder for every vector length, more than one run of vectors, and long rows.
inline std::vector<int64_t> Lengths() {
  std::vector<int64_t> lengths(131);
  std::iota(lengths.begin(), lengths.end(), 0);
  lengths.insert(lengths.end(), {255, 1000, 4096, 10007});
  return lengths;
}

// A row that ends at the end of accessible memory. Marker bytes precede it, to detect writes in front of it.
template <typename T>
class GuardedRow {
 public:
  explicit GuardedRow(const std::vector<T>& values) : size_(values.size()) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t usable = (size_ * sizeof(T) + kMark + page - 1) / page * page;
    bytes_ = usable + page;
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED || mprotect(memory_ + usable, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(memory_ + usable - size_ * sizeof(T));
    std::memset(reinterpret_cast<char*>(data_) - kMark, kMarkByte, kMark);
    if (size_ != 0) std::memcpy(data_, values.data(), size_ * sizeof(T));
  }
  explicit GuardedRow(int64_t size) : GuardedRow(std::vector<T>(static_cast<size_t>(size))) {}
  ~GuardedRow() {
    const char* const mark = reinterpret_cast<const char*>(data_) - kMark;
    for (size_t i = 0; i < kMark; ++i) EXPECT_EQ(mark[i], kMarkByte) << "written before the row";
    munmap(memory_, bytes_);
  }
  GuardedRow(const GuardedRow&) = delete;
  GuardedRow& operator=(const GuardedRow&) = delete;

  T* data() { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  std::vector<T> values() const { return std::vector<T>(data_, data_ + size_); }

 private:
  static constexpr size_t kMark = 64;
  static constexpr char kMarkByte = 0x5A;
  size_t size_;
  size_t bytes_ = 0;
  char* memory_ = nullptr;
  T* data_ = nullptr;
};

inline std::vector<float> RandomFloats(int64_t n, float low, float high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = distribution(random);
  return values;
}

// Returns the distance of a float from the true value, in units of the last place of the true value. For infinities and
// NaN it is 0 if both are the same, otherwise infinity.
inline double UlpError(float found, double expected) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded) || std::isnan(found)) return std::isnan(rounded) == std::isnan(found) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(found)) return rounded == found ? 0 : INFINITY;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(rounded == 0 ? 0x1p-126f : rounded), -126) - 23);
  return std::fabs(static_cast<double>(found) - expected) / unit;
}

}  // namespace epiphyte::cpu::simd
