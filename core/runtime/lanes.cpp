#include "core/runtime/lanes.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/device/transfer.h"
#include "core/runtime/value_places.h"

namespace epiphyte::core {
namespace {

constexpr uint32_t kNoLane = LaneValue::kNoLane;

uint64_t Bit(uint32_t lane) { return uint64_t{1} << lane; }

}  // namespace

uint64_t Lanes::Signal(uint32_t lane) {
  LaneState& state = frame_.lanes[lane];
  if (state.signalled != state.submitted) {
    state.point = state.stream->Signal();
    state.signalled = state.submitted;
  }
  return state.point;
}

void Lanes::Order(uint32_t lane, const LaneValue& value) {
  const uint32_t writer = value.writer;
  if (writer == kNoLane || writer == lane || frame_.lanes[writer].reached >= value.written) return;
  LaneState& state = frame_.lanes[lane];
  if (state.waited_for[writer] >= value.written) return;
  if (&plan_.device(writer).plugin() != &plan_.device(lane).plugin()) return Synchronize(writer);
  state.stream->WaitFor(*frame_.lanes[writer].stream, Signal(writer));
  state.waited_for[writer] = frame_.lanes[writer].signalled;
}

void Lanes::AwaitWritten(const LaneValue& value) {
  if (value.writer != kNoLane && frame_.lanes[value.writer].reached < value.written) Synchronize(value.writer);
}

void Lanes::Synchronize(uint32_t lane) {
  LaneState& state = frame_.lanes[lane];
  if (state.idle()) return;
  const Profiler::Span span(plan_.tools().profiler, "device", "wait", run_.tag());
  state.stream->Synchronize(Signal(lane));
  state.reached = state.signalled;
  ReleaseHeld(state);
}

void Lanes::SynchronizeAll() {
  for (uint32_t lane = 0; lane < frame_.lanes.size(); ++lane) Synchronize(lane);
}

uint64_t Lanes::UsersUnderWay(const LaneValue& value) const {
  uint64_t users = 0;
  for (uint64_t left = value.used_by; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (!frame_.lanes[lane].idle()) users |= Bit(lane);
  }
  if (value.writer != kNoLane && frame_.lanes[value.writer].reached < value.written) users |= Bit(value.writer);
  return users;
}

bool Lanes::IsUsedElsewhere(const LaneValue& value, uint32_t lane) const {
  return (UsersUnderWay(value) & ~(lane == kHostLane ? 0 : Bit(lane))) != 0;
}

void Lanes::NoteWritten(uint32_t lane, LaneValue& value) {
  value.writer = lane;
  value.written = frame_.lanes[lane].submitted;
}

void Lanes::Copy(uint32_t lane, std::span<const EpCopy> copies) {
  if (copies.empty()) return;
  const Profiler::Span span(plan_.tools().profiler, "device", "copy", run_.tag());
  LaneState& state = frame_.lanes[lane];
  // Counted first: after an error, too, some of it can be under way.
  ++state.submitted;
  state.stream->Copy(copies);
}

std::shared_ptr<DevicePiece> Lanes::TakeMemory(uint32_t lane, DeviceMemory& memory, uint64_t bytes,
                                               std::string_view what) {
  std::vector<std::shared_ptr<DevicePiece>>& reusable = frame_.lanes[lane].reusable;
  const auto fits = std::find_if(reusable.begin(), reusable.end(), [&](const auto& piece) {
    return piece->home().get() == &memory && piece->size() >= bytes &&
           piece->size() / 2 <= std::max<uint64_t>(bytes, 4096);
  });
  if (fits != reusable.end()) {
    std::shared_ptr<DevicePiece> piece = std::move(*fits);
    *fits = std::move(reusable.back());
    reusable.pop_back();
    return piece;
  }
  try {
    return memory.Take(bytes, plan_.tools().account, what);
  } catch (const Error& error) {
    if (error.code() != StatusCode::kOutOfMemory) throw;
  }
  // What submitted work has to do with now is free afterwards.
  SynchronizeAll();
  for (LaneState& state : frame_.lanes) state.reusable.clear();
  return memory.Take(bytes, plan_.tools().account, what);
}

ValuePtr Lanes::Make(uint32_t lane, Place place, DataType type, std::span<const int64_t> dims, std::string_view what) {
  if (place.on_host()) return Value::Tensor(type, dims, &run_);
  DeviceMemory& memory = *plan_.device(lane).memories()[place.memory];
  const uint64_t bytes = DataTypeBytes(type, ElementCount(dims.data(), dims.size()));
  return Value::OnDevice(type, dims, TakeMemory(lane, memory, bytes, what));
}

LaneValue* Lanes::FindCopy(LaneValue& value, uint32_t lane, uint32_t set) {
  for (LaneValue::Copy& copy : value.copies) {
    const Place place{copy.lane == kNoLane ? Place::kHost : copy.memory};
    if ((copy.lane == kNoLane || copy.lane == lane) && place.In(set)) return &copy.value;
  }
  return nullptr;
}

void Lanes::BringToHost(std::span<LaneValue* const> values) {
  const auto is_elsewhere = [](const LaneValue* value) {
    return value != nullptr && value->value && value->value->IsOnDevice();
  };
  if (std::none_of(values.begin(), values.end(), is_elsewhere)) return;
  std::vector<std::vector<EpCopy>> batches(frame_.lanes.size());
  std::vector<std::pair<LaneValue*, uint32_t>> copied;  // whose last copy is filled by that lane
  for (LaneValue* const value : values) {
    if (!is_elsewhere(value)) continue;
    if (FindCopy(*value, kNoLane, EP_MEMORIES_HOST) != nullptr) continue;
    const Value& source = *value->value;
    const DevicePiece& piece = *PieceOf(source);
    const uint32_t lane = plan_.LaneOf(piece.home()->plugin(), piece.device());
    LaneValue copy;
    if (lane == kHostLane) {
      copy.value = ToHost(value->value, *plan_.tools().devices, &run_);
    } else {
      copy.value = Value::Tensor(source.type(), source.dims(), &run_);
      if (source.byte_size() != 0) {
        Order(lane, *value);
        batches[lane].push_back({CopyEndOf(source), CopyEndOf(*copy.value), source.byte_size()});
        copied.emplace_back(value, lane);
      }
    }
    value->copies.push_back({kNoLane, 0, std::move(copy)});
  }
  for (uint32_t lane = 0; lane < batches.size(); ++lane) Copy(lane, batches[lane]);
  for (const auto& [value, lane] : copied) {
    NoteUse(lane, *value);
    LaneValue& copy = *FindCopy(*value, kNoLane, EP_MEMORIES_HOST);
    NoteUse(lane, copy);
    NoteWritten(lane, copy);
  }
}

void Lanes::Drop(LaneValue& value) {
  for (LaneValue::Copy& copy : value.copies) DropOne(copy.value);
  value.copies.clear();
  DropOne(value);
}

void Lanes::DropOne(LaneValue& value) {
  if (!value.value) return;
  const uint64_t users = UsersUnderWay(value);
  if (std::popcount(users) == 1 && value.value->IsOnDevice() && value.value->IsUnique()) {
    LaneState& user = frame_.lanes[static_cast<uint32_t>(std::countr_zero(users))];
    auto piece = std::static_pointer_cast<DevicePiece>(value.value->storage());
    const bool is_of_lane =
        &piece->home()->plugin() == &user.stream->device().plugin() && piece->device() == user.stream->device().index();
    value.value = nullptr;
    if (is_of_lane && piece.use_count() == 1) {
      user.reusable.push_back(std::move(piece));
    } else {
      // Other values are in it, or it is another device's.
      user.held_pieces.push_back(std::move(piece));
    }
  } else {
    for (uint64_t left = users; left != 0; left &= left - 1) {
      frame_.lanes[static_cast<uint32_t>(std::countr_zero(left))].held.push_back(value.value);
    }
    if (users == 0) {
      run_.Drop(value.value);
    } else {
      value.value = nullptr;
    }
  }
  value.used_by = 0;
  value.writer = kNoLane;
  value.written = 0;
}

void Lanes::ReleaseHeld(LaneState& lane) noexcept {
  for (ValuePtr& value : lane.held) run_.Drop(value);
  lane.held.clear();
  lane.held_pieces.clear();
  for (const auto& [kernel, state] : lane.held_states) kernel->GiveState(state);
  lane.held_states.clear();
}

void Lanes::Abandon() noexcept {
  for (LaneState& lane : frame_.lanes) {
    if (!lane.idle()) lane.stream->Drain();
    lane.reached = lane.signalled = lane.submitted;
  }
  for (LaneState& lane : frame_.lanes) {
    ReleaseHeld(lane);
    lane.reusable.clear();
  }
}

}  // namespace epiphyte::core
