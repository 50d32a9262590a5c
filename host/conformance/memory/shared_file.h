// SharedFile: memory behind a descriptor, as processes share it, and a view of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace epiphyte::conformance {

// Closed at the end.
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
  // The descriptor's number is `other`'s file from here on; the view stays.
  void PutInPlace(const SharedFile& other);

 private:
  size_t size_;
  int descriptor_;
  std::byte* data_;
};

}  // namespace epiphyte::conformance
