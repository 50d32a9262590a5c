// Dims: the dimensions of a tensor, with room for eight of them inside the object. And how many elements they make.
//
//   kit::Dims dims = {2, 3, 224, 224};
//   dims.Count();      // 301056
//   dims.Count(2, 4);  // 50176
//
// Dimensions that come from a file or from another library are counted with CountElements, which notices overflow;
// Count is for those that have been checked.
#pragma once

#include "epiphyte/kit/abi/cxx20.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace epiphyte::kit {

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> dims) { assign(dims.begin(), dims.size()); }
  explicit Dims(std::span<const int64_t> dims) { assign(dims.data(), dims.size()); }
  Dims(size_t rank, int64_t value) {
    resize(rank);
    for (size_t i = 0; i < rank; ++i) data()[i] = value;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return size_ <= kInline ? inline_.data() : heap_.data(); }
  const int64_t* data() const { return size_ <= kInline ? inline_.data() : heap_.data(); }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& back() { return data()[size_ - 1]; }
  int64_t back() const { return data()[size_ - 1]; }
  void assign(const int64_t* dims, size_t rank) {
    resize(rank);
    if (rank != 0) std::memcpy(data(), dims, rank * sizeof(int64_t));
  }
  void push_back(int64_t dim) {
    resize(size_ + 1);
    back() = dim;
  }
  void resize(size_t rank) {
    if (rank > kInline) {
      std::vector<int64_t> grown(begin(), end());
      grown.resize(rank);
      heap_ = std::move(grown);
    } else if (size_ > kInline) {
      std::memcpy(inline_.data(), heap_.data(), rank * sizeof(int64_t));
    }
    size_ = rank;
  }

  int64_t Count() const {  // product; 1 for a scalar
    int64_t count = 1;
    for (int64_t dim : *this) count *= dim;
    return count;
  }
  int64_t Count(size_t first, size_t last) const {  // product of [first, last)
    int64_t count = 1;
    for (size_t i = first; i < last; ++i) count *= data()[i];
    return count;
  }
  friend bool operator==(const Dims& a, const Dims& b) {
    return a.size_ == b.size_ && std::memcmp(a.data(), b.data(), a.size_ * sizeof(int64_t)) == 0;
  }

 private:
  static constexpr size_t kInline = 8;
  size_t size_ = 0;
  std::array<int64_t, kInline> inline_{};
  std::vector<int64_t> heap_;
};

// The product of the dimensions; those that aren't known (-1) count as 1. False when it is more than 2^44 without the
// dimensions of 0: no product of some of the dimensions, or with the size of an element, overflows.
bool CountElements(std::span<const int64_t> dims, uint64_t* count);

// "[2,3,224,224]", for messages.
std::string ShapeText(std::span<const int64_t> dims);

}  // namespace epiphyte::kit
