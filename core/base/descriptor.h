// Descriptor: a file descriptor that is closed with its owner.
//
//   const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
//   if (file.get() < 0) …  // errno says why
#pragma once

#include <unistd.h>

namespace epiphyte::core {

class Descriptor {
 public:
  // Takes ownership. A negative value means that there is no descriptor.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace epiphyte::core
