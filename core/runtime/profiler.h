// Profiler: spans of time, written as a Chrome trace (load it in chrome://tracing or Perfetto).
//
//   Profiler profiler;
//   { Profiler::Span span(&profiler, "session", "partition"); … }
//   std::string json = profiler.ToJson();   // events of a run with a tag have it in "args"
//
// Thread-safe. A null profiler makes a Span free. Plugins add spans of their own, in rows of their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/span_sink.h"

namespace epiphyte::core {

class Profiler : public SpanSink {
 public:
  Profiler();

  class Span {
   public:
    // `tag`: the tag of the run that the span belongs to; "" for none. The texts must live as long as the span.
    Span(Profiler* profiler, std::string_view category, std::string_view name, std::string_view tag = {})
        : profiler_(profiler), category_(category), name_(name), tag_(tag) {
      if (profiler_ != nullptr) [[unlikely]]
        start_ = std::chrono::steady_clock::now();
    }
    ~Span() {
      if (profiler_ != nullptr) [[unlikely]]
        End();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    void End();

    Profiler* profiler_;
    std::string_view category_;
    std::string_view name_;
    std::string_view tag_;
    std::chrono::steady_clock::time_point start_;
  };

  int64_t origin_ns() const override;
  void AddSpan(const std::string& category, const std::string& name, const std::string& track, int64_t start_ns,
               int64_t end_ns) override;

  std::string ToJson() const;

 private:
  struct Event {
    std::string category;
    std::string name;
    std::string tag;
    int64_t start_ns;  // time since the trace began
    int64_t duration_ns;
    uint64_t thread;
  };
  std::chrono::steady_clock::time_point origin_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::map<std::string, uint64_t> tracks_;  // rows of plugins, in addition to those of threads
};

}  // namespace epiphyte::core
