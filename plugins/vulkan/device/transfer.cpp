#include <algorithm>
#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/device/vk_memory.h"
#include "plugins/vulkan/device/vk_transfer.h"

namespace epiphyte::vulkan {
namespace {

void CheckRange(const BufferRange& range) {
  if (range.size > range.buffer->size() || range.offset > range.buffer->size() - range.size)
    kit::FailWith(EP_STATUS_EP_FAIL, "a copy of ", range.size, " bytes at ", range.offset, " leaves a buffer of ",
                  range.buffer->size(), " bytes");
}

}  // namespace

void Transfer::Upload(std::span<const HostToDevice> copies) {
  device_.ThrowIfLost();
  std::vector<Piece> pieces;
  for (const HostToDevice& copy : copies) {
    CheckRange(copy.to);
    if (copy.to.size == 0) continue;
    if (copy.to.buffer->mapped() != nullptr) {
      std::memcpy(copy.to.buffer->mapped() + copy.to.offset, copy.data, copy.to.size);
    } else {
      pieces.push_back({copy.to.buffer.get(), copy.to.offset, copy.to.size,
                        const_cast<std::byte*>(static_cast<const std::byte*>(copy.data)), 0});
    }
  }
  Run(pieces, Direction::kUpload);
}

void Transfer::Download(std::span<const DeviceToHost> copies) {
  device_.ThrowIfLost();
  std::vector<Piece> pieces;
  for (const DeviceToHost& copy : copies) {
    CheckRange(copy.from);
    if (copy.from.size == 0) continue;
    if (copy.from.buffer->mapped() != nullptr) {
      std::memcpy(copy.data, copy.from.buffer->mapped() + copy.from.offset, copy.from.size);
    } else {
      pieces.push_back({copy.from.buffer.get(), copy.from.offset, copy.from.size, static_cast<std::byte*>(copy.data), 0});
    }
  }
  Run(pieces, Direction::kDownload);
}

void Transfer::Run(const std::vector<Piece>& pieces, Direction direction) {
  if (pieces.empty()) return;
  const std::lock_guard lock(mutex_);
  std::vector<Piece> batch;
  uint64_t filled = 0;
  const auto flush = [&] {
    if (!batch.empty()) Submit(batch, direction);
    batch.clear();
    filled = 0;
  };
  for (Piece rest : pieces) {
    while (rest.size > 0) {
      if (filled == kStaging) flush();
      Piece part = rest;
      part.size = std::min(rest.size, kStaging - filled);
      part.staged = filled;
      batch.push_back(part);
      filled = std::min(kStaging, (filled + part.size + 63) / 64 * 64);
      rest.offset += part.size;
      rest.host += part.size;
      rest.size -= part.size;
    }
  }
  flush();
}

void Transfer::Submit(std::span<const Piece> pieces, Direction direction) {
  if (fence_.get() == VK_NULL_HANDLE) {
    staging_ = device_.memory->Allocate(nullptr, kStaging, "the staging buffer", MemoryUse::kDownload);
    pool_ = MakeCommandPool(device_);
    commands_ = MakeCommandBuffers(device_, pool_.get(), 1)[0];
    fence_ = MakeFence(device_);
  }
  const bool upload = direction == Direction::kUpload;
  if (upload)
    for (const Piece& piece : pieces) std::memcpy(staging_->mapped() + piece.staged, piece.host, piece.size);

  device_.Check(device_.vk.vkResetCommandPool(device_.device, pool_.get(), 0), "vkResetCommandPool");
  BeginCommands(device_, commands_, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  RecordBarrier(device_, commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  for (const Piece& piece : pieces) {
    const VkBuffer there = piece.buffer->block().buffer.get();
    const VkBuffer here = staging_->block().buffer.get();
    const uint64_t there_at = piece.buffer->offset_in_block() + piece.offset;
    const uint64_t here_at = staging_->offset_in_block() + piece.staged;
    const VkBufferCopy region = {upload ? here_at : there_at, upload ? there_at : here_at, piece.size};
    device_.vk.vkCmdCopyBuffer(commands_, upload ? here : there, upload ? there : here, 1, &region);
  }
  if (!upload)
    RecordBarrier(device_, commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                  VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  EndCommands(device_, commands_);
  device_.Submit(commands_, fence_.get());
  device_.Wait(fence_.get());
  if (!upload)
    for (const Piece& piece : pieces) std::memcpy(piece.host, staging_->mapped() + piece.staged, piece.size);
}

}  // namespace epiphyte::vulkan
