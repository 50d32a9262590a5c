// Bytes that end before an inaccessible page, so that an access beyond them ends the process.
//
//   GuardedBytes blob(bytes);                 blob.Protect();      // read-only from here on
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

namespace epiphyte::nsdk_conformance {

class GuardedBytes {
 public:
  explicit GuardedBytes(size_t size) : size_(size) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    usable_ = (size + page - 1) / page * page;
    whole_ = usable_ + page;
    void* memory = mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for a check");
    memory_ = static_cast<uint8_t*>(memory);
    mprotect(memory_ + usable_, page, PROT_NONE);
  }
  explicit GuardedBytes(std::span<const uint8_t> bytes) : GuardedBytes(bytes.size()) {
    if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
  }
  ~GuardedBytes() { munmap(memory_, whole_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  uint8_t* data() const { return memory_ + usable_ - size_; }
  size_t size() const { return size_; }
  std::span<uint8_t> bytes() const { return {data(), size_}; }
  // The part of the first page that precedes the bytes.
  std::span<uint8_t> before() const { return {memory_, usable_ - size_}; }
  void Protect() { mprotect(memory_, usable_, PROT_READ); }

 private:
  size_t size_, usable_ = 0, whole_ = 0;
  uint8_t* memory_ = nullptr;
};

}  // namespace epiphyte::nsdk_conformance
