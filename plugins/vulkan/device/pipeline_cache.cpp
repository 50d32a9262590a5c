// The driver's pipeline cache data, behind a header of our own. Drivers are known to crash on foreign bytes, so a
// driver gets back only data that it made.
#include <algorithm>
#include <cstring>

#include "epiphyte/kit/memory/digest.hpp"
#include "plugins/vulkan/device/vk_pipelines.h"

namespace epiphyte::vulkan {
namespace {

constexpr char kMagic[8] = {'E', 'P', 'V', 'K', 'P', 'I', 'P', 'E'};
constexpr uint32_t kVersion = 1;

// The header of our own: little-endian, without padding.
struct CacheHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint32_t vendor_id;
  uint32_t device_id;
  uint32_t api_version;
  uint32_t driver_version;
  uint32_t driver_id;
  uint32_t pointer_bytes;
  uint8_t device_uuid[16];
  uint8_t driver_uuid[16];
  uint8_t pipeline_cache_uuid[16];
  uint64_t driver_text;  // digest of the names of device and driver
  uint64_t kernels;      // digest of the kernel set
  uint64_t data_bytes;
  uint64_t data_digest;
  uint64_t header_digest;  // digest of all fields above
};
static_assert(sizeof(CacheHeader) == 128);

CacheHeader HeaderFor(const DeviceHandles& device) {
  const DeviceInfo& info = device.info;
  CacheHeader header = {};
  std::ranges::copy(kMagic, header.magic);
  header.version = kVersion;
  header.header_bytes = sizeof(header);
  header.vendor_id = info.vendor_id;
  header.device_id = info.device_id;
  header.api_version = info.api_version;
  header.driver_version = info.driver_version;
  header.driver_id = info.driver_id;
  header.pointer_bytes = sizeof(void*);
  std::ranges::copy(info.device_uuid, header.device_uuid);
  std::ranges::copy(info.driver_uuid, header.driver_uuid);
  std::ranges::copy(info.pipeline_cache_uuid, header.pipeline_cache_uuid);
  const std::string text = info.name + '\0' + info.driver_name + '\0' + info.driver_info;
  header.driver_text = kit::Digest(text.data(), text.size());
  header.kernels = device.kernels.digest();
  return header;
}

uint64_t DigestOf(const CacheHeader& header) { return kit::Digest(&header, offsetof(CacheHeader, header_digest)); }

// Returns why data with the header `found` are not for this driver, or "".
std::string Compare(const CacheHeader& found, const CacheHeader& wanted) {
  if (found.vendor_id != wanted.vendor_id || found.device_id != wanted.device_id ||
      std::memcmp(found.device_uuid, wanted.device_uuid, 16) != 0)
    return "the pipeline cache is of another device";
  if (found.driver_id != wanted.driver_id || found.driver_version != wanted.driver_version ||
      found.api_version != wanted.api_version || std::memcmp(found.driver_uuid, wanted.driver_uuid, 16) != 0 ||
      std::memcmp(found.pipeline_cache_uuid, wanted.pipeline_cache_uuid, 16) != 0 ||
      found.driver_text != wanted.driver_text || found.pointer_bytes != wanted.pointer_bytes)
    return "the pipeline cache is of another driver, or of another version of it";
  if (found.kernels != wanted.kernels) return "the pipeline cache is of another version of the kernels";
  return "";
}

// Whether the data begin with the header that Vulkan prescribes, and it names this device and its driver.
bool IsOf(std::span<const std::byte> data, const DeviceInfo& info) {
  VkPipelineCacheHeaderVersionOne header;
  if (data.size() < sizeof(header)) return false;
  std::memcpy(&header, data.data(), sizeof(header));
  return header.headerSize >= sizeof(header) && header.headerSize <= data.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == info.vendor_id &&
         header.deviceID == info.device_id &&
         std::ranges::equal(header.pipelineCacheUUID, info.pipeline_cache_uuid);
}

}  // namespace

std::vector<std::byte> Pipelines::CacheData() {
  const std::lock_guard lock(cache_mutex_);
  size_t size = 0;
  device_.Check(device_.vk.vkGetPipelineCacheData(device_.device, cache_.get(), &size, nullptr),
                "vkGetPipelineCacheData");
  std::vector<std::byte> bytes(sizeof(CacheHeader) + size);
  device_.Check(device_.vk.vkGetPipelineCacheData(device_.device, cache_.get(), &size, bytes.data() + sizeof(CacheHeader)),
                "vkGetPipelineCacheData");
  bytes.resize(sizeof(CacheHeader) + size);
  const std::span<const std::byte> data = std::span(bytes).subspan(sizeof(CacheHeader));
  if (!IsOf(data, device_.info)) return {};
  CacheHeader header = HeaderFor(device_);
  header.data_bytes = size;
  header.data_digest = kit::Digest(data.data(), data.size());
  header.header_digest = DigestOf(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::string Pipelines::UseCacheData(std::span<const std::byte> bytes) {
  CacheHeader header;
  if (bytes.size() < sizeof(header)) return "the pipeline cache is cut off";
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!std::ranges::equal(header.magic, kMagic)) return "the pipeline cache is none";
  if (header.version != kVersion || header.header_bytes != sizeof(header))
    return "the pipeline cache has another format";
  if (header.header_digest != DigestOf(header)) return "the pipeline cache's header is damaged";
  if (std::string why = Compare(header, HeaderFor(device_)); !why.empty()) return why;
  const std::span<const std::byte> data = bytes.subspan(sizeof(header));
  if (header.data_bytes != data.size()) return "the pipeline cache is cut off, or too long";
  if (header.data_digest != kit::Digest(data.data(), data.size())) return "the pipeline cache is damaged";
  if (!IsOf(data, device_.info)) return "the pipeline cache holds another driver's data";

  VkPipelineCacheCreateInfo info = {VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  const Owned<VkPipelineCache> read =
      Make<VkPipelineCache>(device_, device_.vk.vkCreatePipelineCache, device_.vk.vkDestroyPipelineCache, info,
                            "vkCreatePipelineCache");
  const VkPipelineCache source = read.get();
  const std::lock_guard lock(cache_mutex_);
  device_.Check(device_.vk.vkMergePipelineCaches(device_.device, cache_.get(), 1, &source), "vkMergePipelineCaches");
  return "";
}

}  // namespace epiphyte::vulkan
