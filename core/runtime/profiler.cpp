#include "core/runtime/profiler.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <thread>

namespace epiphyte::core {
namespace {

// Limit of events: a larger trace can't be viewed, and must not fill the memory of a long-running service.
constexpr size_t kMaxEvents = 1 << 20;
// Thread rows have numbers below kFirstTrack, plugin rows from it on.
constexpr uint64_t kFirstTrack = 1 << 24;
constexpr size_t kMaxTracks = 4096;

int64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

// Converts to microseconds, the trace's unit.
double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

}  // namespace

Profiler::Profiler() : origin_(std::chrono::steady_clock::now()) {}

void Profiler::Span::End() {
  auto end = std::chrono::steady_clock::now();
  uint64_t thread = std::hash<std::thread::id>()(std::this_thread::get_id()) & (kFirstTrack - 1);
  std::lock_guard lock(profiler_->mutex_);
  if (profiler_->events_.size() >= kMaxEvents) return;
  profiler_->events_.push_back({std::string(category_), std::string(name_), std::string(tag_),
                                Nanoseconds(start_ - profiler_->origin_), Nanoseconds(end - start_), thread});
}

int64_t Profiler::origin_ns() const { return Nanoseconds(origin_.time_since_epoch()); }

void Profiler::AddSpan(const std::string& category, const std::string& name, const std::string& track, int64_t start_ns,
                       int64_t end_ns) {
  std::lock_guard lock(mutex_);
  if (events_.size() >= kMaxEvents) return;
  auto row = tracks_.find(track);
  if (row == tracks_.end()) {
    if (tracks_.size() >= kMaxTracks) return;
    row = tracks_.emplace(track, kFirstTrack + tracks_.size()).first;
  }
  events_.push_back({category, name, "", start_ns - origin_ns(), end_ns - start_ns, row->second});
}

std::string Profiler::ToJson() const {
  nlohmann::json events = nlohmann::json::array();
  std::lock_guard lock(mutex_);
  for (const auto& [name, row] : tracks_) {
    events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", row}, {"args", {{"name", name}}}});
  }
  for (const Event& event : events_) {
    events.push_back({{"cat", event.category},
                      {"name", event.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", event.thread},
                      {"ts", Microseconds(event.start_ns)},
                      {"dur", Microseconds(event.duration_ns)}});
    if (!event.tag.empty()) events.back()["args"] = {{"tag", event.tag}};
  }
  return nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace epiphyte::core
