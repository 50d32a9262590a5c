#include "plugins/vulkan/ops/nn/normalize.h"

#include <utility>

namespace epiphyte::vulkan {
namespace {

// Joins neighbouring dimensions to groups. A group has a size, and a stride in the statistics.
std::vector<std::pair<int64_t, int64_t>> GroupsOf(const Dims& dims, const std::vector<bool>& kept) {
  std::vector<std::pair<int64_t, int64_t>> groups;  // innermost first
  int64_t stride = 1;
  bool last_kept = false;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (!groups.empty() && last_kept == kept[i]) {
      groups.back().first *= dims[i];
    } else {
      groups.emplace_back(dims[i], kept[i] ? stride : 0);
    }
    last_kept = kept[i];
    if (kept[i]) stride *= dims[i];
  }
  if (groups.empty()) groups.emplace_back(1, 0);
  return {groups.rbegin(), groups.rend()};
}

}  // namespace

void AddNormalize(Recording& r, NormalizeForm form, const RowNorm& norm, const NormalizeTensors& tensors,
                  const Dims& dims, const std::vector<bool>& kept) {
  const auto groups = GroupsOf(dims, kept);
  std::vector<uint32_t> words = norm.Words();
  words.push_back(Word(static_cast<int64_t>(groups.size())));
  for (const auto& [size, stride] : groups) words.insert(words.end(), {Word(size), Word(stride)});
  // An operand that this form doesn't need is not read, but its binding must be valid.
  const auto or_x = [&](int32_t tensor) { return Recording::ReadTensor(tensor >= 0 ? tensor : tensors.x); };
  const int64_t pieces = (groups.back().first + 15) / 16;
  const int64_t count = dims.Count();
  r.Add({.shader = Recording::ShaderFor("normalize", r.tensor(tensors.x).type),
         .specialization = {norm.centred ? 1u : 0u, tensors.bias >= 0 ? 1u : 0u, static_cast<uint32_t>(form)},
         .parameters = std::move(words),
         .bindings = {Recording::ReadTensor(tensors.x), or_x(tensors.a), or_x(tensors.b), or_x(tensors.scale),
                      or_x(tensors.bias), Recording::Write(tensors.y)},
         .groups = r.GroupsFor(count == 0 ? 0 : count / groups.back().first * pieces),
         .work = static_cast<uint64_t>(count)});
}

}  // namespace epiphyte::vulkan
