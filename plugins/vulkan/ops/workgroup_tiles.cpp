#include "plugins/vulkan/ops/workgroup_tiles.h"

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

// Number of tiles that keep a device busy. A large tile reads each operand less often, but gives fewer workgroups.
// Measured on an H100: with enough tiles, sides of 128, 64 and 32 reach 40, 32 and 27 TFLOP/s; a GEMM in 24 tiles of 64
// takes 2.5 times as long as in 96 tiles of 32.
constexpr int64_t kEnoughTiles = 128;

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

const WorkgroupTiles::Shape WorkgroupTiles::kLargestFirst[kShapes] = {{.blocks = 2, .side = 16, .steps = 16},
                                                                      {.blocks = 1, .side = 16, .steps = 16},
                                                                      {.blocks = 1, .side = 8, .steps = 16}};

int64_t WorkgroupTiles::Shape::slices() const { return shader::kTileInvocations / (side * side); }

int64_t WorkgroupTiles::Shape::shared_bytes() const {
  constexpr int64_t kFour = 4 * sizeof(float);
  const int64_t pitch = tile() / 4 + 1;
  const int64_t of_sums = slices() > 1 ? tile() * tile() / 4 : 0;
  return (2 * slices() * steps * pitch + of_sums + 1) * kFour;
}

WorkgroupTiles::WorkgroupTiles(const Capabilities& capabilities, int64_t m, int64_t n, int64_t k, int64_t batches) {
  bool fits = false;
  for (const Shape& shape : kLargestFirst) {
    if (shape.shared_bytes() > capabilities.max_shared_memory) continue;
    // If all shapes give too few tiles, the smallest remains, because it gives the most.
    shape_ = shape;
    fits = true;
    if (CeilDiv(m, shape.tile()) * CeilDiv(n, shape.tile()) * batches >= kEnoughTiles) break;
  }
  if (!fits) {
    why_not_ = "the device has too little workgroup memory";
  } else if (capabilities.max_workgroup_invocations < shader::kTileInvocations) {
    why_not_ = "the device's workgroups are too small";
  }
  const int64_t groups[] = {CeilDiv(n, shape_.tile()), CeilDiv(m, shape_.tile()), batches};
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i] = static_cast<uint32_t>(groups[i]);
    if (groups[i] > capabilities.max_workgroup_count[i])
      why_not_ = "it would take more workgroups than the device allows";
  }
  // The loops that are not unrolled: over steps, over slices, and over the elements that get a long activation.
  passes_ = static_cast<uint64_t>(CeilDiv(k, shape_.steps * shape_.slices()) + shape_.slices()) +
            uint64_t{16} * shape_.blocks * shape_.blocks + 4 * shape_.blocks;
  if (why_not_.empty() && passes_ > capabilities.max_passes) why_not_ = "sums are too long for the device's loops";
}

std::string WorkgroupTiles::Describe() const { return kit::TextOf("tiles of ", shape_.tile(), " by ", shape_.tile()); }

void WorkgroupTiles::Complete(Dispatch* dispatch) const {
  for (const uint32_t constant : {shape_.blocks, shape_.side, shape_.steps})
    dispatch->specialization.push_back(constant);
  dispatch->groups = groups_;
  dispatch->passes = passes_;
}

}  // namespace epiphyte::vulkan
