// Entry and exit of the SDK's C functions. An internal failure is an SdkError (or an exception of compiler or blob); it
// becomes a status and a reason. Structs are read and written as far as their struct_size says.
//
//   NsdkStatus Load(NsdkContext* context, ..., NsdkReason* reason) {
//     return Guard(reason, [&] {
//       Require(context != nullptr, "context is null");
//       const NsdkLoadOptions options = ReadStruct(caller_options, "the options");
//       ...
//     });
//   }
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "nsdk.h"

namespace epiphyte::npusim {

class SdkError : public std::runtime_error {
 public:
  SdkError(NsdkStatus status, const std::string& what) : std::runtime_error(what), status(status) {}
  NsdkStatus status;
};

inline void Require(bool holds, const std::string& what, NsdkStatus status = NSDK_INVALID_ARGUMENT) {
  if (!holds) throw SdkError(status, what);
}

// Status and reason of the exception that is being handled.
struct Failure {
  NsdkStatus status = NSDK_OK;
  std::string text;
};
Failure CurrentFailure() noexcept;

// Writes one line, cut to the size of the reason. `reason` may be null.
void WriteReason(NsdkReason* reason, const std::string& text) noexcept;

template <typename Function>
NsdkStatus Guard(NsdkReason* reason, const Function& function) noexcept {
  try {
    function();
    return NSDK_OK;
  } catch (...) {
    const Failure failure = CurrentFailure();
    WriteReason(reason, failure.text);
    return failure.status;
  }
}

// struct_size of a struct that needn't be aligned: the caller determines the distance of array elements.
inline uint32_t SizeAt(const void* from) {
  uint32_t size = 0;
  std::memcpy(&size, from, sizeof(size));
  return size;
}

// Fields beyond struct_size are zero.
template <typename T>
T ReadStruct(const T* from, const char* what) {
  Require(from != nullptr, std::string(what) + " is null, expected a pointer");
  const uint32_t size = SizeAt(from);
  Require(size >= sizeof(uint32_t),
          std::string(what) + ": struct_size is " + std::to_string(size) + ", expected at least 4");
  T value{};
  std::memcpy(&value, static_cast<const void*>(from), std::min<size_t>(size, sizeof(T)));
  return value;
}

// Element `index` of an array. The struct_size of the first element is the stride.
template <typename T>
T ReadElement(const T* array, size_t index, const char* what) {
  Require(array != nullptr, std::string(what) + " is null, expected an array");
  const auto* at = reinterpret_cast<const char*>(array) + index * SizeAt(array);
  return ReadStruct(reinterpret_cast<const T*>(at), what);
}

// Writes nothing beyond the caller's struct_size, which stays as it is.
template <typename T>
void WriteStruct(T* to, T value, const char* what) {
  Require(to != nullptr, std::string(what) + " is null, expected a pointer");
  Require(to->struct_size >= sizeof(uint32_t),
          std::string(what) + ": struct_size is " + std::to_string(to->struct_size) + ", expected at least 4");
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min<size_t>(to->struct_size, sizeof(T)));
}

}  // namespace epiphyte::npusim
