#include "plugins/npu/simulator/device/race.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/npu/simulator/isa/footprint.h"

namespace epiphyte::npusim {
namespace {

// Numbers of commands in their queues, from 1; 0: none.
using Clock = std::array<uint32_t, kQueueCount>;

// Last accesses to a byte. All writers of a byte are ordered, otherwise there is a race, so the last one stands for
// them.
struct Touch {
  uint32_t write = 0;
  uint8_t write_queue = 0;
  Clock reads{};
};

class Search {
 public:
  explicit Search(std::span<const Command> program) : program_(program) {}

  std::optional<Race> Run() {
    for (size_t i = 0; i < program_.size() && !race_; ++i) {
      const Command& command = program_[i];
      Clock before{};
      const auto add = [&](const Clock& other) {
        for (int q = 0; q < kQueueCount; ++q) before[q] = std::max(before[q], other[q]);
      };
      auto& own = clocks_[command.queue];
      if (!own.empty()) add(own.back());
      before[command.queue] = static_cast<uint32_t>(own.size());
      for (int q = 0; q < kQueueCount; ++q) {
        if (command.wait[q] == 0) continue;
        add(clocks_[q][command.wait[q] - 1]);
        before[q] = std::max(before[q], command.wait[q]);
      }
      own.push_back(before);
      indices_[command.queue].push_back(i);
      // Reads are checked before writes, so that an in-place command doesn't race with itself.
      for (const bool write : {false, true}) {
        ForEachAccess(command.work, [&](const Access& access) {
          if (access.write == write && !race_) Check(i, access, before);
        });
      }
    }
    return std::move(race_);
  }

 private:
  void Check(size_t index, const Access& access, const Clock& before) {
    auto& bytes = memories_[{access.space, access.region}];
    const auto end = static_cast<size_t>(access.End());
    if (bytes.size() < end) bytes.resize(end);
    std::array<uint64_t, 5> at{};
    for (;;) {
      int64_t offset = static_cast<int64_t>(access.offset);
      for (size_t i = 0; i < at.size(); ++i) offset += static_cast<int64_t>(at[i]) * access.stride[i];
      for (uint64_t k = 0; k < access.run; ++k) {
        if (!Touched(index, access, before, bytes[offset + k], offset + static_cast<int64_t>(k))) return;
      }
      int i = 4;
      while (i >= 0 && ++at[i] == access.count[i]) at[i--] = 0;
      if (i < 0) return;
    }
  }

  bool Touched(size_t index, const Access& access, const Clock& before, Touch& touch, int64_t at) {
    const Queue queue = program_[index].queue;
    const auto self = static_cast<uint32_t>(clocks_[queue].size());
    const auto ordered = [&](int q, uint32_t number) { return number <= before[q] || (q == queue && number == self); };
    if (!ordered(touch.write_queue, touch.write)) return Found(index, touch.write_queue, touch.write, access, at);
    if (!access.write) {
      touch.reads[queue] = self;
      return true;
    }
    for (int q = 0; q < kQueueCount; ++q) {
      if (!ordered(q, touch.reads[q])) return Found(index, q, touch.reads[q], access, at);
    }
    touch.write = self;
    touch.write_queue = queue;
    return true;
  }

  bool Found(size_t index, int queue, uint32_t number, const Access& access, int64_t at) {
    const size_t other = indices_[queue][number - 1];
    static constexpr const char* kSpaces[] = {"the scratchpad", "the accumulators", "external memory"};
    race_ =
        Race{other, index,
             "commands " + std::to_string(other) + " (" + CommandName(program_[other].work) + ") and " +
                 std::to_string(index) + " (" + CommandName(program_[index].work) + ") are not ordered, but share " +
                 kSpaces[static_cast<size_t>(access.space)] + " at " + std::to_string(at)};
    return false;
  }

  std::span<const Command> program_;
  std::array<std::vector<Clock>, kQueueCount> clocks_;  // commands that precede each command of a queue
  std::array<std::vector<size_t>, kQueueCount> indices_;
  std::map<std::pair<Space, uint32_t>, std::vector<Touch>> memories_;
  std::optional<Race> race_;
};

}  // namespace

std::optional<Race> FindRace(std::span<const Command> program) { return Search(program).Run(); }

}  // namespace epiphyte::npusim
