#include "plugins/cpu/ops/math/elementwise.h"

#include "plugins/cpu/onednn/layout.h"

namespace epiphyte::cpu {

bool IsDense(const Tensor& tensor) {
  return tensor.layout == nullptr || tensor.layout->desc.get_size() == tensor.Bytes();
}

bool SameLayout(const Tensor& a, const Tensor& b) {
  if (!(a.dims == b.dims)) return false;
  if (a.layout == b.layout) return true;
  return a.layout != nullptr && b.layout != nullptr && a.layout->desc == b.layout->desc;
}

}  // namespace epiphyte::cpu
