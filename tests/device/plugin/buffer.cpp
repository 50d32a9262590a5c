#include "tests/device/plugin/buffer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "epiphyte/kit/abi/error.hpp"

namespace epiphyte::test::device {
namespace {

// With four levels of page tables, no address of a process has these bits. With five levels, no allocator maps memory
// there.
constexpr uint64_t kMark = 0x00AD'0000'0000'0001;
constexpr uint64_t kMarkBits = 0xFFFF'0000'0000'0001;
static_assert(sizeof(void*) == 8);

constexpr uint64_t kMost = uint64_t{1} << 46;      // limit for one buffer, in bytes
constexpr uint64_t kPoisoned = uint64_t{1} << 20;  // bytes filled with NaN; more than tests read

std::string Cause() { return std::strerror(errno); }

}  // namespace

Buffer::Buffer()
    : id_([] {
        static std::atomic<uint64_t> next{1};
        return next.fetch_add(1);
      }()) {}

Buffer::~Buffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

EpBuffer* Buffer::handle() const { return reinterpret_cast<EpBuffer*>(kMark | (id_ << 1)); }

uint64_t Buffer::IdOf(const EpBuffer* handle) {
  const auto bits = reinterpret_cast<uint64_t>(handle);
  return (bits & kMarkBits) == kMark ? (bits & ~kMarkBits) >> 1 : 0;
}

std::shared_ptr<Buffer> Buffer::Own(uint64_t size, bool has_descriptor) {
  const auto fail = [&](const char* call) {
    throw kit::Error(EP_STATUS_OUT_OF_MEMORY,
                     std::string(call) + " gave no " + std::to_string(size) + " bytes of device memory: " + Cause());
  };
  if (size > kMost) {
    errno = ENOMEM;
    fail("the device");
  }
  std::shared_ptr<Buffer> buffer(new Buffer);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t whole = (std::max<uint64_t>(size, 1) + page - 1) / page * page;
  void* mapping = mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) fail("mmap");
  buffer->mapping_ = mapping;
  buffer->mapped_bytes_ = whole + 2 * page;
  void* const data = static_cast<std::byte*>(mapping) + page;
  int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
  if (has_descriptor) {
    buffer->descriptor_ = memfd_create("epiphyte_test_device", MFD_CLOEXEC);
    if (buffer->descriptor_ < 0) fail("memfd_create");
    if (ftruncate(buffer->descriptor_, static_cast<off_t>(page + whole)) != 0) fail("ftruncate");
    buffer->descriptor_offset_ = page;
    flags = MAP_FIXED | MAP_SHARED;
  }
  if (mmap(data, whole, PROT_READ | PROT_WRITE, flags, buffer->descriptor_,
           static_cast<off_t>(buffer->descriptor_offset_)) == MAP_FAILED) {
    fail("mmap");
  }
  buffer->data_ = static_cast<std::byte*>(data);
  buffer->size_ = size;
  // Floats that are read before they were written are NaN.
  std::memset(data, 0xFF, std::min(size, kPoisoned));
  return buffer;
}

std::shared_ptr<Buffer> Buffer::InArena(uint64_t size) { return Own(size, true); }
std::shared_ptr<Buffer> Buffer::Shared(uint64_t size) { return Own(size, false); }

std::shared_ptr<Buffer> Buffer::OverDescriptor(int64_t descriptor, uint64_t offset, uint64_t size) {
  const auto refuse = [](const std::string& why) { throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "import: " + why); };
  if (descriptor < 0 || descriptor > INT_MAX) refuse("descriptor " + std::to_string(descriptor) + " found");
  if (size == 0) refuse("0 bytes found, at least 1 expected");
  std::shared_ptr<Buffer> buffer(new Buffer);
  buffer->imported_ = true;
  buffer->descriptor_ = fcntl(static_cast<int>(descriptor), F_DUPFD_CLOEXEC, 0);
  if (buffer->descriptor_ < 0) refuse("descriptor " + std::to_string(descriptor) + ": " + Cause());
  struct stat about = {};
  if (fstat(buffer->descriptor_, &about) != 0) refuse(Cause());
  const uint64_t there = about.st_size < 0 ? 0 : static_cast<uint64_t>(about.st_size);
  if (!S_ISREG(about.st_mode) || offset > there || size > there - offset) {
    refuse(std::to_string(size) + " bytes from " + std::to_string(offset) + " wanted of a descriptor with " +
           std::to_string(there));
  }
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  void* mapping = mmap(nullptr, offset - begin + size, PROT_READ | PROT_WRITE, MAP_SHARED, buffer->descriptor_,
                       static_cast<off_t>(begin));
  if (mapping == MAP_FAILED) refuse(Cause());
  buffer->mapping_ = mapping;
  buffer->mapped_bytes_ = offset - begin + size;
  buffer->data_ = static_cast<std::byte*>(mapping) + (offset - begin);
  buffer->size_ = size;
  buffer->descriptor_offset_ = offset;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::OverPointer(void* pointer, uint64_t offset, uint64_t size) {
  if (pointer == nullptr || size == 0 || (reinterpret_cast<uint64_t>(pointer) + offset) % alignof(float) != 0) {
    throw kit::Error(EP_STATUS_INVALID_ARGUMENT,
                     "import: at least 1 byte at an address that is a multiple of 4 expected");
  }
  std::shared_ptr<Buffer> buffer(new Buffer);
  buffer->imported_ = true;
  buffer->data_ = static_cast<std::byte*>(pointer) + offset;
  buffer->size_ = size;
  return buffer;
}

int Buffer::Descriptor(uint64_t* offset) const {
  if (descriptor_ < 0) return -1;
  *offset = descriptor_offset_;
  return fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
}

}  // namespace epiphyte::test::device
