#include "plugins/npu/simulator/isa/footprint.h"

#include <algorithm>

namespace epiphyte::npusim {
namespace {

// Accesses of `size` bytes, an element or a run, in nested loops.
template <size_t N>
Access Loops(uint64_t offset, uint64_t size, const std::array<uint32_t, N>& count, const std::array<int32_t, N>& stride,
             bool write) {
  Access access{.write = write, .offset = offset, .run = size};
  std::copy(count.begin(), count.end(), access.count.begin());
  std::copy(stride.begin(), stride.end(), access.stride.begin());
  return access;
}

Access Bytes(uint64_t offset, uint64_t size) { return {.offset = offset, .run = size}; }

// An image [height][width][channels] with strides of rows and pixels.
Access Image(uint64_t offset, int64_t row_stride, int64_t pixel_stride, uint64_t height, uint64_t width,
             uint64_t channel_bytes, bool write) {
  return {.write = write,
          .offset = offset,
          .run = channel_bytes,
          .count = {height, width, 1, 1, 1},
          .stride = {row_stride, pixel_stride}};
}

Access Accumulators(uint64_t first, int64_t row_stride, int64_t pixel_stride, uint64_t height, uint64_t width,
                    uint64_t channels, bool write) {
  Access access = Image(first, row_stride, pixel_stride, height, width, channels, write);
  access.space = Space::kAccumulator;
  return access;
}

struct Visitor {
  const std::function<void(const Access&)>& visit;

  void Move(const Transfer& c, bool load) const {
    Access outside = Loops(c.external_offset, c.run, c.count, c.external_stride, !load);
    outside.space = Space::kExternal;
    outside.region = c.region;
    visit(outside);
    visit(Loops(c.scratchpad_offset, c.run, c.count, c.scratchpad_stride, load));
  }
  void operator()(const LoadCommand& c) const { Move(c, true); }
  void operator()(const StoreCommand& c) const { Move(c, false); }
  void operator()(const FillCommand& c) const { visit(Loops(c.offset, c.element_size, c.count, c.stride, true)); }
  void operator()(const ConvCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width, c.in_channels, false));
    Access weights = Image(c.w_offset, 0, c.w_row_stride, 1, 1, c.out_channels, false);
    // Rows of weights are w_row_stride apart, both for input channels and for kernel positions.
    weights.count = {c.window.height, c.window.width, c.depthwise != 0 ? 1 : c.in_channels, 1, 1};
    const int64_t position = static_cast<int64_t>(weights.count[2]) * c.w_row_stride;
    weights.stride = {position * c.window.width, position, c.w_row_stride};
    visit(weights);
    if (c.per_channel_zero_points != 0) visit(Bytes(c.w_zero_points_offset, uint64_t{4} * c.out_channels));
    Access result = Accumulators(c.accumulator, c.accumulator_row_stride, c.accumulator_pixel_stride, c.out_height,
                                 c.out_width, c.out_channels, true);
    visit(result);
    if (c.accumulate != 0) {
      result.write = false;
      visit(result);
    }
  }
  void operator()(const PostCommand& c) const {
    visit(Accumulators(c.accumulator, c.accumulator_row_stride, c.accumulator_pixel_stride, c.height, c.width,
                       c.channels, false));
    visit(Bytes(c.table_offset, static_cast<uint64_t>(sizeof(ChannelFactor)) * c.channels));
    if (c.lookup != 0) visit(Bytes(c.lookup_offset, 256));
    visit(Image(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.height, c.width,
                static_cast<uint64_t>(c.channels) * TypeSize(c.y_type), true));
  }
  void operator()(const ElementwiseCommand& c) const {
    visit(Loops(c.a_offset, TypeSize(c.a_type), c.count, c.a_stride, false));
    if (c.kind != Elementwise::kRescale) visit(Loops(c.b_offset, TypeSize(c.b_type), c.count, c.b_stride, false));
    visit(Loops(c.y_offset, TypeSize(c.y_type), c.count, c.y_stride, true));
  }
  void operator()(const PoolCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width,
                static_cast<uint64_t>(c.channels) * TypeSize(c.x_type), false));
    visit(Image(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.out_height, c.out_width,
                static_cast<uint64_t>(c.channels) * TypeSize(c.y_type), true));
  }
  void operator()(const LookupCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, 0, c.rows, 1, c.columns, false));
    visit(Bytes(c.table_offset, uint64_t{256} * c.y_element_size));
    visit(Image(c.y_offset, c.y_row_stride, 0, c.rows, 1, static_cast<uint64_t>(c.columns) * c.y_element_size, true));
  }
  void operator()(const SoftmaxCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, 0, c.rows, 1, c.columns, false));
    visit(Bytes(c.exponentials_offset, 1024));
    visit(Image(c.y_offset, c.y_row_stride, 0, c.rows, 1, c.columns, true));
  }
  void operator()(const LayerNormCommand& c) const {
    visit(
        Image(c.x_offset, c.x_row_stride, 0, c.rows, 1, static_cast<uint64_t>(c.columns) * TypeSize(c.x_type), false));
    visit(Bytes(c.scale_offset, uint64_t{4} * c.columns));
    visit(Bytes(c.bias_offset, uint64_t{4} * c.columns));
    visit(Image(c.y_offset, c.y_row_stride, 0, c.rows, 1, static_cast<uint64_t>(c.columns) * TypeSize(c.y_type), true));
  }
  void operator()(const ResizeCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width, c.channels, false));
    visit(Bytes(c.rows_offset, static_cast<uint64_t>(sizeof(ResizeSource)) * c.out_height));
    visit(Bytes(c.columns_offset, static_cast<uint64_t>(sizeof(ResizeSource)) * c.out_width));
    visit(Image(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.out_height, c.out_width, c.channels, true));
  }
};

}  // namespace

void ForEachAccess(const QuantizedOp& work, const std::function<void(const Access&)>& visit) {
  std::visit(Visitor{visit}, work);
}

}  // namespace epiphyte::npusim
