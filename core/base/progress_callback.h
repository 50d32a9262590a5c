// ProgressCallback: long work reports how far it is, and is cancelled by an exception from the callback.
//
//   ReportProgress(on_progress, bytes_done, bytes, "writing model_cpu.bin");   // at most 200 ms after the last report
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace epiphyte::core {

// A `total` of 0 means that it is not known. The callback throws to cancel the work. It may be empty. It is called on
// the thread of the work only.
using ProgressCallback = std::function<void(uint64_t done, uint64_t total, std::string_view text)>;

inline void ReportProgress(const ProgressCallback& on_progress, uint64_t done, uint64_t total, std::string_view text) {
  if (on_progress) on_progress(done, total, text);
}

// Amount of work between two reports.
inline constexpr uint64_t kBytesPerReport = uint64_t{8} << 20;         // bytes written
inline constexpr uint64_t kBytesPerDigestReport = uint64_t{64} << 20;  // bytes read for a digest
inline constexpr uint64_t kNodesPerReport = 2048;

}  // namespace epiphyte::core
