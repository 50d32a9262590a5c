// Copies, with checks of all rules that the host must keep.
#include <cstring>

#include "tests/device/plugin/control.h"
#include "tests/device/plugin/device_api.h"

namespace epiphyte::test::device {
namespace {

struct End {
  std::byte* data = nullptr;
  std::shared_ptr<Buffer> buffer;
};

struct Move {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  uint64_t size = 0;
};

[[noreturn]] void Refuse(const std::string& why) {
  Complain("Copy: " + why);
  throw kit::Error(EP_STATUS_INVALID_ARGUMENT, "copy: " + why);
}

End Resolve(Machine& machine, const EpCopyEnd& end, uint64_t size, Work& work, bool is_written) {
  if (end.buffer == nullptr) {
    if (end.data == nullptr) Refuse("an end with neither buffer nor host memory");
    if (end.offset != 0) Refuse("offset " + std::to_string(end.offset) + " in host memory, 0 expected");
    return {static_cast<std::byte*>(end.data), nullptr};
  }
  if (end.data != nullptr) Refuse("an end with a buffer and host memory, too");
  std::shared_ptr<Buffer> buffer = machine.Find(end.buffer, "Copy");
  if (end.offset > buffer->size() || size > buffer->size() - end.offset) {
    Refuse(std::to_string(size) + " bytes from " + std::to_string(end.offset) + " of a buffer of " +
           std::to_string(buffer->size()));
  }
  if (end.offset % kAlignment != 0) {
    Refuse("offset " + std::to_string(end.offset) + ", a multiple of " + std::to_string(kAlignment) + " expected");
  }
  work.uses.push_back({buffer, end.offset, size, is_written});
  return {buffer->data() + end.offset, buffer};
}

}  // namespace

std::unique_ptr<Work> MakeCopies(Machine& machine, const Device& device, const EpCopy* copies, uint64_t count) {
  auto work = std::make_unique<Work>();
  work->what = "copy";
  std::vector<Move> moves;
  for (uint64_t i = 0; i < count; ++i) {
    const EpCopy& copy = copies[i];
    if (copy.size == 0) Refuse("0 bytes");
    const End from = Resolve(machine, copy.from, copy.size, *work, false);
    const End to = Resolve(machine, copy.to, copy.size, *work, true);
    if (from.buffer == nullptr && to.buffer == nullptr) Refuse("from host memory to host memory");
    const auto is_here = [&](const End& end) { return end.buffer != nullptr && end.buffer->device == device.index; };
    if (!is_here(from) && !is_here(to)) Refuse("neither end is on the stream's device");
    if (from.data < to.data + copy.size && to.data < from.data + copy.size) Refuse("the ends overlap");
    moves.push_back({from.data, to.data, copy.size});
  }
  // `uses` keeps the buffers alive until the work is done.
  work->run = [moves = std::move(moves)] {
    for (const Move& move : moves) std::memcpy(move.to, move.from, move.size);
  };
  return work;
}

}  // namespace epiphyte::test::device
