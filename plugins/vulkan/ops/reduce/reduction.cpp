#include "plugins/vulkan/ops/reduce/reduction.h"

#include <algorithm>
#include <string>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/strides.hpp"
#include "plugins/vulkan/ops/row_work.h"

namespace epiphyte::vulkan {
namespace {

struct Group {
  int64_t size;
  int64_t stride;
};

// The dimensions that are reduced (`wanted`), or those that are not, with neighbours joined. There is at least one
// group.
std::vector<Group> GroupsOf(const Dims& dims, const std::vector<bool>& reduced, bool wanted) {
  const Dims strides = kit::RowMajorStrides(dims);
  std::vector<Group> groups;
  bool joins = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (reduced[i] != wanted) {
      joins = false;
    } else if (joins) {
      groups.back() = {groups.back().size * dims[i], strides[i]};
    } else {
      groups.push_back({dims[i], strides[i]});
      joins = true;
    }
  }
  if (groups.empty()) groups.push_back({1, 0});
  return groups;
}

int64_t CountOf(const std::vector<Group>& groups) {
  int64_t count = 1;
  for (const Group& group : groups) count *= group.size;
  return count;
}

// The number of invocations that share a reduction. Few reductions are divided, so that the device has enough to do.
int64_t PartsFor(int64_t outputs, int64_t reduced) {
  constexpr int64_t kEnough = 4096;    // invocations
  constexpr int64_t kWorthwhile = 32;  // elements of an invocation
  constexpr int64_t kMost = 64;
  if (outputs >= kEnough) return 1;
  return std::clamp<int64_t>(std::min(kEnough / std::max<int64_t>(outputs, 1), reduced / kWorthwhile), 1, kMost);
}

// Loop passes of an invocation: one per element, and one per other dimension for each row of elements.
int64_t PassesOf(const std::vector<Group>& reduced, int64_t parts) {
  const int64_t count = CountOf(reduced);
  const int64_t others = static_cast<int64_t>(reduced.size()) - 1;
  return count / parts + 1 + others * std::min(count / parts, count / std::max<int64_t>(reduced.back().size, 1));
}

std::string ShaderOf(EpElementType from, EpElementType to, std::string_view suffix = "") {
  const auto shader = [&](std::string_view name, EpElementType type) {
    return Recording::ShaderFor(kit::TextOf(name, suffix), type);
  };
  if (from == to) return shader("reduce", from);
  if (from == EP_TYPE_FLOAT16 && to == EP_TYPE_FLOAT) return shader("reduce_to_float", from);
  if (from == EP_TYPE_FLOAT && to == EP_TYPE_FLOAT16) return shader("reduce_from_float", to);
  kit::FailWith(EP_STATUS_NOT_IMPLEMENTED, "no reduction from ", kit::TypeName(from), " to ", kit::TypeName(to));
}

// One dispatch from tensor x to tensor y.
struct ReductionPass {
  int32_t x, y;
  int32_t shift;  // -1: none
  const std::vector<Group>& kept;
  const std::vector<Group>& reduced;
  int64_t parts;  // invocations for each result
  float divisor;
};

void AddPass(Recording& r, const Reduction& reduction, const ReductionPass& pass, const RowWork* work = nullptr) {
  const auto& [x, y, shift, kept, reduced, parts, divisor] = pass;
  const int64_t outputs = CountOf(kept);
  std::vector<uint32_t> words = {Word(outputs),
                                 Word(parts),
                                 Word(CountOf(reduced)),
                                 Word(static_cast<int64_t>(kept.size())),
                                 Word(static_cast<int64_t>(reduced.size())),
                                 Word(divisor)};
  for (const auto* groups : {&kept, &reduced})
    for (const Group& group : *groups) words.insert(words.end(), {Word(group.size), Word(group.stride)});
  Dispatch dispatch{
      .shader = ShaderOf(r.tensor(x).type, r.tensor(y).type, work == nullptr ? "" : work->suffix()),
      .specialization = {static_cast<uint32_t>(reduction.combine), static_cast<uint32_t>(reduction.load),
                         static_cast<uint32_t>(reduction.finish)},
      .parameters = std::move(words),
      .bindings = {Recording::ReadTensor(x), Recording::ReadTensor(shift >= 0 ? shift : x), Recording::Write(y)},
      .groups = r.GroupsFor(outputs * parts),
      .work = static_cast<uint64_t>(outputs) * static_cast<uint64_t>(CountOf(reduced)),
      .passes = static_cast<uint64_t>(PassesOf(reduced, parts))};
  if (work != nullptr) work->Complete(r, &dispatch);
  r.Add(std::move(dispatch));
}

}  // namespace

void AddReduction(Recording& r, const Reduction& reduction, int32_t x, const Dims& dims,
                  const std::vector<bool>& reduced, int32_t y, int32_t shift) {
  const std::vector<Group> kept = GroupsOf(dims, reduced, false);
  const std::vector<Group> gone = GroupsOf(dims, reduced, true);
  const int64_t outputs = CountOf(kept);
  const int64_t count = CountOf(gone);
  const auto divisor = static_cast<float>(count);
  const int64_t parts = PartsFor(outputs, count);
  Rows rows{.count = outputs, .length = count, .alone = PassesOf(gone, parts)};
  const EpElementType from = r.tensor(x).type;
  if (!r.HasShader(ShaderOf(from, r.tensor(y).type, "_subgroup")))
    rows.cannot = kit::TextOf("there is none for ", kit::TypeName(from));
  // If the reduced elements aren't contiguous, the outputs are. With one invocation an output, neighbouring invocations
  // then read neighbouring elements.
  if (gone.back().stride != 1) rows.needless = "what is reduced doesn't lie side by side";
  const RowWork work(r.capabilities(), rows);
  r.Note(work.Explain("reduce"));
  if (!work.alone()) return AddPass(r, reduction, {x, y, shift, kept, gone, 1, divisor}, &work);
  if (parts == 1) return AddPass(r, reduction, {x, y, shift, kept, gone, 1, divisor});

  Reduction first = reduction;
  first.finish = Reduction::Finish::kNothing;
  Reduction second = reduction;
  second.load = Reduction::Load::kPlain;
  const EpElementType type = r.tensor(x).type;
  const int32_t between = r.Scratch(type == EP_TYPE_FLOAT16 ? EP_TYPE_FLOAT : type, {outputs, parts});
  AddPass(r, first, {x, between, shift, kept, gone, parts, divisor});
  AddPass(r, second, {between, y, shift, {{outputs, parts}}, {{parts, 1}}, 1, divisor});
}

}  // namespace epiphyte::vulkan
