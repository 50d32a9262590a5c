#include "core/runtime/step_order.h"

#include <queue>
#include <tuple>

namespace epiphyte::core {

void SubmitEarly(PlanTables* tables) {
  const std::vector<PlanStep>& steps = tables->steps;
  constexpr size_t kNobody = SIZE_MAX;
  std::vector<size_t> producer(tables->slot_count, kNobody);
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const uint32_t slot : tables->OutputsOf(steps[i])) {
      if (slot != kNoSlot) producer[slot] = i;
    }
  }
  std::vector<std::vector<size_t>> consumers(steps.size());
  std::vector<size_t> missing(steps.size(), 0);
  std::vector<int> rank(steps.size(), 0);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].on_device()) rank[i] = 1;
    for (const uint32_t slot : tables->InputsOf(steps[i])) {
      if (slot == kNoSlot || producer[slot] == kNobody) continue;
      consumers[producer[slot]].push_back(i);
      ++missing[i];
      if (rank[i] == 1 && steps[producer[slot]].on_device()) rank[i] = 2;
    }
  }
  using Entry = std::tuple<int, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (missing[i] == 0) ready.emplace(rank[i], i);
  }
  std::vector<PlanStep> ordered;
  ordered.reserve(steps.size());
  while (!ready.empty()) {
    const size_t next = std::get<1>(ready.top());
    ready.pop();
    ordered.push_back(std::move(tables->steps[next]));
    for (const size_t consumer : consumers[next]) {
      if (--missing[consumer] == 0) ready.emplace(rank[consumer], consumer);
    }
  }
  tables->steps = std::move(ordered);
}

}  // namespace epiphyte::core
