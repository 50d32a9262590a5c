#include "plugins/vulkan/ops/row_work.h"

#include <algorithm>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"

namespace epiphyte::vulkan {
namespace {

// None of the numbers below was measured on a GPU yet. They are chosen so that every invocation has work.

// Least size of subgroups that share rows. In smaller ones, exchanging results costs more than sharing gains.
constexpr uint32_t kLeastSubgroup = 4;
// Least length of rows that are shared. Shorter ones have too few elements for each invocation.
constexpr int64_t kLeastLength = 32;
// Number of rows that keeps any device busy with one invocation a row. Several invocations then share only long rows.
constexpr int64_t kManyRows = int64_t{1} << 15;
// Number of invocations that keeps a device busy. A workgroup for each row would then only wait at its barriers.
constexpr int64_t kEnoughInvocations = int64_t{1} << 16;
// Least number of elements of an invocation that makes up for the exchange of its result.
constexpr int64_t kWorthwhile = 4;

// Why it doesn't pay that `together` invocations share a row, or "".
std::string WhyNotWorth(const Rows& rows, int64_t together) {
  if (!rows.needless.empty()) return rows.needless;
  if (rows.length < std::max(kLeastLength, together)) return kit::TextOf("a row has only ", rows.length, " steps");
  if (rows.count >= kManyRows && rows.length < kWorthwhile * together)
    return kit::TextOf("there are ", rows.count, " rows, of ", rows.length, " steps each");
  return "";
}

uint64_t PassesOf(const Rows& rows, uint32_t together) {
  if (together == 1 && rows.alone >= 0) return static_cast<uint64_t>(rows.alone);
  return static_cast<uint64_t>(kit::CheckedMultiply(rows.length, rows.passes)) / together;
}

bool IsTooLong(const Capabilities& capabilities, const Rows& rows) {
  return PassesOf(rows, 1) > capabilities.max_passes;
}

std::string WhyNotSubgroup(const Capabilities& capabilities, const Rows& rows) {
  if (!rows.cannot.empty()) return rows.cannot;
  if (IsTooLong(capabilities, rows) && capabilities.CanUse(Capability::kSubgroup)) return "";
  if (!capabilities.Has(Capability::kSubgroup)) return capabilities.WhyNot(Capability::kSubgroup);
  if (capabilities.IsPreferred(Capability::kSubgroup)) return "";
  if (capabilities.subgroup_size < kLeastSubgroup)
    return kit::TextOf("subgroups have only ", capabilities.subgroup_size, " invocations");
  return WhyNotWorth(rows, capabilities.subgroup_size);
}

std::string WhyNotShared(const Capabilities& capabilities, const Rows& rows) {
  if (IsTooLong(capabilities, rows) && capabilities.CanUse(Capability::kSharedMemory)) return "";
  if (!capabilities.Has(Capability::kSharedMemory)) return capabilities.WhyNot(Capability::kSharedMemory);
  return capabilities.IsPreferred(Capability::kSharedMemory) ? "" : WhyNotWorth(rows, kLeastLength);
}

// Invocations of a workgroup that shares a row: `least` times a power of two, such that each has a few elements.
uint32_t GroupFor(int64_t length, uint32_t least, const Capabilities& capabilities) {
  const uint32_t most = std::min(capabilities.max_workgroup_invocations, 256u);
  uint32_t group = least;
  while (group * 2 <= most && group * kWorthwhile < length) group *= 2;
  return group;
}

}  // namespace

RowWork::RowWork(const Capabilities& capabilities, const Rows& rows)
    : rows_(rows), subgroup_(std::max(capabilities.subgroup_size, 1u)) {
  why_not_subgroup_ = WhyNotSubgroup(capabilities, rows);
  if (why_not_subgroup_.empty()) {
    group_ = std::max(kLinearGroup, subgroup_);
    by_ = By::kSubgroup;
    const bool too_long = IsTooLong(capabilities, rows);
    if (too_long ? capabilities.CanUse(Capability::kSharedMemory)
                 : capabilities.Has(Capability::kSharedMemory) && rows.length >= kWorthwhile * subgroup_ &&
                       rows.count * subgroup_ < kEnoughInvocations) {
      by_ = By::kSubgroups;
      group_ = GroupFor(rows.length, group_, capabilities);
    }
    return;
  }
  if (!rows.shared) return;
  why_not_shared_ = WhyNotShared(capabilities, rows);
  if (!why_not_shared_.empty()) return;
  by_ = By::kWorkgroup;
  group_ = GroupFor(rows.length, kLinearGroup / 2, capabilities);
}

std::string_view RowWork::suffix() const {
  switch (by_) {
    case By::kInvocation: return "";
    case By::kWorkgroup: return "_shared";
    case By::kSubgroup:
    case By::kSubgroups: return "_subgroup";
  }
  return "";
}

void RowWork::Complete(const Recording& r, Dispatch* dispatch) const {
  dispatch->passes = PassesOf(rows_, alone() ? 1 : by_ == By::kSubgroup ? subgroup_ : group_);
  if (alone()) {
    dispatch->groups = r.GroupsFor(rows_.count);
    return;
  }
  dispatch->specialization.push_back(group_);
  int64_t groups = rows_.count;
  if (by_ != By::kWorkgroup) {
    dispatch->specialization.push_back(by_ == By::kSubgroups ? 1 : 0);
    dispatch->full_subgroups = true;
    const int64_t each = group_ / subgroup_;
    if (by_ == By::kSubgroup) groups = (groups + each - 1) / each;
  }
  dispatch->groups = r.GroupsFor(groups * kLinearGroup);
}

std::string RowWork::Explain(std::string_view name, std::string_view alone) const {
  std::string text = by_ == By::kInvocation && !alone.empty() ? std::string(alone) : kit::TextOf(name, suffix());
  if (by_ == By::kSubgroup) text += kit::TextOf(" (", subgroup_, " invocations for a row)");
  if (by_ == By::kSubgroups || by_ == By::kWorkgroup) text += kit::TextOf(" (", group_, " invocations for a row)");
  if (!why_not_subgroup_.empty()) text += kit::TextOf("; not ", name, "_subgroup: ", why_not_subgroup_);
  if (!why_not_shared_.empty()) text += kit::TextOf("; not ", name, "_shared: ", why_not_shared_);
  return text;
}

}  // namespace epiphyte::vulkan
