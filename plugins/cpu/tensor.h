// Tensor and Datum: what flows between the kernels of one plan.
//
// A Tensor does not own its memory: that belongs to the frame's arena, to the plan's constants, or to the run. It may be
// in a layout of oneDNN's (blocked channels, say) while it travels between kernels that understand this; everyone
// else sees row-major data, because OpContext::Input reorders on demand.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "epiphyte/ep_type.h"

namespace epiphyte::cpu {

// The numbers of EP_TYPE_*; a plain enum so that tables can be written as kFloat.
using ElementType = EpElementType;

// Bytes of `count` elements; packed types round up. Strings: 0, they live in Tensor::strings.
uint64_t ElementBytes(ElementType type, uint64_t count);
std::string TypeName(ElementType type);

// Dimensions: up to eight inline, more on the heap.
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
  operator std::span<const int64_t>() const { return {data(), size_}; }

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

// A layout that isn't row-major; defined by onednn/layout.h.
struct Layout;

struct Tensor {
  ElementType type = EP_TYPE_UNDEFINED;
  Dims dims;
  void* data = nullptr;
  std::shared_ptr<const Layout> layout;               // null: row-major
  std::shared_ptr<std::vector<std::string>> strings;  // type STRING: the elements; data is null then

  int64_t Count() const { return dims.Count(); }
  uint64_t Bytes() const { return ElementBytes(type, static_cast<uint64_t>(Count())); }
  size_t rank() const { return dims.size(); }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  template <typename T>
  T* as() {
    return static_cast<T*>(data);
  }
};

// Any ONNX value.
struct Datum {
  enum class Kind : uint8_t { kAbsent, kTensor, kSequence, kMap, kEmptyOptional };

  Kind kind = Kind::kAbsent;
  Tensor tensor;
  ElementType sequence_type = EP_TYPE_UNDEFINED;      // of the tensors in a sequence
  std::shared_ptr<std::vector<Datum>> elements;       // sequence; map: {keys, values}
  std::shared_ptr<void> owner;                        // keeps tensor.data alive where the frame doesn't
};

}  // namespace epiphyte::cpu
