#include "plugins/vulkan/device/coop_matrices.h"

#include <set>

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::vulkan {
namespace {

std::string NameOf(VkComponentTypeKHR type) {
  switch (type) {
    case VK_COMPONENT_TYPE_FLOAT16_KHR: return "f16";
    case VK_COMPONENT_TYPE_FLOAT32_KHR: return "f32";
    case VK_COMPONENT_TYPE_FLOAT64_KHR: return "f64";
    case VK_COMPONENT_TYPE_SINT8_KHR: return "i8";
    case VK_COMPONENT_TYPE_SINT16_KHR: return "i16";
    case VK_COMPONENT_TYPE_SINT32_KHR: return "i32";
    case VK_COMPONENT_TYPE_SINT64_KHR: return "i64";
    case VK_COMPONENT_TYPE_UINT8_KHR: return "u8";
    case VK_COMPONENT_TYPE_UINT16_KHR: return "u16";
    case VK_COMPONENT_TYPE_UINT32_KHR: return "u32";
    case VK_COMPONENT_TYPE_UINT64_KHR: return "u64";
    default: return kit::TextOf("type ", static_cast<uint32_t>(type));
  }
}

// Whether the kernels can use this size: the tiles of shaders/coop.glsl are multiples of 32, and their rows in
// workgroup memory begin at multiples of 8 elements.
bool Fits(uint32_t size) { return size == 8 || size == 16 || size == 32; }

}  // namespace

std::vector<VkCooperativeMatrixPropertiesKHR> CoopMatricesOf(const InstanceFunctions& vk, VkPhysicalDevice device) {
  const auto list = vk.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  uint32_t count = 0;
  if (list == nullptr || list(device, &count, nullptr) < 0) return {};
  VkCooperativeMatrixPropertiesKHR empty = {};
  empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  std::vector<VkCooperativeMatrixPropertiesKHR> all(count, empty);
  if (list(device, &count, all.data()) < 0) return {};
  all.resize(count);
  return all;
}

std::string TextOf(std::span<const VkCooperativeMatrixPropertiesKHR> matrices) {
  std::set<std::string> shapes;
  for (const VkCooperativeMatrixPropertiesKHR& each : matrices)
    if (each.scope == VK_SCOPE_SUBGROUP_KHR)
      shapes.insert(kit::TextOf(each.MSize, 'x', each.NSize, 'x', each.KSize, ' ', NameOf(each.AType), ' ',
                                NameOf(each.BType), ' ', NameOf(each.CType)));
  std::string text;
  for (const std::string& shape : shapes) text += (text.empty() ? "" : "; ") + shape;
  return text;
}

MatrixShape UsableShape(std::span<const VkCooperativeMatrixPropertiesKHR> matrices) {
  const auto size = [](const MatrixShape& shape) { return uint64_t{shape.m} * shape.n * shape.k; };
  MatrixShape best;
  for (const VkCooperativeMatrixPropertiesKHR& each : matrices) {
    if (each.scope != VK_SCOPE_SUBGROUP_KHR || each.AType != VK_COMPONENT_TYPE_FLOAT16_KHR ||
        each.BType != VK_COMPONENT_TYPE_FLOAT16_KHR || each.CType != VK_COMPONENT_TYPE_FLOAT32_KHR ||
        each.ResultType != VK_COMPONENT_TYPE_FLOAT32_KHR)
      continue;
    const MatrixShape shape = {each.MSize, each.NSize, each.KSize};
    if (Fits(shape.m) && Fits(shape.n) && Fits(shape.k) && size(shape) > size(best)) best = shape;
  }
  return best;
}

}  // namespace epiphyte::vulkan
