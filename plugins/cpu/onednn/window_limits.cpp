#include "plugins/cpu/onednn/window_limits.h"

#include <algorithm>

namespace epiphyte::cpu {

bool SuitsOneDnn(const kit::WindowAttributes& attributes) {
  constexpr int64_t kMost = INT16_MAX;
  const auto suits = [](int64_t number) { return number <= kMost; };
  for (const std::vector<int64_t>* list :
       {&attributes.kernel, &attributes.strides, &attributes.dilations, &attributes.pads})
    if (!std::all_of(list->begin(), list->end(), suits)) return false;
  return std::none_of(attributes.pads.begin(), attributes.pads.end(), [](int64_t pad) { return pad < 0; });
}

}  // namespace epiphyte::cpu
