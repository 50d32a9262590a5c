#include "plugins/vulkan/ops/coop_tiles.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

using shader::kCoopSubgroups;
constexpr int64_t kSteps = shader::kCoopSteps;
// Elements of padding behind each row in workgroup memory: two vectors of four float16 in the shader.
constexpr int64_t kPadding = 8;

// Sides of tiles, and how many tiles of each keep a device busy: the largest side with enough tiles is used. A large
// tile reads each operand less often, but gives fewer workgroups. Fewer tiles are enough for a smaller side, because
// the next smaller side is less than half as fast.
constexpr struct {
  int64_t side;
  int64_t enough_tiles;
} kLargestFirst[] = {{128, 128}, {64, 64}, {32, 0}};
// Bounds of the subgroup size, within which the vectors of four elements of any tile divide evenly among the
// invocations of a workgroup.
constexpr uint32_t kLeastSubgroup = 128 / 4 / kCoopSubgroups;
constexpr uint32_t kMostSubgroup = 32 * kSteps / 4 / kCoopSubgroups;

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Bytes of workgroup memory for tiles with this side, in any layout.
int64_t SharedBytes(const MatrixShape& matrix, int64_t side) {
  constexpr int64_t kHalf = 2, kFloat = 4;
  const int64_t operand = std::max(side * (kSteps + kPadding), kSteps * (side + kPadding));
  return 2 * operand * kHalf + kCoopSubgroups * matrix.m * (side / 2) * kFloat;
}

}  // namespace

CoopTiles::CoopTiles(const Capabilities& capabilities, int64_t m, int64_t n, int64_t k, int64_t batches)
    : matrix_(capabilities.coop_matrix), invocations_(kCoopSubgroups * capabilities.subgroup_size) {
  for (const auto& [side, enough_tiles] : kLargestFirst) {
    // Each of the 2 x 2 subgroups computes at least one matrix.
    if (side_ != 0 && (side / 2 < matrix_.m || side / 2 < matrix_.n)) break;
    side_ = side;
    if (SharedBytes(matrix_, side) <= capabilities.max_shared_memory &&
        CeilDiv(m, side) * CeilDiv(n, side) * batches >= enough_tiles)
      break;
  }
  why_not_ = WhyNot(capabilities, std::min({m, n, k}));
  if (!why_not_.empty()) return;
  fetches_ = static_cast<uint32_t>(side_ * kSteps / 4 / invocations_);
  // The loops that are not straight code: over steps, and over an invocation's part of the tile.
  passes_ = static_cast<uint64_t>(CeilDiv(k, kSteps) * (1 + kSteps / matrix_.k) + side_ +
                                  CeilDiv(side_ * side_, invocations_));
  if (passes_ > capabilities.max_passes) why_not_ = "sums are too long for the device's loops";
  const int64_t groups[] = {CeilDiv(n, side_), CeilDiv(m, side_), batches};
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i] = static_cast<uint32_t>(groups[i]);
    if (groups[i] > capabilities.max_workgroup_count[i])
      why_not_ = "it would take more workgroups than the device allows";
  }
}

std::string CoopTiles::WhyNot(const Capabilities& can, int64_t least) const {
  if (!can.Has(Capability::kCoopMatrix)) return can.WhyNot(Capability::kCoopMatrix);
  if (!can.Has(Capability::kFp16)) return can.WhyNot(Capability::kFp16);
  if (!can.CanUse(Capability::kSharedMemory)) return can.WhyNot(Capability::kSharedMemory);
  if (!can.IsPreferred(Capability::kCoopMatrix) && least < kLeastTiled) return "tiles would be empty for the most part";
  if (can.subgroup_size < kLeastSubgroup || can.subgroup_size > kMostSubgroup)
    return kit::TextOf("subgroups have ", can.subgroup_size, " invocations");
  if (invocations_ > can.max_workgroup_invocations) return "the device's workgroups are too small";
  if (SharedBytes(matrix_, side_) > can.max_shared_memory) return "the device has too little workgroup memory";
  return "";
}

std::string CoopTiles::Describe() const {
  return kit::TextOf("tiles of ", side_, " by ", side_, ", matrices of ", matrix_.m, 'x', matrix_.n, 'x', matrix_.k);
}

void CoopTiles::Complete(Dispatch* dispatch) const {
  const auto of_subgroup = static_cast<uint32_t>(side_ / 2);
  for (const uint32_t constant :
       {invocations_, matrix_.m, matrix_.n, matrix_.k, of_subgroup / matrix_.m, of_subgroup / matrix_.n, fetches_})
    dispatch->specialization.push_back(constant);
  dispatch->groups = groups_;
  dispatch->full_subgroups = true;
  dispatch->passes = passes_;
}

}  // namespace epiphyte::vulkan
