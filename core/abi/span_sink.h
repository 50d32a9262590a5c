// SpanSink: receives spans of time that plugins measured. The session's profiler is one.
#pragma once

#include <cstdint>
#include <string>

namespace epiphyte::core {

class SpanSink {
 public:
  virtual ~SpanSink() = default;
  // Begin of the trace, in nanoseconds of the steady clock.
  virtual int64_t origin_ns() const = 0;
  // Adds a span to the row named `track`. Thread-safe.
  virtual void AddSpan(const std::string& category, const std::string& name, const std::string& track, int64_t start_ns,
                       int64_t end_ns) = 0;
};

}  // namespace epiphyte::core
