// TimeLimit: --time-limit. Ends a command that takes longer, whatever a model's file asks for.
//
//   const TimeLimit limit(flags.time_limit);
//   limit.Watch("loading", [&] { session.emplace(environment, model, options); });   // options hear limit.stop()
//
// Work that checks limit.stop() ends by itself and leaves nothing unfinished. Work that doesn't, such as a plugin that
// never returns, is ended together with the process two seconds later.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace epiphyte::cli {

class TimeLimit {
 public:
  // 0: none. The time begins now.
  explicit TimeLimit(double seconds = 0);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  bool is_over() const { return over_.stop_requested(); }
  // Stopped once the time is over.
  std::stop_token stop() const { return over_.get_token(); }
  // Runs `action`. What it throws becomes CANCELED, naming the limit, once the time is over.
  void Watch(const std::string& doing, const std::function<void()>& action) const;

 private:
  std::string Message(const std::string& doing) const;

  double seconds_;
  std::stop_source over_;
  std::jthread timer_;
};

}  // namespace epiphyte::cli
