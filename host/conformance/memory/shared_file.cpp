#include "host/conformance/memory/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace epiphyte::conformance {
namespace {

void Require(bool works, const char* what) {
  if (!works) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

OwnedDescriptor::~OwnedDescriptor() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool OwnedDescriptor::IsOpen() const { return descriptor_ >= 0 && fcntl(descriptor_, F_GETFD) != -1; }

SharedFile::SharedFile(size_t size) : size_(size), descriptor_(memfd_create("conformance", MFD_CLOEXEC)) {
  Require(descriptor_ >= 0, "memfd_create");
  Require(ftruncate(descriptor_, static_cast<off_t>(size)) == 0, "ftruncate");
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  Require(data != MAP_FAILED, "mmap");
  data_ = static_cast<std::byte*>(data);
}

SharedFile::~SharedFile() {
  munmap(data_, size_);
  close(descriptor_);
}

void SharedFile::PutInPlace(const SharedFile& other) { Require(dup2(other.descriptor_, descriptor_) >= 0, "dup2"); }

}  // namespace epiphyte::conformance
