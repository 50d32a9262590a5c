#include "plugins/cpu/ops/quantized/byte_pool.h"

#include "plugins/cpu/simd/window/byte_rows.h"

namespace epiphyte::cpu {

void MaxPoolOfBytes(OpContext& context, const kit::PoolAttributes& attributes, ChannelAxis axis) {
  const bool is_signed = context.AnyLayoutInput(0).type == EP_TYPE_INT8;
  const uint8_t least = is_signed ? 0x80 : 0;
  PoolBytes(context, attributes, axis, 1, least, [=](const TapLines&, int64_t channels) {
    return [=](const BytePoolPosition& at) { simd::MaxOfByteRows(at.rows, at.count, is_signed, at.to, channels); };
  });
}

}  // namespace epiphyte::cpu
