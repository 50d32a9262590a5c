// SharedFile: memory behind a descriptor, such as processes share, and a mapping of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace epiphyte::conformance {

// A descriptor that the destructor closes.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int64_t descriptor) : descriptor_(static_cast<int>(descriptor)) {}
  ~OwnedDescriptor();
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  bool IsOpen() const;

 private:
  int descriptor_;
};

class SharedFile {
 public:
  explicit SharedFile(size_t size);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::byte* data() const { return data_; }
  // Makes the descriptor's number refer to `other`'s file. The mapping stays.
  void PutInPlace(const SharedFile& other);

 private:
  size_t size_;
  int descriptor_;
  std::byte* data_;
};

}  // namespace epiphyte::conformance
