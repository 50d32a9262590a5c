#include "plugins/npu/simulator/isa/footprint.h"

#include <span>

namespace epiphyte::npusim {
namespace {

using Wide = __int128;

// An element (or run) of size bytes in nested loops.
Access Loops(Wide offset, Wide size, std::span<const uint32_t> count, std::span<const int32_t> stride, bool write) {
  Access access{.begin = offset, .end = offset + size, .write = write};
  for (size_t i = 0; i < count.size(); ++i) {
    const Wide reach = static_cast<Wide>(stride[i]) * (static_cast<Wide>(count[i]) - 1);
    (reach < 0 ? access.begin : access.end) += reach;
  }
  return access;
}

Access Bytes(Wide offset, Wide size, bool write = false) {
  return {.begin = offset, .end = offset + size, .write = write};
}

// [height][width][channels] with strides of rows and pixels.
Access Image(Wide offset, Wide row_stride, Wide pixel_stride, Wide height, Wide width, Wide channel_bytes, bool write) {
  return Bytes(offset, (height - 1) * row_stride + (width - 1) * pixel_stride + channel_bytes, write);
}

Access Accumulators(Wide first, Wide row_stride, Wide pixel_stride, Wide height, Wide width, Wide channels,
                    bool write) {
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
    const Wide weight_rows =
        static_cast<Wide>(c.window.height) * c.window.width * (c.depthwise != 0 ? 1 : c.in_channels);
    visit(Bytes(c.w_offset, (weight_rows - 1) * c.w_row_stride + c.out_channels));
    if (c.per_channel_zero_points != 0) visit(Bytes(c.w_zero_points_offset, Wide{4} * c.out_channels));
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
    visit(Bytes(c.table_offset, static_cast<Wide>(sizeof(ChannelFactor)) * c.channels));
    if (c.lookup != 0) visit(Bytes(c.lookup_offset, 256));
    visit(Image(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.height, c.width,
                static_cast<Wide>(c.channels) * TypeSize(c.y_type), true));
  }
  void operator()(const ElementwiseCommand& c) const {
    visit(Loops(c.a_offset, TypeSize(c.a_type), c.count, c.a_stride, false));
    if (c.kind != Elementwise::kRescale) visit(Loops(c.b_offset, TypeSize(c.b_type), c.count, c.b_stride, false));
    visit(Loops(c.y_offset, TypeSize(c.y_type), c.count, c.y_stride, true));
  }
  void operator()(const PoolCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width,
                static_cast<Wide>(c.channels) * TypeSize(c.x_type), false));
    visit(Image(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.out_height, c.out_width,
                static_cast<Wide>(c.channels) * TypeSize(c.y_type), true));
  }
  void operator()(const LookupCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, 0, c.rows, 1, c.columns, false));
    visit(Bytes(c.table_offset, Wide{256} * c.y_element_size));
    visit(Image(c.y_offset, c.y_row_stride, 0, c.rows, 1, static_cast<Wide>(c.columns) * c.y_element_size, true));
  }
  void operator()(const SoftmaxCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, 0, c.rows, 1, c.columns, false));
    visit(Bytes(c.exponentials_offset, 1024));
    visit(Image(c.y_offset, c.y_row_stride, 0, c.rows, 1, c.columns, true));
  }
  void operator()(const LayerNormCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, 0, c.rows, 1, static_cast<Wide>(c.columns) * TypeSize(c.x_type), false));
    visit(Bytes(c.scale_offset, Wide{4} * c.columns));
    visit(Bytes(c.bias_offset, Wide{4} * c.columns));
    visit(Image(c.y_offset, c.y_row_stride, 0, c.rows, 1, static_cast<Wide>(c.columns) * TypeSize(c.y_type), true));
  }
  void operator()(const ResizeCommand& c) const {
    visit(Image(c.x_offset, c.x_row_stride, c.x_pixel_stride, c.height, c.width, c.channels, false));
    visit(Bytes(c.rows_offset, static_cast<Wide>(sizeof(ResizeSource)) * c.out_height));
    visit(Bytes(c.columns_offset, static_cast<Wide>(sizeof(ResizeSource)) * c.out_width));
    visit(Image(c.y_offset, c.y_row_stride, c.y_pixel_stride, c.out_height, c.out_width, c.channels, true));
  }
};

}  // namespace

void ForEachAccess(const Work& work, const std::function<void(const Access&)>& visit) {
  std::visit(Visitor{visit}, work);
}

}  // namespace epiphyte::npusim
