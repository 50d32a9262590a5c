// Containers in memory that look like a mapped file: at a multiple of 64 bytes, with no readable byte behind them.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/container/container.hpp"
#include "tests/framework/guarded_memory.h"
#include "tests/framework/sealed_container.h"

namespace epiphyte::test {

inline constexpr kit::ContainerFormat kTestFormat = {"\1TESTS", 7, "the test's context"};

inline std::string BytesOf(const kit::ContextContainerBuilder& builder) {
  std::string bytes;
  builder.Write([&](const void* data, uint64_t size) {
    bytes.append(static_cast<const char*>(data), static_cast<size_t>(size));
  });
  return bytes;
}

// Reading behind the end stops the test. The address is a multiple of 64 if the size is, or `shift` bytes behind one.
class Blob {
 public:
  explicit Blob(std::string_view bytes, size_t shift = 0)
      : memory_(GuardedMemory(bytes.size() + (64 - shift) % 64)),
        bytes_(static_cast<std::byte*>(memory_.get()), bytes.size()) {
    if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), bytes.size());
  }
  operator std::span<const std::byte>() const { return bytes_; }
  // Changes the bytes, as another process does when it writes to the mapped file.
  void Overwrite(char with) { std::memset(bytes_.data(), with, bytes_.size()); }

 private:
  std::shared_ptr<void> memory_;
  std::span<std::byte> bytes_;
};

inline std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns "OK", or "<code>: <message>" of the kit::Error that `body` throws.
template <typename Body>
std::string OutcomeOf(Body&& body) {
  try {
    body();
    return "OK";
  } catch (const kit::Error& error) {
    return (error.code() == EP_STATUS_INVALID_GRAPH ? "INVALID_GRAPH: "
                                                    : "code " + std::to_string(error.code()) + ": ") +
           error.what();
  }
}

}  // namespace epiphyte::test
