#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "plugins/npu/simulator/sdk/memory.h"
#include "plugins/npu/simulator/sdk/status.h"

NsdkMemory::~NsdkMemory() {
  std::free(allocated);
  if (mapped != nullptr) munmap(mapped, mapped_size);
}

namespace epiphyte::npusim {
namespace {

void Allocate(NsdkMemory& memory) {
  constexpr uint64_t kAlignment = 64;
  Require(memory.size <= std::numeric_limits<size_t>::max() - kAlignment, "there is not enough memory",
          NSDK_OUT_OF_MEMORY);
  memory.allocated = std::aligned_alloc(kAlignment, (memory.size + kAlignment - 1) / kAlignment * kAlignment);
  Require(memory.allocated != nullptr, "there is not enough memory for " + std::to_string(memory.size) + " bytes",
          NSDK_OUT_OF_MEMORY);
  memory.address = static_cast<std::byte*>(memory.allocated);
}

void ImportDescriptor(NsdkMemory& memory, int fd, uint64_t offset) {
  struct stat status {};
  Require(fstat(fd, &status) == 0, "file descriptor " + std::to_string(fd) + ": " + std::strerror(errno));
  const auto most = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
  Require(offset <= most && memory.size <= most - offset, "offset and size of the import overflow");
  // Pages beyond a file's end can be mapped, but not accessed.
  Require(!S_ISREG(status.st_mode) || offset + memory.size <= static_cast<uint64_t>(status.st_size),
          "the file has " + std::to_string(status.st_size) + " bytes, expected at least offset " +
              std::to_string(offset) + " + size " + std::to_string(memory.size));
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  memory.mapped_size = offset - begin + memory.size;
  const int access = fcntl(fd, F_GETFL);
  memory.writable = access >= 0 && (access & O_ACCMODE) == O_RDWR;
  void* mapped = mmap(nullptr, memory.mapped_size, memory.writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
                      static_cast<off_t>(begin));
  Require(mapped != MAP_FAILED, "file descriptor " + std::to_string(fd) + " can't be mapped: " + std::strerror(errno));
  memory.mapped = mapped;
  memory.address = static_cast<std::byte*>(mapped) + (offset - begin);
}

}  // namespace

std::unique_ptr<NsdkMemory> CreateMemory(const NsdkMemoryOptions& options) {
  Require(options.size > 0, "the memory's size is 0, expected at least 1");
  auto memory = std::make_unique<NsdkMemory>();
  memory->size = options.size;
  switch (options.kind) {
    case NSDK_ALLOCATE: Allocate(*memory); break;
    case NSDK_IMPORT_HOST:
      Require(options.address != nullptr, "address is null, expected the memory to import");
      Require(options.size <= std::numeric_limits<uintptr_t>::max() - reinterpret_cast<uintptr_t>(options.address),
              "the memory to import goes beyond the end of the address space");
      memory->address = static_cast<std::byte*>(options.address);
      break;
    case NSDK_IMPORT_FD: ImportDescriptor(*memory, options.fd, options.offset); break;
    default:
      throw SdkError(NSDK_INVALID_ARGUMENT, "kind of memory is " + std::to_string(options.kind) +
                                                ", expected 1 (allocate), 2 (import host) or 3 (import fd)");
  }
  return memory;
}

}  // namespace epiphyte::npusim
