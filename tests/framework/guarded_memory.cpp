#include "tests/framework/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace epiphyte::test {
namespace {

constexpr unsigned char kFresh = 0xCD;   // fills fresh memory
constexpr unsigned char kAround = 0xA5;  // fills the bytes around the memory

struct Mapping {
  unsigned char* begin;  // first byte of the watched pages
  uint64_t watched;      // size of the watched pages in bytes
  uint64_t page;
  unsigned char* data;
  uint64_t bytes;
};

bool IsUntouched(const unsigned char* begin, const unsigned char* end) {
  return std::all_of(begin, end, [](unsigned char byte) { return byte == kAround; });
}

void Release(const Mapping& mapping) {
  if (!IsUntouched(mapping.begin, mapping.data) ||
      !IsUntouched(mapping.data + mapping.bytes, mapping.begin + mapping.watched)) {
    std::fprintf(stderr, "bytes around %llu bytes of guarded memory were written\n",
                 static_cast<unsigned long long>(mapping.bytes));
    std::abort();
  }
  munmap(mapping.begin, mapping.watched + mapping.page);
}

}  // namespace

std::shared_ptr<void> GuardedMemory(uint64_t bytes, uint64_t alignment) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > UINT64_MAX / 4) throw std::bad_alloc();
  Mapping mapping;
  mapping.page = page;
  mapping.bytes = bytes;
  mapping.watched = (bytes + alignment - 1 + page - 1) / page * page;
  void* memory = mmap(nullptr, mapping.watched + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mapping.begin = static_cast<unsigned char*>(memory);
  if (mprotect(mapping.begin + mapping.watched, page, PROT_NONE) != 0) throw std::bad_alloc();
  mapping.data = mapping.begin + (mapping.watched - bytes) / alignment * alignment;
  std::memset(mapping.begin, kAround, mapping.watched);
  std::memset(mapping.data, kFresh, bytes);
  return std::shared_ptr<void>(mapping.data, [mapping](void*) { Release(mapping); });
}

}  // namespace epiphyte::test
