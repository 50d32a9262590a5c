#include "plugins/npu/simulator/compiler/tokens.h"

#include <algorithm>
#include <map>

#include "plugins/npu/simulator/isa/footprint.h"

namespace epiphyte::npusim {
namespace {

using Numbers = std::array<uint32_t, kQueueCount>;  // number of the last command of each queue; 0: none

void Raise(Numbers& to, const Numbers& from) {
  for (int q = 0; q < kQueueCount; ++q) to[q] = std::max(to[q], from[q]);
}

// Last writer and readers of each range of a memory.
class History {
 public:
  void Visit(int64_t begin, int64_t end, bool write, Queue queue, uint32_t number, Numbers& wait) {
    if (begin >= end) return;
    Cut(end);
    auto it = Cut(begin);
    for (; it != stretches_.end() && it->first < end; ++it) {
      Stretch& stretch = it->second;
      Raise(wait, stretch.written);
      if (write) {
        Raise(wait, stretch.read);
        stretch.written = {};
        stretch.read = {};
        stretch.written[queue] = number;
      } else {
        stretch.read[queue] = number;
      }
    }
    if (write) Join(begin, end);
  }

  // Frees the ranges in portions and calls `tick` before each, because freeing millions of ranges takes long.
  void Clear(const std::function<void()>& tick) {
    while (!stretches_.empty()) {
      tick();
      auto end = stretches_.begin();
      for (int i = 0; i < 65'536 && end != stretches_.end(); ++i) ++end;
      stretches_.erase(stretches_.begin(), end);
    }
  }

 private:
  struct Stretch {
    Numbers written{}, read{};
  };
  // A range begins at its key and ends at the next key.
  std::map<int64_t, Stretch> stretches_{{0, {}}};

  std::map<int64_t, Stretch>::iterator Cut(int64_t at) {
    auto next = stretches_.lower_bound(at);
    if (next != stretches_.end() && next->first == at) return next;
    const Stretch copy = std::prev(next)->second;
    return stretches_.emplace_hint(next, at, copy);
  }
  // Merges [begin, end): after a write the whole range has the same history.
  void Join(int64_t begin, int64_t end) {
    auto it = stretches_.find(begin);
    stretches_.erase(std::next(it), stretches_.lower_bound(end));
  }
};

// Visits the interval of an access, or several intervals if it has large gaps that other commands use.
template <typename Visit>
void ForEachStretch(const Access& access, const Visit& visit) {
  int64_t run = static_cast<int64_t>(access.run);
  int i = 4;
  for (; i >= 0; --i) {
    if (access.count[i] == 1) continue;
    const int64_t stride = access.stride[i], count = static_cast<int64_t>(access.count[i]);
    if (stride < 0 || stride > 2 * run) break;
    run = stride * (count - 1) + run;
  }
  int64_t pieces = 1;
  for (int j = i; j >= 0; --j) pieces *= static_cast<int64_t>(access.count[j]);
  if (pieces > 64) {
    visit(static_cast<int64_t>(access.Begin()), static_cast<int64_t>(access.End()));
    return;
  }
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t begin = static_cast<int64_t>(access.offset);
    int64_t rest = piece;
    for (int j = i; j >= 0; --j) {
      const int64_t count = static_cast<int64_t>(access.count[j]);
      begin += rest % count * access.stride[j];
      rest /= count;
    }
    visit(begin, begin + run);
  }
}

}  // namespace

void AssignTokens(std::span<Command> program, const std::function<void()>& tick) {
  std::map<uint64_t, History> memories;  // by space and region
  Numbers given{};
  // Commands that each queue is known to follow, by earlier waits. A token needs to be waited for only once.
  std::array<Numbers, kQueueCount> known{};
  std::array<std::vector<Numbers>, kQueueCount> known_after;  // known commands after each finished command of a queue
  for (Command& command : program) {
    if (tick && (&command - program.data()) % 128 == 0) tick();
    const Queue queue = command.queue;
    const uint32_t number = ++given[queue];
    Numbers wait{};
    ForEachAccess(command.work, [&](const Access& access) {
      // No command writes weights and inputs.
      if (access.space == Space::kExternal && !access.write && access.region != kScratch) return;
      const uint64_t memory = static_cast<uint64_t>(access.space) << 32 | access.region;
      ForEachStretch(access, [&](int64_t begin, int64_t end) {
        memories[memory].Visit(begin, end, access.write, queue, number, wait);
      });
    });
    for (int q = 0; q < kQueueCount; ++q) {
      command.wait[q] = q == queue || wait[q] <= known[queue][q] ? 0 : wait[q];
      if (command.wait[q] != 0) Raise(known[queue], known_after[q][command.wait[q] - 1]);
    }
    known[queue][queue] = number;
    for (int q = 0; q < kQueueCount; ++q) {
      if (command.wait[q] != 0) known[queue][q] = std::max(known[queue][q], command.wait[q]);
    }
    known_after[queue].push_back(known[queue]);
  }
  if (!tick) return;
  for (auto& [memory, history] : memories) history.Clear(tick);
}

}  // namespace epiphyte::npusim
