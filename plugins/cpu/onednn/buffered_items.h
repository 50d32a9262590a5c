// BufferedItems: runs work items that each need temporary memory. Each thread takes a share of the items and has its
// own buffer.
//
//   const BufferedItems items(context, count, work / kShareWork, buffer_bytes);
//   items.Run([&](int64_t item, char* buffer) { … });
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

class BufferedItems {
 public:
  // Takes the buffers from scratch memory, aligned to 64 bytes. `shares`: number of threads that the total work is
  // worth.
  BufferedItems(OpContext& context, int64_t count, int64_t shares, uint64_t buffer_bytes)
      : context_(context), count_(count), buffer_bytes_(buffer_bytes) {
    const int64_t threads = std::max<int64_t>(context.thread_count(), 1);
    shares_ = std::clamp<int64_t>(std::min(count, shares), 1, threads == 1 ? 1 : threads * 4);
    buffers_ = static_cast<char*>(context.Scratch(static_cast<uint64_t>(shares_) * buffer_bytes));
  }

  template <typename Body>
  void Run(const Body& run) const {
    context_.ParallelFor(shares_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t share = begin; share < end; ++share) {
        char* const buffer = buffers_ + static_cast<uint64_t>(share) * buffer_bytes_;
        for (int64_t item = share * count_ / shares_; item < (share + 1) * count_ / shares_; ++item) run(item, buffer);
      }
    });
  }

 private:
  OpContext& context_;
  int64_t count_, shares_ = 1;
  uint64_t buffer_bytes_;
  char* buffers_ = nullptr;
};

}  // namespace epiphyte::cpu
