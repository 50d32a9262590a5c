// Transfer: copies between the host and memory that it can't map, through a staging buffer. Of device/ only.
#pragma once

#include <mutex>
#include <span>

#include "plugins/vulkan/device/vk_device.h"

namespace epiphyte::vulkan {

class Transfer {
 public:
  explicit Transfer(DeviceHandles& device) : device_(device) {}

  void Upload(std::span<const HostToDevice> copies);
  void Download(std::span<const DeviceToHost> copies);

 private:
  struct Piece {
    Buffer* buffer;
    uint64_t offset;
    uint64_t size;
    std::byte* host;  // source or destination
    uint64_t staged;  // offset in the staging buffer
  };
  enum class Direction : uint8_t { kUpload, kDownload };
  // All pieces, as many at a time as the staging buffer holds.
  void Run(const std::vector<Piece>& pieces, Direction direction);
  void Submit(std::span<const Piece> pieces, Direction direction);

  static constexpr uint64_t kStaging = uint64_t{16} << 20;

  DeviceHandles& device_;
  std::mutex mutex_;
  // Made at the first use.
  Owned<VkCommandPool> pool_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  Owned<VkFence> fence_;
  std::shared_ptr<Buffer> staging_;
};

}  // namespace epiphyte::vulkan
