#include "epiphyte/kit/shape/broadcast.hpp"

#include "epiphyte/kit/abi/fail.hpp"

namespace epiphyte::kit {

Dims BroadcastShape(std::span<const Dims* const> shapes) {
  size_t rank = 0;
  for (const Dims* shape : shapes) rank = std::max(rank, shape->size());
  Dims out(rank, 1);
  for (const Dims* shape : shapes) {
    const size_t shift = rank - shape->size();
    for (size_t i = 0; i < shape->size(); ++i) {
      const int64_t dim = (*shape)[i];
      int64_t& result = out[shift + i];
      if (dim == result || dim == 1) continue;
      if (result != 1)
        FailArgument("shapes ", ShapeText(*shapes[0]), " and ", ShapeText(*shape), " do not broadcast: ", result,
                     " and ", dim, " in dimension ", shape->size() - i, " from the right");
      result = dim;
    }
  }
  return out;
}

Dims BroadcastShape(const Dims& a, const Dims& b) {
  const Dims* shapes[] = {&a, &b};
  return BroadcastShape(shapes);
}

}  // namespace epiphyte::kit
