#include "core/runtime/profiler.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <thread>

namespace epiphyte::core {
namespace {

// A trace of more events than this can't be looked at, and must not eat the memory of a long-running service.
constexpr size_t kMaxEvents = 1 << 20;

}  // namespace

Profiler::Profiler() : origin_(std::chrono::steady_clock::now()) {}

Profiler::Span::Span(Profiler* profiler, std::string_view category, std::string_view name, std::string_view tag)
    : profiler_(profiler), category_(category), name_(name), tag_(tag) {
  if (profiler_ != nullptr) start_ = std::chrono::steady_clock::now();
}

Profiler::Span::~Span() {
  if (profiler_ == nullptr) return;
  auto end = std::chrono::steady_clock::now();
  auto microseconds = [](auto duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  };
  uint64_t thread = std::hash<std::thread::id>()(std::this_thread::get_id()) & 0xFFFFFF;
  std::lock_guard lock(profiler_->mutex_);
  if (profiler_->events_.size() >= kMaxEvents) return;
  profiler_->events_.push_back({std::string(category_), std::string(name_), std::string(tag_),
                                microseconds(start_ - profiler_->origin_), microseconds(end - start_), thread});
}

std::string Profiler::ToJson() const {
  nlohmann::json events = nlohmann::json::array();
  std::lock_guard lock(mutex_);
  for (const Event& event : events_) {
    events.push_back({{"cat", event.category},
                      {"name", event.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", event.thread},
                      {"ts", event.start_us},
                      {"dur", event.duration_us}});
    if (!event.tag.empty()) events.back()["args"] = {{"tag", event.tag}};
  }
  return nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace epiphyte::core
