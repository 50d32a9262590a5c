// Dims: the dimensions of a tensor, stored inline up to rank 8. CountElements: their number of elements.
//
//   kit::Dims dims = {2, 3, 224, 224};
//   dims.Count();      // 301056
//   dims.Count(2, 4);  // 50176
//
// Count dimensions from a file or from another library with CountElements, which detects overflow. Count is for
// dimensions that have been checked.
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

// Computes the product of the dimensions; unknown dimensions (-1) count as 1. Returns false if the product without the
// dimensions of 0 exceeds 2^44. So no product of some of the dimensions, also with an element size, overflows.
bool CountElements(std::span<const int64_t> dims, uint64_t* count);

// The dimensions for messages: "[2,3,224,224]".
std::string ShapeText(std::span<const int64_t> dims);

}  // namespace epiphyte::kit
