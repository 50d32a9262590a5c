// Lowers convolutions and GEMMs.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/npu/simulator/blob/little_endian.h"
#include "plugins/npu/simulator/compiler/boxes.h"
#include "plugins/npu/simulator/compiler/lower.h"
#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

bool IsByte(uint32_t type) { return type == NSDK_INT8 || type == NSDK_UINT8; }
Type ByteType(uint32_t type) { return type == NSDK_INT8 ? Type::kInt8 : Type::kUint8; }

// Spatial extents, as two dimensions.
struct Space {
  int64_t y = 1, x = 1;
};
Space LastTwo(const std::vector<int64_t>& values, size_t first, size_t rank, int64_t otherwise) {
  if (rank == 1) return {otherwise, values[first]};
  return {values[first], values[first + 1]};
}

uint32_t Narrow(const Op& op, int64_t value, int64_t least, const char* what) {
  if (value < least || value > 1 << 20) {
    Wrong(op, std::string(what) + " is " + std::to_string(value) + ", expected " + std::to_string(least) + " to 2^20");
  }
  return static_cast<uint32_t>(value);
}

// Adds weights in bricks (conv_layer.h) to `packed`. element(o, ky, kx, i) is the index of an element in `data`.
template <typename Element>
void AddBricks(std::vector<std::byte>& packed, std::span<const std::byte> data, const Space& kernel, int64_t in,
               int64_t out, int64_t brick, const WeightStore::Made& made, const Element& element) {
  // Elements of a row of bricks are gathered from anywhere, which is slower than copying. So progress is reported more
  // often.
  constexpr size_t kTold = WeightStore::kStep / 4;
  const int64_t bricks = (out + brick - 1) / brick;
  for (int64_t b = 0; b < bricks; ++b) {
    for (int64_t ky = 0; ky < kernel.y; ++ky) {
      for (int64_t kx = 0; kx < kernel.x; ++kx) {
        for (int64_t i = 0; i < in; ++i) {
          size_t at = packed.size();
          packed.resize(at + static_cast<size_t>(brick));
          if (at / kTold != packed.size() / kTold) made(at);
          const int64_t end = std::min(out, (b + 1) * brick);
          for (int64_t o = b * brick; o < end; ++o) packed[at++] = data[static_cast<size_t>(element(o, ky, kx, i))];
        }
      }
    }
  }
}

}  // namespace

uint64_t Lowering::AddFactors(const Op& op, const Tensor& weights, uint32_t bias, int64_t channels, double x_scale,
                              const Quant& y) {
  // All groups of ConvTranspose have the same scales.
  const auto scale_of = [&weights](int64_t o) { return weights.Scale(static_cast<size_t>(o) % weights.scales.size()); };
  for (size_t i = 0; i < weights.scales.size(); ++i) CheckFactor(x_scale * weights.Scale(i) / y.scale);
  const Tensor* b = bias == NSDK_NONE ? nullptr : &graph_.tensors[bias];
  if (b != nullptr) {
    if (b->type != NSDK_INT32) Refuse(std::string("the bias is ") + TypeName(b->type) + ", the NPU has int32");
    if (!b->constant) Refuse("the bias isn't a constant");
    if (b->Elements() != channels) {
      Wrong(op, "the bias has shape " + ShapeText(b->dims) + ", expected " + std::to_string(channels) + " elements");
    }
    for (size_t i = 0; i < b->scales.size(); ++i) {
      const double expected = x_scale * scale_of(static_cast<int64_t>(i));
      if (std::abs(b->Scale(i) - expected) > 1e-4 * expected || b->ZeroPoint(i) != 0) {
        Refuse("the bias has scale " + std::to_string(b->Scale(i)) + " and zero point " +
               std::to_string(b->ZeroPoint(i)) + ", expected the input's scale times the weights', and 0");
      }
    }
  }
  return lowered_.weights.Add(
      static_cast<uint64_t>(channels) * sizeof(ChannelFactor), [=, y_scale = y.scale](const WeightStore::Made& made) {
        std::vector<std::byte> bytes;
        for (int64_t o = 0; o < channels; ++o) {
          if (o % 16384 == 0) made(bytes.size());
          const FixedPoint factor = ToFixedPoint(x_scale * scale_of(o) / y_scale);
          const uint32_t word = b == nullptr ? 0 : LittleEndian<uint32_t>(b->data.data() + 4 * o);
          PutLittleEndian<uint32_t>(bytes, word);
          PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(factor.multiplier));
          PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(factor.shift));
        }
        return bytes;
      });
}

void Lowering::FinishConv(const Op& op, ConvLayer& layer, const std::function<ImageView(const View&)>& image) {
  const auto& fused = fused_[&op - graph_.ops.data()];
  const Quant y = QuantOf(Out(op), "the result");
  const Bounds bounds = BoundsOf(op, y.type);
  layer.post_type = y.type;
  layer.out_zero_point = y.zero_point;
  layer.low = bounds.low;
  layer.high = bounds.high;
  uint32_t tile = op.outputs[0];  // tensor that is in the tile
  for (const uint32_t index : fused) {
    const Op& next = graph_.ops[index];
    if (next.kind == NSDK_LOOKUP) {
      layer.lookup = AddTable(next);
      tile = next.outputs[0];
      continue;
    }
    const bool is_b = next.inputs[1] == tile;
    FusedOp step;
    step.command = BinaryCommand(next);
    step.tile_is_b = is_b;
    step.other = image(ViewOf(next.inputs[is_b ? 0 : 1]));
    step.op = index;
    layer.reads.push_back(step.other.storage);
    layer.fused.push_back(step);
    tile = next.outputs[0];
  }
  for (const View& target : TargetsOf(tile)) {
    layer.targets.push_back(image(target));
    layer.writes.push_back(target.storage);
  }
  layer.reads.push_back(layer.x.storage);
  if (layer.b.storage != kNoStorage) layer.reads.push_back(layer.b.storage);
}

void Lowering::LowerConv(const Op& op) {
  CheckCounts(op, 2, 3);
  const bool transposed = op.kind == NSDK_CONV_TRANSPOSE;
  const Tensor &x = In(op, 0), &w = In(op, 1), &y = Out(op);
  const size_t rank = x.dims.size();
  if (rank != 3 && rank != 4) {
    Refuse("the input has shape " + ShapeText(x.dims) + ", the NPU convolves over one or two dimensions of space");
  }
  if (w.dims.size() != rank || y.dims.size() != rank) Wrong(op, "input, weights and result differ in rank");
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  if (!w.constant) Refuse("the weights aren't constant");
  if (!IsByte(w.type)) Refuse(std::string("the weights are ") + TypeName(w.type) + ", the NPU has int8 and uint8");
  if (w.scales.empty()) Refuse("the weights aren't quantised");
  const size_t spaces = rank - 2;
  const auto groups = static_cast<int64_t>(Narrow(op, op.Int(NSDK_GROUPS, 1), 1, "the number of groups"));
  const int64_t in = x.dims[1], out = y.dims[1];
  if (in % groups != 0 || out % groups != 0) {
    Wrong(op, std::to_string(groups) + " groups don't divide " + std::to_string(in) + " and " + std::to_string(out) +
                  " channels");
  }
  const int64_t group_in = in / groups, group_out = out / groups;
  if (w.dims[0] != (transposed ? in : out) || w.dims[1] != (transposed ? group_out : group_in)) {
    Wrong(op, "the weights have shape " + ShapeText(w.dims) + ", which doesn't match " + std::to_string(in) + " and " +
                  std::to_string(out) + " channels in " + std::to_string(groups) + " groups");
  }
  if (w.scales.size() > 1 && w.axis != (transposed ? 1 : 0)) {
    Refuse("the weights have scales along dimension " + std::to_string(w.axis) +
           ", the NPU has them along output channels");
  }
  const auto strides = op.Ints(NSDK_STRIDES, spaces, 1), dilations = op.Ints(NSDK_DILATIONS, spaces, 1),
             pads = op.Ints(NSDK_PADS, 2 * spaces, 0), out_pads = op.Ints(NSDK_OUTPUT_PADS, spaces, 0);
  const Space stride = LastTwo(strides, 0, spaces, 1), dilation = LastTwo(dilations, 0, spaces, 1),
              begin = LastTwo(pads, 0, spaces, 0), end = LastTwo(pads, spaces, spaces, 0),
              more = LastTwo(out_pads, 0, spaces, 0), kernel = LastTwo(w.dims, 2, spaces, 1),
              from = LastTwo(x.dims, 2, spaces, 1), to = LastTwo(y.dims, 2, spaces, 1);
  if (kernel.y * kernel.x > 16384) Refuse("the kernel has more than 16,384 elements");

  auto& layer = AddLayer<ConvLayer>(op);
  // One axis: its parameters in the operator (Axis), and those that the layer needs (WindowAxis).
  struct Axis {
    int64_t size, kernel, stride, dilation, pad_begin, pad_end, output_pad, result;
  };
  struct WindowAxis {
    uint32_t size, stride, dilation;
    int32_t pad;
    uint32_t up;
  };
  const auto window_of = [&](const Axis& axis) -> WindowAxis {
    WindowAxis made{};
    made.size = Narrow(op, axis.kernel, 1, "a kernel's size");
    made.dilation = Narrow(op, axis.dilation, 1, "a dilation");
    Narrow(op, axis.stride, 1, "a stride");
    Narrow(op, axis.pad_begin, 0, "a pad");
    Narrow(op, axis.pad_end, 0, "a pad");
    Narrow(op, axis.output_pad, 0, "an output pad");
    const int64_t reach = axis.dilation * (axis.kernel - 1);
    int64_t expected = 0;
    if (transposed) {
      expected = (axis.size - 1) * axis.stride + axis.output_pad + reach + 1 - axis.pad_begin - axis.pad_end;
      made.up = static_cast<uint32_t>(axis.stride);
      made.stride = 1;
      made.pad = static_cast<int32_t>(reach - axis.pad_begin);
    } else {
      expected = (axis.size + axis.pad_begin + axis.pad_end - reach - 1) / axis.stride + 1;
      made.up = 1;
      made.stride = static_cast<uint32_t>(axis.stride);
      made.pad = static_cast<int32_t>(axis.pad_begin);
    }
    if (expected != axis.result) {
      Wrong(op, "the result has " + std::to_string(axis.result) + " rows or columns, its parameters make " +
                    std::to_string(expected));
    }
    if (reach > 1 << 20) Refuse("a dilated kernel is larger than 2^20");
    return made;
  };
  const WindowAxis down = window_of({from.y, kernel.y, stride.y, dilation.y, begin.y, end.y, more.y, to.y});
  const WindowAxis along = window_of({from.x, kernel.x, stride.x, dilation.x, begin.x, end.x, more.x, to.x});
  Window& v = layer.window;
  v.height = down.size, v.stride_y = down.stride, v.dilation_y = down.dilation, v.pad_y = down.pad;
  v.width = along.size, v.stride_x = along.stride, v.dilation_x = along.dilation, v.pad_x = along.pad;
  layer.up_y = down.up;
  layer.up_x = along.up;
  layer.depthwise = groups > 1 && group_in == 1 && group_out == 1;
  const int64_t instances = layer.depthwise ? 1 : groups;  // instances of an image
  layer.in_rows = static_cast<uint32_t>(from.y);
  layer.in_columns = static_cast<uint32_t>(from.x);
  layer.in_channels = static_cast<uint32_t>(layer.depthwise ? in : group_in);
  layer.out_rows = static_cast<uint32_t>(to.y);
  layer.out_columns = static_cast<uint32_t>(to.x);
  layer.out_channels = static_cast<uint32_t>(layer.depthwise ? out : group_out);
  layer.x = ImageOf(ViewOf(op.inputs[0]), static_cast<uint32_t>(instances), group_in);
  layer.x_type = xq.type;
  layer.x_zero_point = xq.zero_point;
  layer.w_type = ByteType(w.type);
  layer.w_zero_point = w.ZeroPoint();

  // The weights of each group, as bricks.
  const int64_t brick = config_.columns, depth = layer.depthwise ? 1 : group_in, wide = layer.out_channels;
  const int64_t group_bytes = (wide + brick - 1) / brick * brick * kernel.y * kernel.x * depth;
  const uint64_t packed = lowered_.weights.Add(
      static_cast<uint64_t>(group_bytes * instances),
      [&w, kernel, depth, wide, brick, instances, transposed, group_in, group_out, group_bytes,
       is_depthwise = layer.depthwise](const WeightStore::Made& made) {
        std::vector<std::byte> bytes;
        bytes.reserve(static_cast<size_t>(group_bytes * instances));
        const int64_t area = kernel.y * kernel.x;
        for (int64_t g = 0; g < instances; ++g) {
          AddBricks(bytes, w.data, kernel, depth, wide, brick, made, [&](int64_t o, int64_t ky, int64_t kx, int64_t i) {
            if (!transposed) return ((g * group_out + o) * depth + i) * area + ky * kernel.x + kx;
            // The image has gaps where the kernel stepped, so the kernel is read from its end.
            const int64_t at = (kernel.y - 1 - ky) * kernel.x + kernel.x - 1 - kx;
            if (is_depthwise) return o * area + at;
            return ((g * group_in + i) * group_out + o) * area + at;
          });
        }
        return bytes;
      });
  const uint64_t factors = AddFactors(op, w, op.Input(2), out, xq.scale, yq);
  const bool each = std::any_of(w.zero_points.begin(), w.zero_points.end(),
                                [&](int32_t zero_point) { return zero_point != w.ZeroPoint(); });
  const uint64_t zero_points =
      !each ? 0 : lowered_.weights.Add(static_cast<uint64_t>(4 * out), [&w, out](const auto& made) {
        std::vector<std::byte> bytes;
        for (int64_t o = 0; o < out; ++o) {
          if (o % 65536 == 0) made(bytes.size());
          PutLittleEndian<uint32_t>(bytes,
                                    static_cast<uint32_t>(w.ZeroPoint(static_cast<size_t>(o) % w.scales.size())));
        }
        return bytes;
      });
  for (int64_t n = 0; n < x.dims[0]; ++n) {
    for (int64_t g = 0; g < instances; ++g) {
      const auto channel = static_cast<uint64_t>(g * wide);
      layer.weights.push_back(packed + static_cast<uint64_t>(g * group_bytes));
      layer.tables.push_back(factors + channel * sizeof(ChannelFactor));
      if (each) layer.zero_points.push_back(zero_points + channel * 4);
    }
  }
  if (x.dims[0] != y.dims[0]) Wrong(op, "input and result differ in their batch");
  FinishConv(op, layer, [&](const View& view) { return ImageOf(view, static_cast<uint32_t>(instances), wide); });
}

void Lowering::LowerMatMul(const Op& op) {
  CheckCounts(op, 2, 3);
  const Tensor &a = In(op, 0), &b = In(op, 1), &y = Out(op);
  const size_t rank = y.dims.size();
  if (a.dims.size() < 2 || b.dims.size() < 2 || rank != std::max(a.dims.size(), b.dims.size())) {
    Wrong(op, "the operands have shapes " + ShapeText(a.dims) + " and " + ShapeText(b.dims) + ", the result " +
                  ShapeText(y.dims) + ", expected matrices");
  }
  const Quant aq = QuantOf(a, "the first operand"), yq = QuantOf(y, "the result");
  if (!IsByte(b.type))
    Refuse(std::string("the second operand is ") + TypeName(b.type) + ", the NPU has int8 and uint8");
  if (b.scales.empty()) Refuse("the second operand isn't quantised");
  const bool swap_a = op.Int(NSDK_TRANSPOSE_A, 0) != 0, swap_b = op.Int(NSDK_TRANSPOSE_B, 0) != 0;
  // Views the last two dimensions as [m, k] and [k, n], and gives batches the rank of the result.
  const auto matrix = [&](View view, bool swap) {
    const size_t own = view.dims.size();
    if (swap) {
      std::swap(view.dims[own - 1], view.dims[own - 2]);
      std::swap(view.strides[own - 1], view.strides[own - 2]);
    }
    view.dims.insert(view.dims.begin(), rank - own, 1);
    view.strides.insert(view.strides.begin(), rank - own, 0);
    for (size_t i = 0; i + 2 < rank; ++i) {
      if (view.dims[i] != y.dims[i] && view.dims[i] != 1) {
        Wrong(op, "batch dimension " + std::to_string(i) + " of an operand doesn't broadcast to " + ShapeText(y.dims));
      }
      if (view.dims[i] == 1) view.strides[i] = 0;
    }
    return view;
  };
  const bool scales_by_column = b.scales.size() > 1;
  if (scales_by_column && b.axis != (swap_b ? b.dims.size() - 2 : b.dims.size() - 1)) {
    Refuse("the second operand has scales along dimension " + std::to_string(b.axis) +
           ", the NPU has them along columns of the result");
  }
  const bool packed = b.constant && b.Elements() == b.dims[b.dims.size() - 1] * b.dims[b.dims.size() - 2];
  View none;
  none.dims = b.dims;
  none.strides = RowMajorStrides(b.dims);
  const View av = matrix(ViewOf(op.inputs[0]), swap_a), bv = matrix(packed ? none : ViewOf(op.inputs[1]), swap_b);
  const int64_t m = av.dims[rank - 2], k = av.dims[rank - 1], n = bv.dims[rank - 1];
  if (bv.dims[rank - 2] != k || y.dims[rank - 2] != m || y.dims[rank - 1] != n) {
    Wrong(op, "the operands have shapes " + ShapeText(a.dims) + " and " + ShapeText(b.dims) + ", the result " +
                  ShapeText(y.dims) + ": they don't match");
  }

  auto& layer = AddLayer<ConvLayer>(op);
  layer.in_columns = layer.out_columns = static_cast<uint32_t>(m);
  layer.in_channels = static_cast<uint32_t>(k);
  layer.out_channels = static_cast<uint32_t>(n);
  layer.x_type = aq.type;
  layer.x_zero_point = aq.zero_point;
  layer.w_type = ByteType(b.type);
  layer.w_zero_point = b.ZeroPoint();
  const std::vector<int64_t> batches(y.dims.begin(), y.dims.end() - 2);
  const auto image = [&](const View& view, size_t pixel, size_t channel) {
    ImageView result;
    result.storage = view.storage;
    result.pixel = view.strides[pixel];
    result.channel = view.strides[channel];
    ForEachTile(batches, std::vector<int64_t>(batches.size(), 1), [&](const auto& begin, const auto&) {
      int64_t base = view.offset;
      for (size_t i = 0; i < begin.size(); ++i) base += begin[i] * view.strides[i];
      result.base.push_back(base);
    });
    return result;
  };
  layer.x = image(av, rank - 2, rank - 1);
  if (!packed) layer.b = image(bv, rank - 2, rank - 1);
  FinishConv(op, layer, [&](const View& view) { return image(view, rank - 2, rank - 1); });

  // Rows of all batches form one GEMM if they are contiguous in all tensors of the layer.
  size_t instances = layer.x.base.size();
  if (packed && instances > 1) {
    std::vector<ImageView*> views = {&layer.x};
    for (ImageView& view : layer.targets) views.push_back(&view);
    for (FusedOp& fused : layer.fused) views.push_back(&fused.other);
    const bool follow = std::all_of(views.begin(), views.end(), [&](const ImageView* view) {
      for (size_t i = 1; i < instances; ++i) {
        if (view->base[i] - view->base[i - 1] != m * view->pixel) return false;
      }
      return true;
    });
    if (follow) {
      for (ImageView* view : views) view->base.resize(1);
      layer.in_columns = layer.out_columns = static_cast<uint32_t>(m * static_cast<int64_t>(instances));
      instances = 1;
    }
  }
  const uint64_t factors = AddFactors(op, b, op.Input(2), n, aq.scale, yq);
  layer.tables.assign(instances, factors);
  if (packed) {
    const int64_t brick = config_.columns;
    const auto bytes = static_cast<uint64_t>((n + brick - 1) / brick * brick * k);
    const uint64_t at = lowered_.weights.Add(bytes, [&b, k, n, brick, bytes, row = bv.strides[rank - 2],
                                                     column = bv.strides[rank - 1]](const WeightStore::Made& made) {
      std::vector<std::byte> packed;
      packed.reserve(bytes);
      AddBricks(packed, b.data, {1, 1}, k, n, brick, made,
                [&](int64_t o, int64_t, int64_t, int64_t i) { return i * row + o * column; });
      return packed;
    });
    layer.weights.assign(instances, at);
  }
  const bool each = std::any_of(b.zero_points.begin(), b.zero_points.end(),
                                [&](int32_t zero_point) { return zero_point != b.ZeroPoint(); });
  if (each) {
    const uint64_t at = lowered_.weights.Add(static_cast<uint64_t>(4 * n), [&b, n](const auto& made) {
      std::vector<std::byte> bytes;
      for (int64_t o = 0; o < n; ++o) {
        if (o % 65536 == 0) made(bytes.size());
        PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(b.ZeroPoint(static_cast<size_t>(o))));
      }
      return bytes;
    });
    layer.zero_points.assign(instances, at);
  }
}

}  // namespace epiphyte::npusim
