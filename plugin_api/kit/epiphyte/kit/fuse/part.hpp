// PartOf: describes a value as a part of another value along one axis, cut out by Slice (of any opset) or Split.
//
//   if (const Part half = PartOf(editor, value); half && half.begin == 0 && half.end == half.size / 2) …
#pragma once

#include <cstdint>

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

struct Part {
  int32_t of = -1;  // the whole; -1: another operator makes the value, or its parameters are not constant
  int64_t axis = 0;
  int64_t size = 0;   // size of the whole along the axis; always known
  int64_t begin = 0;  // position in the whole
  int64_t end = 0;
  int64_t step = 1;  // 1 or more
  explicit operator bool() const { return of >= 0; }
};
Part PartOf(const ir::Editor& editor, int32_t value);

}  // namespace epiphyte::kit::fuse
