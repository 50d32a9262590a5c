// RowWork: decides how invocations share the rows of reductions, softmax, normalisations, and GEMMs of few rows with
// long sums. One invocation takes a row, or several share it so that neighbours read contiguous elements. Those that
// share a row are a workgroup that exchanges results through its memory, a subgroup, or a workgroup of subgroups.
// shaders/rows.glsl implements it.
//
//     const RowWork work(r.capabilities(), {.count = rows, .length = size, .shared = true});
//     dispatch.shader = Recording::ShaderFor("softmax" + work.suffix(), type);  // softmax_subgroup.f32
//     dispatch.specialization = {mode};
//     work.Complete(r, &dispatch);
//     r.Note(work.Explain("softmax"));  // "softmax; not softmax_subgroup: a row has only 7 steps"
#pragma once

#include <string>
#include <string_view>

#include "plugins/vulkan/ops/recording.h"

namespace epiphyte::vulkan {

struct Rows {
  int64_t count = 0;
  int64_t length = 0;  // parts of a row that invocations can divide: elements, or steps of a sum
  int64_t passes = 1;  // loop passes of the kernel for each element or step
  // Loop passes of an invocation that computes a whole row, if another kernel does that. -1: length times passes.
  int64_t alone = -1;
  bool shared = false;  // the kernel has a variant SHARED (rows.glsl), too
  std::string cannot;   // why a subgroup can't share a row; "": it can
  // Why one invocation a row is as fast as several; "": count and length decide. The option `prefer` overrides it.
  std::string needless;
};

class RowWork {
 public:
  RowWork(const Capabilities& capabilities, const Rows& rows);

  // Whether one invocation computes a row. A row that is too long for one (Capabilities::max_passes) is shared if
  // several invocations can share it, however slow that is.
  bool alone() const { return by_ == By::kInvocation; }
  // Suffix of the kernel's name: "", "_shared" or "_subgroup".
  std::string_view suffix() const;
  // Completes a dispatch that has the kernel's own specialization constants: appends those of rows.glsl, and sets the
  // workgroups and the loop passes of an invocation.
  void Complete(const Recording& r, Dispatch* dispatch) const;
  // Text for reports: the kernel, and why a faster one was refused. `alone` is the name of the kernel with one
  // invocation a row, if that is not `name`.
  std::string Explain(std::string_view name, std::string_view alone = {}) const;

 private:
  enum class By { kInvocation, kWorkgroup, kSubgroup, kSubgroups };

  Rows rows_;
  By by_ = By::kInvocation;
  uint32_t group_ = kLinearGroup;  // invocations of a workgroup
  uint32_t subgroup_;              // invocations of a subgroup, as the device reports them
  std::string why_not_subgroup_, why_not_shared_;
};

}  // namespace epiphyte::vulkan
