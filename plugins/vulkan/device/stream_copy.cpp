// Copies of streams. The host copies mapped memory itself if it needn't wait. Other copies go through staging buffers,
// which the stream owns and keeps.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/hazards.h"
#include "plugins/vulkan/device/stream.h"
#include "plugins/vulkan/device/vk_memory.h"
#include "plugins/vulkan/device/vk_stream.h"

namespace epiphyte::vulkan {
namespace {

constexpr uint64_t kSmallestChunk = uint64_t{64} << 10;
constexpr uint64_t kLargestChunk = uint64_t{16} << 20;
constexpr uint64_t kMostStaged = 4 * kLargestChunk;  // bytes of one stream; further copies wait for the device

void CheckEnd(const StreamCopy::End& end, uint64_t size) {
  if (end.buffer == nullptr) {
    if (end.data == nullptr) kit::FailArgument("a copy with neither a buffer nor host memory");
    return;
  }
  const uint64_t all = end.buffer->size();
  if (end.offset > all || size > all - end.offset)
    kit::FailWith(EP_STATUS_INVALID_ARGUMENT, "a copy of ", size, " bytes at ", end.offset, " leaves a buffer of ", all,
                  " bytes");
}

std::byte* MappedAt(const StreamCopy::End& end) {
  return end.buffer->mapped() == nullptr ? nullptr : end.buffer->mapped() + end.offset;
}

bool Overlap(const std::byte* a, uint64_t a_size, const std::byte* b, uint64_t b_size) {
  return a < b + b_size && b < a + a_size;
}

class CopyBatch {
 public:
  CopyBatch(StreamParts& parts, StreamParts::Lock& lock) : parts_(parts), lock_(lock) {}

  void Add(const StreamCopy& copy) {
    if (copy.from.buffer == nullptr) {
      Upload(static_cast<const std::byte*>(copy.from.data), copy.to, copy.size);
    } else if (copy.to.buffer == nullptr) {
      Download(copy.from, static_cast<std::byte*>(copy.to.data), copy.size);
    } else {
      BeginRecording();
      Record(*copy.from.buffer, copy.from.offset, *copy.to.buffer, copy.to.offset, copy.size);
    }
  }

  void Submit() {
    uint64_t number = parts_.timeline->submitted();
    if (commands_ != nullptr) {
      RecordBarrier(parts_.device, commands_->buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                    VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
      EndCommands(parts_.device, commands_->buffer);
      number = parts_.timeline->Submit({&commands_->buffer, 1});
      commands_->until = number;
      for (StreamParts::Chunk* chunk : chunks_) chunk->until = number;
    }
    for (StreamParts::HostCopy& copy : after_) {
      copy.after = number;
      parts_.host_copies.push_back(copy);
    }
    after_.clear();
    chunks_.clear();
    chunk_ = nullptr;
    commands_ = nullptr;
    hazards_ = {};
  }

 private:
  bool IsIdle() { return commands_ == nullptr && after_.empty() && parts_.IsIdle(); }

  void Upload(const std::byte* data, const StreamCopy::End& to, uint64_t size) {
    const auto is_written = [&](const auto& copy) { return Overlap(copy.to, copy.size, data, size); };
    if (std::ranges::any_of(after_, is_written)) Submit();
    if (std::ranges::any_of(parts_.host_copies, is_written)) parts_.Await(lock_, parts_.timeline->submitted());
    if (MappedAt(to) != nullptr && IsIdle()) {
      std::memcpy(MappedAt(to), data, size);
      return;
    }
    BeginRecording();
    for (uint64_t done = 0; done < size;) {
      const uint64_t part = Stage(size - done);
      std::memcpy(chunk_->buffer->mapped() + filled_, data + done, part);
      Record(*chunk_->buffer, filled_, *to.buffer, to.offset + done, part);
      filled_ += (part + 63) / 64 * 64;
      done += part;
    }
  }

  void Download(const StreamCopy::End& from, std::byte* data, uint64_t size) {
    if (MappedAt(from) != nullptr) {
      if (IsIdle()) {
        std::memcpy(data, MappedAt(from), size);
      } else {
        after_.push_back({0, MappedAt(from), data, size, true});
      }
      return;
    }
    BeginRecording();
    for (uint64_t done = 0; done < size;) {
      const uint64_t part = Stage(size - done);
      Record(*from.buffer, from.offset + done, *chunk_->buffer, filled_, part);
      after_.push_back({0, chunk_->buffer->mapped() + filled_, data + done, part, false});
      filled_ += (part + 63) / 64 * 64;
      done += part;
    }
  }

  // Call this before memory is staged for the next recording, because a submission releases staged memory.
  void BeginRecording() {
    // Pending host copies out of a mapped buffer must read it before the next commands write it.
    if (std::ranges::any_of(after_, &StreamParts::HostCopy::in_place)) Submit();
  }

  void Record(const Buffer& from, uint64_t from_at, const Buffer& to, uint64_t to_at, uint64_t size) {
    if (commands_ == nullptr) {
      parts_.FinishInPlaceCopies(lock_);
      commands_ = &parts_.BeginCommands();
      commands_->until = UINT64_MAX;
    }
    const VkBufferCopy region = {from.offset_in_block() + from_at, to.offset_in_block() + to_at, size};
    const Touch touches[] = {
        {reinterpret_cast<uintptr_t>(&from.block()), region.srcOffset, size, true, false},
        {reinterpret_cast<uintptr_t>(&to.block()), region.dstOffset, size, false, true},
    };
    if (hazards_.Add(touches, Hazards::kTransfer))
      RecordBarrier(parts_.device, commands_->buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                    VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    parts_.device.vk.vkCmdCopyBuffer(commands_->buffer, from.block().buffer.get(), to.block().buffer.get(), 1, &region);
  }

  // Reserves room in a chunk, from filled_ on. Returns how many of the wanted bytes fit.
  uint64_t Stage(uint64_t wanted) {
    if (chunk_ == nullptr || filled_ == chunk_->buffer->size()) {
      chunk_ = &TakeChunk(std::clamp(std::bit_ceil(wanted), kSmallestChunk, kLargestChunk));
      filled_ = 0;
    }
    return std::min(wanted, chunk_->buffer->size() - filled_);
  }

  StreamParts::Chunk& TakeChunk(uint64_t size) {
    const auto fitting = [&]() -> StreamParts::Chunk* {
      StreamParts::Chunk* best = nullptr;
      const uint64_t reached = parts_.Advance();
      for (const auto& chunk : parts_.chunks)
        if (chunk->until <= reached && chunk->buffer->size() >= size &&
            (best == nullptr || chunk->buffer->size() < best->buffer->size()))
          best = chunk.get();
      return best;
    };
    StreamParts::Chunk* chunk = fitting();
    uint64_t staged = size;
    for (const auto& each : parts_.chunks) staged += each->buffer->size();
    if (chunk == nullptr && staged > kMostStaged) {
      Submit();
      parts_.Await(lock_, parts_.timeline->submitted());
      chunk = fitting();
      if (chunk == nullptr) parts_.chunks.clear();
    }
    if (chunk == nullptr) {
      auto made = std::make_unique<StreamParts::Chunk>();
      made->buffer = parts_.device.memory->Allocate(nullptr, size, "the staging buffer", MemoryUse::kDownload);
      parts_.chunks.push_back(std::move(made));
      chunk = parts_.chunks.back().get();
    }
    chunk->until = UINT64_MAX;  // in use until it is submitted
    chunks_.push_back(chunk);
    return *chunk;
  }

  StreamParts& parts_;
  StreamParts::Lock& lock_;
  StreamParts::Commands* commands_ = nullptr;  // commands that are being recorded
  Hazards hazards_;
  std::vector<StreamParts::Chunk*> chunks_;  // chunks that commands_ uses
  StreamParts::Chunk* chunk_ = nullptr;      // current chunk, with `filled_` used bytes
  uint64_t filled_ = 0;
  std::vector<StreamParts::HostCopy> after_;  // host copies to be done after commands_
};

// Fails the stream, because copies of a batch that are already done can't be undone. The caller holds the stream's
// lock.
void FailHalfWay(StreamParts& parts, const std::exception& error) {
  const auto* known = dynamic_cast<const kit::Error*>(&error);
  parts.Fail(known != nullptr ? *known : kit::Error(EP_STATUS_OUT_OF_MEMORY, error.what()));
}

}  // namespace

void Stream::Copy(std::span<const StreamCopy> copies) {
  const Memory* const here = parts_->device.memory.get();
  const auto is_elsewhere = [&](const StreamCopy::End& end) {
    return end.buffer != nullptr && &end.buffer->block().memory_of != here;
  };
  bool crosses = false;
  for (const StreamCopy& copy : copies) {
    if (copy.size == 0) continue;
    CheckEnd(copy.from, copy.size);
    CheckEnd(copy.to, copy.size);
    if (copy.from.buffer == nullptr && copy.to.buffer == nullptr) kit::FailArgument("a copy from the host to the host");
    for (const StreamCopy::End& end : {copy.from, copy.to})
      if (is_elsewhere(end)) end.buffer->block().memory_of.device().ThrowIfLost();
    crosses = crosses || is_elsewhere(copy.from) || is_elsewhere(copy.to);
  }
  if (crosses) return CopyBetweenDevices(copies);
  parts_->Guarded([&](StreamParts& parts, StreamParts::Lock& lock) {
    CopyBatch batch(parts, lock);
    try {
      for (const StreamCopy& copy : copies)
        if (copy.size != 0) batch.Add(copy);
      batch.Submit();
    } catch (const std::exception& error) {
      FailHalfWay(parts, error);
      throw;
    }
  });
}

void Stream::CopyBetweenDevices(std::span<const StreamCopy> copies) {
  // Earlier submissions may produce the host data that is copied here, and the other device does not know of them.
  Synchronize(Signal());
  std::map<DeviceHandles*, std::unique_ptr<Stream>> others;
  // Does a copy on the device of `buffer`, which is one of its ends.
  const auto move = [&](const StreamCopy& copy, const Buffer& buffer) {
    DeviceHandles& there = buffer.block().memory_of.device();
    Stream* stream = this;
    if (&there != &parts_->device) {
      std::unique_ptr<Stream>& other = others[&there];
      if (other == nullptr) other = std::make_unique<Stream>(there);
      stream = other.get();
    }
    stream->Copy({&copy, 1});
    stream->Synchronize(stream->Signal());
  };
  try {
    std::vector<std::byte> between;
    for (const StreamCopy& copy : copies) {
      if (copy.size == 0) continue;
      if (copy.from.buffer == nullptr || copy.to.buffer == nullptr) {
        move(copy, copy.from.buffer == nullptr ? *copy.to.buffer : *copy.from.buffer);
        continue;
      }
      between.resize(std::min(copy.size, kLargestChunk));
      for (uint64_t done = 0; done < copy.size;) {
        const uint64_t part = std::min<uint64_t>(copy.size - done, between.size());
        const StreamCopy::End host = {nullptr, 0, between.data()};
        move({{copy.from.buffer, copy.from.offset + done}, host, part}, *copy.from.buffer);
        move({host, {copy.to.buffer, copy.to.offset + done}, part}, *copy.to.buffer);
        done += part;
      }
    }
  } catch (const std::exception& error) {
    const StreamParts::Lock lock(parts_->mutex);
    FailHalfWay(*parts_, error);
    throw;
  }
}

}  // namespace epiphyte::vulkan
