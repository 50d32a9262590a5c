// RowWork: decides how invocations share the rows of reductions, softmax, normalisations, and products of few rows with
// long sums. One invocation takes a row, or several share it so that neighbours read contiguous elements. Sharing uses
// the memory of a workgroup, a subgroup, or a workgroup of subgroups. shaders/rows.glsl implements it.
//
//     const RowWork work(r.capabilities(), {.count = rows, .length = size, .shared = true});
//     dispatch.shader = Recording::ShaderFor("softmax" + work.suffix(), type);  // softmax_subgroup.f32
//     dispatch.specialization = {mode};
//     work.Complete(r, &dispatch);
//     r.Note(work.Explain("softmax"));  // "softmax; not softmax_subgroup: a row has only 7 elements"
#pragma once

#include <string>
#include <string_view>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

struct Rows {
  int64_t count = 0;
  int64_t length = 0;  // what of a row can be divided: elements, or steps of a sum
  int64_t passes = 1;  // passes of the kernel's loops for each element
  // Loop passes of an invocation that computes a whole row with a kernel of its own. -1: length times passes.
  int64_t alone = -1;
  bool shared = false;   // the kernel has a variant SHARED, too
  std::string cannot;    // why no subgroup can do it; "": nothing is against it
  std::string needless;  // why one invocation for each does as well, where no option prefers others; "": by its shape
};

class RowWork {
 public:
  RowWork(const Capabilities& capabilities, const Rows& rows);

  // An invocation takes a row. Where several can share it, that is not so for a row that is too long for one
  // (Capabilities::max_passes), however slow sharing is.
  bool alone() const { return by_ == By::kInvocation; }
  // Suffix of the kernel's name: "", "_shared" or "_subgroup".
  std::string_view suffix() const;
  // To a dispatch that has the specialization constants of the kernel's own: those of rows.glsl behind them, the
  // workgroups, and the passes of an invocation.
  void Complete(const Recording& r, Dispatch* dispatch) const;
  // For reports: the kernel, and why a faster one was refused. `alone`: what the kernel of one invocation for each is
  // called, where that is not `name`.
  std::string Explain(std::string_view name, std::string_view alone = {}) const;

 private:
  enum class By { kInvocation, kWorkgroup, kSubgroup, kSubgroups };

  Rows rows_;
  By by_ = By::kInvocation;
  uint32_t group_ = kLinearGroup;  // invocations of a workgroup
  uint32_t subgroup_;              // … and of a subgroup, as far as the device says
  std::string why_not_subgroup_, why_not_shared_;
};

}  // namespace epiphyte::vulkan
