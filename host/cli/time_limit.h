// TimeLimit: implements --time-limit. It ends a command that takes longer, whatever the model's file demands.
//
//   const TimeLimit limit(flags.time_limit);
//   limit.Watch("loading", [&] { session.emplace(environment, model, options); });   // options hear limit.stop()
//
// Work that checks limit.stop() ends by itself and leaves nothing incomplete. Other work, such as a plugin that never
// returns, is ended with the process two seconds later.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace epiphyte::cli {

class TimeLimit {
 public:
  // `seconds` 0: no limit. The time begins now.
  explicit TimeLimit(double seconds = 0);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  bool is_over() const { return over_.stop_requested(); }
  // Stop is requested when the time is over.
  std::stop_token stop() const { return over_.get_token(); }
  // Runs `action`. After the time limit, its exceptions become CANCELED with a message that names the limit.
  void Watch(const std::string& doing, const std::function<void()>& action) const;

 private:
  std::string Message(const std::string& doing) const;

  double seconds_;
  std::stop_source over_;
  std::jthread timer_;
};

}  // namespace epiphyte::cli
