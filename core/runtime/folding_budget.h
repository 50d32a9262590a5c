// FoldingBudget: limits the memory and time of constant folding while a session is made. A file of a few bytes can
// demand any amount of either before any run was requested, so the limits are far below those of runs. Nodes that are
// not folded are computed in runs.
//
//   FoldingBudget budget(limits, progress);
//   const uint64_t most = budget.MostResultBytes(input_bytes);   // 0 once all is spent
//   const FoldingBudget::Computation computation(budget);
//   RunState run({most, most * 2}, computation.stop());
//
// Belongs to the thread that makes the session. Its watcher is a separate thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "core/graph/memory_budget.h"

namespace epiphyte::core {

struct FoldingLimits {
  // Limit of a result that is not much larger than its inputs, such as a weight in another order or type. `growth` is
  // the largest ratio of result to inputs.
  uint64_t result_bytes = uint64_t{256} << 20;
  uint64_t growth = 8;
  // Limit of a result of any ratio to its inputs.
  uint64_t grown_bytes = uint64_t{32} << 20;
  // Limit of all results of one session together. Sessions add the bytes of the model's own constants.
  uint64_t total_bytes = uint64_t{512} << 20;
  // Limit of all computations of one session together.
  std::chrono::milliseconds time{20'000};
};

class FoldingBudget {
 public:
  // Reports that the work goes on; returns true when the application has cancelled. May be empty. [any thread]
  using Report = std::function<bool()>;

  explicit FoldingBudget(const FoldingLimits& limits, Report report = {});
  ~FoldingBudget();
  FoldingBudget(const FoldingBudget&) = delete;
  FoldingBudget& operator=(const FoldingBudget&) = delete;

  // Largest result in bytes of a node that reads `input_bytes` of constants; 0 once the budget is spent.
  uint64_t MostResultBytes(uint64_t input_bytes) const;
  // Counts a folded result.
  void CountResult(uint64_t bytes);
  bool is_spent() const { return is_spent_; }

  // Counts the time of one computation, from constructor to destructor. The computation is stopped when the time is
  // spent or the application cancels.
  class Computation {
   public:
    explicit Computation(FoldingBudget& budget);
    ~Computation();
    Computation(const Computation&) = delete;
    Computation& operator=(const Computation&) = delete;
    std::stop_token stop() const { return source_.get_token(); }

   private:
    FoldingBudget& budget_;
    std::stop_source source_;
    std::chrono::steady_clock::time_point begin_;
  };

 private:
  void Watch();
  void Spend(const std::string& what);

  const FoldingLimits limits_;
  const Report report_;
  uint64_t used_bytes_ = 0;
  std::chrono::steady_clock::duration used_time_{};
  bool is_spent_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::stop_source* computing_ = nullptr;  // stop source of the running computation; null: none
  std::chrono::steady_clock::time_point deadline_;
  bool ends_ = false;
  std::thread watcher_;  // started with the first computation
};

}  // namespace epiphyte::core
