// MemoryBudget: the memory that one run may use for its values and its plugins' buffers.
//
//   MemoryBudget budget({.value_bytes = …, .run_bytes = …});
//   budget.Take(bytes);   // throws FAIL when it would be too much
//   budget.Give(bytes);
#pragma once

#include <cstdint>
#include <memory>

namespace epiphyte::core {

class BlockCache;

struct MemoryLimits {
  uint64_t value_bytes = UINT64_MAX;  // session.max_value_bytes
  uint64_t run_bytes = UINT64_MAX;    // session.max_run_bytes
};

class MemoryBudget {
 public:
  MemoryBudget() = default;
  explicit MemoryBudget(const MemoryLimits& limits) : limits_(limits) {}

  // Counts `bytes` of one value or buffer. Throws FAIL with size, limit and option.
  void Take(uint64_t bytes) {
    if (bytes > limits_.value_bytes || bytes > limits_.run_bytes - used_) [[unlikely]]
      FailTake(bytes);
    used_ += bytes;
  }
  // Throws what Take would throw for one value of `bytes`, without counting it.
  void CheckValue(uint64_t bytes) const {
    if (bytes > limits_.value_bytes) [[unlikely]]
      FailTake(bytes);
  }
  // Like Take, for a tensor with `bytes` of data. It also counts the tensor object, because a million empty tensors
  // take memory too. A refused tensor is not counted.
  void TakeTensor(uint64_t bytes) {
    Take(bytes);
    if (kPerTensor > limits_.run_bytes - used_) [[unlikely]]
      FailTensor(bytes);
    used_ += kPerTensor;
  }
  void Give(uint64_t bytes) { used_ -= bytes < used_ ? bytes : used_; }
  uint64_t used() const { return used_; }

  // Sets the cache that supplies memory for large values. It must outlive the budget. Without it the allocator supplies
  // it.
  void UseCache(const std::shared_ptr<BlockCache>& cache) { cache_ = &cache; }
  const std::shared_ptr<BlockCache>* cache() const { return cache_; }

 protected:
  static constexpr uint64_t kPerTensor = 320;

 private:
  [[noreturn]] void FailTake(uint64_t bytes) const;
  [[noreturn]] void FailTensor(uint64_t taken);
  [[noreturn]] void FailRun(uint64_t bytes) const;

  MemoryLimits limits_;
  uint64_t used_ = 0;
  const std::shared_ptr<BlockCache>* cache_ = nullptr;
};

}  // namespace epiphyte::core
