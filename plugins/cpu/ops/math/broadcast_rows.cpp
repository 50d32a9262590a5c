#include "plugins/cpu/ops/math/broadcast_rows.h"

#include <algorithm>
#include <functional>

#include "epiphyte/kit/shape/broadcast.hpp"

namespace epiphyte::cpu {

void BroadcastRows(OpContext& context, const BinaryRows& rows, const Dims& out, const RowsOperand& a,
                   const RowsOperand& b, void* y) {
  const kit::BroadcastLoop<2> loop(out, {&a.dims, &b.dims});
  const auto bytes = static_cast<int64_t>(rows.element_bytes), result_bytes = static_cast<int64_t>(rows.result_bytes);
  const auto* const left = static_cast<const std::byte*>(a.data);
  const auto* const right = static_cast<const std::byte*>(b.data);
  auto* const result = static_cast<std::byte*>(y);
  const auto share = [&](int64_t begin, int64_t end) {
    loop.Run(begin, end, [&](int64_t n, int64_t offset, const kit::BroadcastLoop<2>::Operands& in) {
      rows.run(rows.function, left + in[0].offset * bytes, in[0].stride, right + in[1].offset * bytes, in[1].stride,
               result + offset * result_bytes, n);
    });
  };
  const int64_t count = loop.count();
  const int64_t grain = std::max<int64_t>(rows.grain / std::max<int64_t>(rows.cost, 1), 1);
  if (count > grain) return context.ParallelFor(count, grain, std::cref(share));
  if (count > 0) share(0, count);
}

}  // namespace epiphyte::cpu
