// Tensors that the host computes with: bytes are decoded into numbers and encoded into the same bytes again.
#include "plugins/vulkan/program/host_tensor.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::vulkan {
namespace {

using testing::ElementsAre;

template <typename T, size_t N>
std::vector<std::byte> Bytes(const std::array<T, N>& values) {
  std::vector<std::byte> bytes(sizeof values);
  std::memcpy(bytes.data(), values.data(), sizeof values);
  return bytes;
}

TEST(HostTensor, IntegersOfEveryWidthComeBack) {
  const auto narrow = Bytes(std::array<int8_t, 3>{-128, 0, 127});
  const HostTensor tensor = ReadHostTensor(EP_TYPE_INT8, {3}, narrow.data());
  EXPECT_THAT(tensor.ints, ElementsAre(-128, 0, 127));
  EXPECT_EQ(BytesOf(tensor), narrow);
  const auto wide = Bytes(std::array<int64_t, 2>{INT64_MIN, INT64_MAX});
  EXPECT_EQ(BytesOf(ReadHostTensor(EP_TYPE_INT64, {2}, wide.data())), wide);
}

TEST(HostTensor, FloatsComeBackFromAnyAddress) {
  std::vector<std::byte> shifted(1);
  const auto halves = Bytes(std::array<uint16_t, 2>{0x3C00, 0xC500});  // 1 and -5 in float16
  shifted.insert(shifted.end(), halves.begin(), halves.end());
  const HostTensor tensor = ReadHostTensor(EP_TYPE_FLOAT16, {2}, shifted.data() + 1);
  EXPECT_THAT(tensor.floats, ElementsAre(1.0, -5.0));
  EXPECT_EQ(BytesOf(tensor), halves);
}

TEST(HostTensor, WhatIsNoNumberIsRefused) {
  EXPECT_FALSE(IsHostType(EP_TYPE_STRING));
  const std::string text = "x";
  EXPECT_THROW(ReadHostTensor(EP_TYPE_STRING, {1}, &text), kit::Error);
}

TEST(HostTensor, ElementsThatAreMissingAreNoticed) {
  HostTensor tensor;
  tensor.dims = {2};
  tensor.ints = {1};
  EXPECT_THROW(BytesOf(tensor), kit::Error);
}

}  // namespace
}  // namespace epiphyte::vulkan
