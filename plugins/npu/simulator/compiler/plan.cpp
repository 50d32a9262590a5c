#include "plugins/npu/simulator/compiler/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "plugins/npu/simulator/blob/digest.h"
#include "plugins/npu/simulator/compiler/memory_plan.h"
#include "plugins/npu/simulator/compiler/tokens.h"
#include "plugins/npu/simulator/device/cycles.h"
#include "plugins/npu/simulator/isa/encoding.h"
#include "plugins/npu/simulator/isa/timing.h"

namespace epiphyte::npusim {
namespace {

// Maximum number of commands of a layer. A layer that needs more is refused rather than compiled for hours.
constexpr size_t kMostCommands = 4'000'000;
constexpr uint64_t kPortWeight = 128;
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

[[noreturn]] void NothingFits(const Config& config) {
  throw Unsupported("an operator doesn't fit in the scratchpad of " + std::to_string(config.scratchpad_bytes / 1024) +
                    " KiB and the accumulators of " + std::to_string(config.accumulator_bytes / 1024) +
                    " KiB, however it is cut");
}

// Gives each storage separate memory, which suffices to compare tilings.
std::vector<Placement> PlaceApart(const Lowered& lowered) {
  std::vector<Placement> placements;
  uint64_t scratch = 0;
  for (const Storage& storage : lowered.storages) {
    Placement& placement = placements.emplace_back();
    switch (storage.kind) {
      case Storage::kInput: placement.region = kInputs + storage.index; break;
      case Storage::kOutput: placement.region = kOutputs + storage.index; break;
      case Storage::kConstant:
        placement.region = kWeights;
        placement.offset = storage.constant_at;
        break;
      case Storage::kInternal:
        placement.offset = scratch;
        scratch += (storage.size + 63) / 64 * 64;
        break;
    }
  }
  return placements;
}

struct Busy {
  uint64_t least = 0;  // bound: no program is faster than its busiest queue, or than the port with all transfers
  uint64_t port = 0;
};

using Now = std::function<void()>;  // called from time to time

constexpr size_t kTickEach = 4096;  // commands

Busy BusyOf(const std::vector<Command>& program, const Config& config, const Now& tick) {
  std::array<uint64_t, kQueueCount> busy{};
  uint64_t port = 0;
  for (size_t i = 0; i < program.size(); ++i) {
    if (i % kTickEach == 0) tick();
    const Command& command = program[i];
    const Transfer* transfer = std::get_if<LoadCommand>(&command.work);
    if (transfer == nullptr) transfer = std::get_if<StoreCommand>(&command.work);
    const uint64_t cycles =
        transfer != nullptr ? CostOf(*transfer, config).port_cycles : ExecuteCycles(command.work, config);
    busy[command.queue] += cycles;
    if (transfer != nullptr) port += cycles;
  }
  return {std::max(port, *std::max_element(busy.begin(), busy.end())), port};
}

// A hash of the commands without addresses and quantisation parameters. Layers with equal hashes cost the same.
uint64_t SignatureOf(const std::vector<Command>& program, const Now& tick) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < program.size(); ++i) {
    if (i % kTickEach == 0) tick();
    Command command = program[i];
    command.op = 0;
    if (auto* load = std::get_if<LoadCommand>(&command.work)) load->external_offset %= 128;
    if (auto* store = std::get_if<StoreCommand>(&command.work)) store->external_offset %= 128;
    if (auto* conv = std::get_if<ConvCommand>(&command.work)) conv->x_zero_point = conv->w_zero_point = 0;
    if (auto* post = std::get_if<PostCommand>(&command.work)) post->y_zero_point = post->low = post->high = 0;
    if (auto* c = std::get_if<ElementwiseCommand>(&command.work)) {
      c->a_zero_point = c->b_zero_point = c->y_zero_point = c->low = c->high = 0;
      c->a_multiplier = c->b_multiplier = c->shift = 0;
    }
    if (auto* fill = std::get_if<FillCommand>(&command.work)) fill->value = 0;
    Encode(command, bytes);
  }
  return Digest(bytes);
}

class Search {
 public:
  Search(const Lowered& lowered, const Config& config, Effort effort, const std::function<void(double)>& tick)
      : lowered_(lowered), config_(config), effort_(effort), tick_(tick), placements_(PlaceApart(lowered)) {
    const size_t count = lowered.storages.size();
    first_.assign(count, UINT32_MAX);
    last_.assign(count, 0);
    may_stay_.assign(count, true);
    for (uint32_t i = 0; i < lowered.layers.size(); ++i) {
      const Layer& layer = *lowered.layers[i];
      for (const auto* list : {&layer.reads, &layer.writes}) {
        for (const StorageId s : *list) {
          first_[s] = std::min(first_[s], i);
          last_[s] = std::max(last_[s], i);
          if (!layer.TakesResident(s)) may_stay_[s] = false;
        }
      }
    }
    for (size_t s = 0; s < count; ++s) {
      if (lowered.storages[s].kind != Storage::kInternal || first_[s] == UINT32_MAX) may_stay_[s] = false;
    }
    arenas_.assign(lowered.layers.size(), {0, config.scratchpad_bytes});
  }

  Plan Run(bool residency) {
    const size_t layers = lowered_.layers.size();
    for (size_t i = 0; i < layers; ++i) {
      Tick(i, layers, 0, residency ? 0.6 : 1);
      if (Best(i).cost == kNever) NothingFits(config_);
    }
    if (residency) KeepTensors();
    Plan plan;
    for (size_t i = 0; i < layers; ++i) plan.layers.push_back({Best(i).tiling, arenas_[i], i % 2 == 1});
    plan.placements = placements_;
    PlaceScratch(plan);
    return plan;
  }

 private:
  struct Choice {
    Tiling tiling{};
    uint64_t cost = kNever;  // cycles, plus a little for transferred bytes
  };

  void Tick(size_t done, size_t of, double from, double to) {
    done_ =
        std::max(done_, from + (to - from) * static_cast<double>(done) / static_cast<double>(std::max<size_t>(1, of)));
    tick_(done_);
  }

  // The best tiling of a layer for the current arena and residents.
  const Choice& Best(size_t index) {
    const Layer& layer = *lowered_.layers[index];
    std::vector<uint64_t> key = {index, arenas_[index].size};
    for (const auto* list : {&layer.reads, &layer.writes}) {
      for (const StorageId s : *list) key.push_back(placements_[s].resident);
    }
    const auto it = best_.find(key);
    if (it != best_.end()) return it->second;
    return best_.emplace(key, Find(layer, index, key)).first->second;
  }

  Choice Find(const Layer& layer, size_t index, const std::vector<uint64_t>& key) {
    const Choices choices = effort_ == Effort::kFast       ? Choices::kFirst
                            : effort_ == Effort::kBalanced ? Choices::kSome
                                                           : Choices::kAll;
    // The most promising tilings come first; ties keep the layer's order.
    std::vector<std::pair<uint64_t, Tiling>> tilings;
    for (const Tiling& tiling : layer.Tilings(config_, choices)) {
      tilings.push_back({effort_ == Effort::kFast ? 0 : layer.LeastCycles(tiling, config_), tiling});
    }
    std::stable_sort(tilings.begin(), tilings.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Choice best;
    std::optional<std::vector<uint64_t>> same;
    for (const size_t most : {size_t{effort_ == Effort::kExhaustive ? 12'000u : 4'000u}, kMostCommands}) {
      for (const auto& [least, tiling] : tilings) {
        if (least >= best.cost) break;
        tick_(done_);
        try {
          Emitter emit(config_, placements_, arenas_[index]);
          emit.most_commands = effort_ == Effort::kFast ? kMostCommands : most;
          emit.tick = [this] { tick_(done_); };
          layer.Emit(tiling, emit);
          const Busy busy = BusyOf(emit.program, config_, emit.tick);
          if (effort_ == Effort::kFast) return {tiling, busy.least};
          if (!same) {
            // Layers with the same first program and the same first and last tilings are alike, so the result for one
            // is right for all.
            same = std::vector<uint64_t>(key.begin() + 1, key.end());
            same->push_back(SignatureOf(emit.program, emit.tick));
            for (const auto& listed : {tilings.front(), tilings.back()}) {
              same->insert(same->end(), listed.second.begin(), listed.second.end());
            }
            same->push_back(tilings.size());
            if (const auto it = alike_.find(*same); it != alike_.end()) return it->second;
          }
          // Among tilings of about the same duration, prefers the one that leaves the port to its neighbours.
          const uint64_t burden = busy.port / kPortWeight;
          if (busy.least + burden >= best.cost) continue;
          AssignTokens(emit.program, emit.tick);
          const uint64_t cost = TotalCycles(emit.program, config_, emit.tick) + burden;
          if (cost < best.cost) best = {tiling, cost};
        } catch (const DoesNotFit&) {
        }
      }
      if (best.cost != kNever) break;
    }
    if (same) alike_.emplace(*same, best);
    return best;
  }

  // Tries to keep each tensor that may stay, in the order in which they are made. Compares the cost of the layers of
  // its lifetime, with less room for their tiles, to their current cost.
  void KeepTensors() {
    std::vector<StorageId> order;
    for (StorageId s = 0; s < lowered_.storages.size(); ++s) {
      if (may_stay_[s] && lowered_.storages[s].size <= config_.scratchpad_bytes / 4 * 3) order.push_back(s);
    }
    std::stable_sort(order.begin(), order.end(), [&](StorageId a, StorageId b) { return first_[a] < first_[b]; });
    const int passes = effort_ == Effort::kExhaustive ? 2 : 1;
    for (int pass = 0; pass < passes; ++pass) {
      for (size_t i = 0; i < order.size(); ++i) {
        Tick(static_cast<size_t>(pass) * order.size() + i, static_cast<size_t>(passes) * order.size(), 0.6, 1);
        if (!placements_[order[i]].resident) TryToKeep(order[i]);
      }
    }
  }

  void TryToKeep(StorageId s) {
    const uint64_t bytes = (lowered_.storages[s].size + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
    const uint64_t before = CostOfLife(s);
    // The highest offset that is free during the whole lifetime.
    uint64_t end = config_.scratchpad_bytes;
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& [other, range] : residents_) {
        if (last_[other] < first_[s] || last_[s] < first_[other]) continue;
        if (range.first < end && end < bytes + range.second) {
          end = range.first;
          moved = true;
        }
      }
    }
    if (end < bytes) return;
    const uint64_t at = end - bytes;
    const std::vector<Arena> arenas(arenas_.begin() + first_[s], arenas_.begin() + last_[s] + 1);
    const Placement placement = placements_[s];
    placements_[s] = {true, 0, at};
    for (uint32_t i = first_[s]; i <= last_[s]; ++i) {
      arenas_[i].size = std::min(arenas_[i].size, static_cast<uint32_t>(at));
    }
    if (CostOfLife(s) < before) {
      residents_[s] = {at, end};
      return;
    }
    placements_[s] = placement;
    std::copy(arenas.begin(), arenas.end(), arenas_.begin() + first_[s]);
  }

  uint64_t CostOfLife(StorageId s) {
    uint64_t cost = 0;
    for (uint32_t i = first_[s]; i <= last_[s]; ++i) {
      if (i % 64 == 0) tick_(done_);
      const uint64_t layer = Best(i).cost;
      if (layer == kNever) return kNever;
      cost += layer;
    }
    return cost;
  }

  void PlaceScratch(Plan& plan) const {
    std::vector<Block> blocks;
    std::vector<StorageId> who;
    for (StorageId s = 0; s < lowered_.storages.size(); ++s) {
      if (lowered_.storages[s].kind != Storage::kInternal || placements_[s].resident) continue;
      if (first_[s] == UINT32_MAX) continue;
      blocks.push_back({lowered_.storages[s].size, first_[s], last_[s]});
      who.push_back(s);
    }
    const std::vector<uint64_t> offsets = PlaceBlocks(blocks, &plan.scratch_size);
    for (size_t i = 0; i < who.size(); ++i) plan.placements[who[i]].offset = offsets[i];
  }

  const Lowered& lowered_;
  const Config& config_;
  const Effort effort_;
  const std::function<void(double)>& tick_;
  std::vector<Placement> placements_;
  std::vector<uint32_t> first_, last_;  // first and last layer that touch a storage
  std::vector<bool> may_stay_;
  std::vector<Arena> arenas_;                                     // by layer
  std::map<StorageId, std::pair<uint64_t, uint64_t>> residents_;  // begin and end in the scratchpad
  std::map<std::vector<uint64_t>, Choice> best_, alike_;
  double done_ = 0;
};

}  // namespace

Plan MakePlan(const Lowered& lowered, const Config& config, Effort effort, bool residency,
              const std::function<void(double)>& tick) {
  const auto search = [&](Effort by, double from, double to) {
    const std::function<void(double)> part = [&](double done) { tick(from + (to - from) * done); };
    return Search(lowered, config, by, part).Run(residency && by != Effort::kFast);
  };
  if (effort != Effort::kExhaustive) return search(effort, 0, 1);
  // Layers are compared one by one, but they overlap. So the best choice for each need not be the best for all.
  Plan plans[] = {search(Effort::kExhaustive, 0, 0.7), search(Effort::kBalanced, 0.7, 0.8)};
  uint64_t cycles[2];
  for (int i = 0; i < 2; ++i) {
    const Now part = [&] { tick(0.8 + 0.1 * i); };
    cycles[i] = TotalCycles(EmitPlan(lowered, plans[i], config, nullptr, part), config, part);
  }
  return std::move(plans[cycles[1] < cycles[0] ? 1 : 0]);
}

std::vector<Command> EmitPlan(const Lowered& lowered, const Plan& plan, const Config& config, WeightStore* weights,
                              const std::function<void()>& tick) {
  std::vector<Command> program;
  for (size_t i = 0; i < lowered.layers.size(); ++i) {
    Emitter emit(config, plan.placements, plan.layers[i].arena, plan.layers[i].downward);
    emit.weights = weights;
    emit.tick = tick;
    lowered.layers[i]->Emit(plan.layers[i].tiling, emit);
    program.insert(program.end(), std::make_move_iterator(emit.program.begin()),
                   std::make_move_iterator(emit.program.end()));
  }
  AssignTokens(program, tick);
  return program;
}

void CheckFits(const Lowered& lowered, const Config& config) {
  const std::vector<Placement> placements = PlaceApart(lowered);
  for (const auto& layer : lowered.layers) {
    bool fits = false;
    for (const Tiling& tiling : layer->Tilings(config, Choices::kFirst)) {
      try {
        Emitter emit(config, placements, {0, config.scratchpad_bytes});
        emit.only_fits = true;
        layer->Emit(tiling, emit);
        fits = true;
      } catch (const DoesNotFit&) {
      } catch (const Fits&) {
        fits = true;
      }
      if (fits) break;
    }
    if (!fits) NothingFits(config);
  }
}

}  // namespace epiphyte::npusim
