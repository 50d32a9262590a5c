// Implements the rule of struct_size for every struct of the C ABI that the host fills or reads.
//
// Filling: the plugin states in struct_size how much room it has. The host copies as much of the struct as fits and
// sets struct_size to the number of bytes filled. Less room than the struct had when its function entered the ABI is
// INVALID_ARGUMENT.
//
//   EpGraphInfo full{};
//   …
//   FillAbi(full, info);
//
// Reading: a plugin's struct is at least as large as it was when it entered the ABI, and its reserved fields are zero.
//
//   RequireAbi(*claim);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/error.h"
#include "epiphyte/draft/ep_device.h"
#include "epiphyte/ep_options.h"
#include "epiphyte/ep_plugin.h"
#include "epiphyte/ep_share.h"

namespace epiphyte::core {

// Name of a struct, and its size when it entered the ABI.
template <typename T>
struct AbiStruct;
#define EPIPHYTE_ABI_STRUCT(type, last_field)                               \
  template <>                                                               \
  struct AbiStruct<type> {                                                  \
    static constexpr std::string_view kName = #type;                        \
    static constexpr size_t kLeastSize = EP_SIZE_THROUGH(type, last_field); \
  };
EPIPHYTE_ABI_STRUCT(EpGraphInfo, constant_count)
EPIPHYTE_ABI_STRUCT(EpNodeInfo, subgraph_count)
EPIPHYTE_ABI_STRUCT(EpValueDefInfo, consumer_count)
EPIPHYTE_ABI_STRUCT(EpAttributeInfo, types)
EPIPHYTE_ABI_STRUCT(EpClaim, memory_bytes)
EPIPHYTE_ABI_STRUCT(EpContextNodeDesc, max_size)
EPIPHYTE_ABI_STRUCT(EpContextSinkInfo, partition_count)
EPIPHYTE_ABI_STRUCT(EpRunInfo, binding)
EPIPHYTE_ABI_STRUCT(EpShareInfo, name)
EPIPHYTE_ABI_STRUCT(EpDeviceInfo, memory_bytes)
EPIPHYTE_ABI_STRUCT(EpKernelInfo, flags)
EPIPHYTE_ABI_STRUCT(EpDeviceApi, OnReached)
EPIPHYTE_ABI_STRUCT(EpMemoryInfo, export_types)
EPIPHYTE_ABI_STRUCT(EpMemoryUse, total_bytes)
EPIPHYTE_ABI_STRUCT(EpExternalMemory, size)
EPIPHYTE_ABI_STRUCT(EpProviderApi, DescribeKernel)
EPIPHYTE_ABI_STRUCT(EpPluginDescriptor, GetExtension)
EPIPHYTE_ABI_STRUCT(EpOptionInfo, reserved)
EPIPHYTE_ABI_STRUCT(EpOptionsApi, GetOptions)
#undef EPIPHYTE_ABI_STRUCT

// Describes the error in a plugin's struct; "" when there is none.
template <typename T>
std::string AbiProblem(const T& given) {
  // No table of functions is this large. A larger struct_size means that the field was never set.
  constexpr uint32_t kMostBytes = 64 * 1024;
  using Known = AbiStruct<T>;
  if (given.struct_size < Known::kLeastSize) {
    return fmt::format("{}::struct_size is {}, at least {} expected; set it to sizeof({})", Known::kName,
                       given.struct_size, Known::kLeastSize, Known::kName);
  }
  if (given.struct_size > kMostBytes) {
    return fmt::format("{}::struct_size is {}, at most {} expected; set it to sizeof({})", Known::kName,
                       given.struct_size, kMostBytes, Known::kName);
  }
  if constexpr (requires { given.reserved; }) {
    if (given.reserved != 0) {
      return fmt::format("{}::reserved is {}, 0 expected; clear the struct before it is filled", Known::kName,
                         given.reserved);
    }
  }
  return {};
}

// Throws INVALID_ARGUMENT with the text of AbiProblem.
template <typename T>
void RequireAbi(const T& given) {
  if (std::string problem = AbiProblem(given); !problem.empty()) throw Error(StatusCode::kInvalidArgument, problem);
}

[[noreturn]] void FailNoRoom(std::string_view name, uint32_t size, size_t least);

// `full.struct_size` is ignored.
template <typename T>
void FillAbi(const T& full, T* out) {
  constexpr size_t kHeader = sizeof(uint32_t);
  if (out->struct_size < AbiStruct<T>::kLeastSize) [[unlikely]]
    FailNoRoom(AbiStruct<T>::kName, out->struct_size, AbiStruct<T>::kLeastSize);
  const auto reach = static_cast<uint32_t>(std::min<size_t>(out->struct_size, sizeof(T)));
  std::memcpy(reinterpret_cast<char*>(out) + kHeader, reinterpret_cast<const char*>(&full) + kHeader, reach - kHeader);
  out->struct_size = reach;
}

}  // namespace epiphyte::core
