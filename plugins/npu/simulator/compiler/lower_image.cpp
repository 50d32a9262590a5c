// Lowers operators with windows that the array doesn't compute (pools, Resize), and operators on whole rows.
#include <algorithm>
#include <cmath>

#include "plugins/npu/simulator/blob/little_endian.h"
#include "plugins/npu/simulator/compiler/image_layer.h"
#include "plugins/npu/simulator/compiler/lower.h"
#include "plugins/npu/simulator/compiler/rows_layer.h"
#include "plugins/npu/simulator/isa/requantise.h"

namespace epiphyte::npusim {
namespace {

// Sets the parameters that every command on quantised elements has.
template <typename C>
void PutNumbers(C& c, const Quant& x, const Quant& y, const Bounds& bounds) {
  c.x_type = x.type;
  c.y_type = y.type;
  c.y_zero_point = y.zero_point;
  c.low = bounds.low;
  c.high = bounds.high;
  if constexpr (requires { c.multiplier; }) {
    const FixedPoint factor = ToFixedPoint(CheckFactor(x.scale / y.scale));
    c.x_zero_point = x.zero_point;
    c.multiplier = factor.multiplier;
    c.shift = factor.shift;
  }
}

// One dimension of a pool's window.
struct WindowAxis {
  int64_t size = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0, out = 1;
};

// Groups consecutive results by the number of elements of the padded input in their windows. A window may exceed the
// padding if the number of results was rounded up.
std::vector<std::pair<Range, uint32_t>> CountPadded(const WindowAxis& a) {
  std::vector<std::pair<Range, uint32_t>> stretches;
  for (int64_t i = 0; i < a.out; ++i) {
    const int64_t begin = i * a.stride - a.begin;
    const auto count = static_cast<uint32_t>(std::max<int64_t>(1, std::min(begin + a.kernel, a.size + a.end) - begin));
    if (stretches.empty() || stretches.back().second != count) {
      stretches.push_back({{static_cast<uint32_t>(i), static_cast<uint32_t>(i)}, count});
    }
    stretches.back().first.end = static_cast<uint32_t>(i + 1);
  }
  return stretches;
}

double SourceCoordinate(int64_t coordinates, int64_t i, double scale, int64_t in, int64_t out) {
  const auto at = static_cast<double>(i);
  switch (coordinates) {
    case 1: return at / scale;
    case 2: return out == 1 ? 0 : at * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    case 3: return out > 1 ? (at + 0.5) / scale - 0.5 : 0;
    default: return (at + 0.5) / scale - 0.5;
  }
}

ResizeAxis ResizeAxisOf(bool linear, int64_t coordinates, int64_t rounding, double scale, int64_t in, int64_t out) {
  ResizeAxis axis;
  for (int64_t i = 0; i < out; ++i) {
    const double source = SourceCoordinate(coordinates, i, scale, in, out);
    int64_t first = 0, second = 0;
    uint32_t fraction = 0;
    const auto last = static_cast<double>(in - 1);
    if (linear) {
      const double at = std::clamp(source, 0.0, last);
      first = static_cast<int64_t>(at);
      second = std::min(first + 1, in - 1);
      fraction = static_cast<uint32_t>(std::lround((at - static_cast<double>(first)) * (1 << 14)));
    } else {
      double nearest = source;
      switch (rounding) {
        case 1: nearest = std::floor(source + 0.5); break;
        case 2: nearest = std::floor(source); break;
        case 3: nearest = std::ceil(source); break;
        default: nearest = std::ceil(source - 0.5); break;
      }
      first = second = static_cast<int64_t>(std::clamp(nearest, 0.0, last));
    }
    axis.first.push_back(static_cast<uint32_t>(first));
    axis.second.push_back(static_cast<uint32_t>(second));
    axis.fraction.push_back(fraction);
  }
  return axis;
}

void CheckImage(const Op& op, const Tensor& x, const Tensor& y) {
  if (x.dims.size() != 3 && x.dims.size() != 4) {
    Refuse("the input has shape " + ShapeText(x.dims) + ", the NPU works on one or two dimensions of space");
  }
  if (y.dims.size() != x.dims.size() || x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) {
    Wrong(op, "shapes " + ShapeText(x.dims) + " and " + ShapeText(y.dims) + " differ in batch or channels");
  }
}

}  // namespace

void Lowering::LowerPool(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  CheckImage(op, x, y);
  const size_t spaces = x.dims.size() - 2;
  const bool average = op.kind == NSDK_AVERAGE_POOL, count_pads = op.Int(NSDK_COUNT_PADS, 0) != 0;
  if (!op.Has(NSDK_KERNEL)) Wrong(op, "it has no kernel");
  const auto kernel = op.Ints(NSDK_KERNEL, spaces, 1), strides = op.Ints(NSDK_STRIDES, spaces, 1),
             dilations = op.Ints(NSDK_DILATIONS, spaces, 1), pads = op.Ints(NSDK_PADS, 2 * spaces, 0);
  std::array<WindowAxis, 2> axes;
  for (size_t i = 0; i < spaces; ++i) {
    WindowAxis& a = axes[2 - spaces + i];
    a = {x.dims[2 + i], kernel[i], strides[i], dilations[i], pads[i], pads[spaces + i], y.dims[2 + i]};
    for (const int64_t value : {a.kernel, a.stride, a.dilation}) {
      if (value < 1 || value > 1 << 16) Wrong(op, "a kernel, stride or dilation is " + std::to_string(value));
    }
    for (const int64_t value : {a.begin, a.end}) {
      if (value < 0 || value > 1 << 16) Wrong(op, "a pad is " + std::to_string(value));
    }
    const int64_t reach = a.dilation * (a.kernel - 1);
    if (reach > 1 << 20) Refuse("a dilated kernel is larger than 2^20");
    // The number of results is rounded down or up. A last window that begins beyond the padding has no elements.
    const int64_t room = a.size + a.begin + a.end - reach - 1;
    const int64_t least = room / a.stride + 1;
    if (room < 0 || a.out < 1 || a.out > least + 1 || a.out < least ||
        (a.out - 1) * a.stride - a.begin >= a.size + a.end) {
      Wrong(op, "the result has " + std::to_string(a.out) + " rows or columns, its parameters make " +
                    std::to_string(least));
    }
    if (!average || !count_pads) {
      for (const int64_t result : {int64_t{0}, a.out - 1}) {
        const int64_t begin = result * a.stride - a.begin;
        if (begin + reach < 0 || begin >= a.size) Refuse("a window sees nothing but padding");
      }
    }
  }
  const auto& [ay, ax] = axes;
  if (ay.kernel * ax.kernel > 16384) {
    Refuse("a window has " + std::to_string(ay.kernel * ax.kernel) + " elements, the NPU has at most 16,384");
  }
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  PoolCommand pool;
  PutNumbers(pool, xq, yq, BoundsOf(op, yq.type));
  pool.average = average;
  const auto narrow = [](int64_t value) { return static_cast<uint32_t>(value); };
  pool.window = {narrow(ay.kernel),
                 narrow(ax.kernel),
                 narrow(ay.stride),
                 narrow(ax.stride),
                 narrow(ay.dilation),
                 narrow(ax.dilation),
                 static_cast<int32_t>(ay.begin),
                 static_cast<int32_t>(ax.begin)};
  auto& layer = AddLayer<ImageLayer>(op);
  layer.in_rows = narrow(ay.size);
  layer.in_columns = narrow(ax.size);
  layer.channels = narrow(x.dims[1]);
  layer.out_rows = narrow(ay.out);
  layer.out_columns = narrow(ax.out);
  if (average && count_pads) {
    for (const auto& [rows, row_count] : CountPadded(ay)) {
      for (const auto& [columns, column_count] : CountPadded(ax)) {
        layer.areas.push_back({rows, columns, row_count * column_count});
      }
    }
  } else {
    layer.areas.push_back({{0, layer.out_rows}, {0, layer.out_columns}, 0});
  }
  layer.work = pool;
  FinishImage(op, layer);
}

void Lowering::LowerResize(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  CheckImage(op, x, y);
  const size_t rank = x.dims.size();
  const int64_t mode = op.Int(NSDK_MODE, 0), coordinates = op.Int(NSDK_COORDINATES, 0),
                rounding = op.Int(NSDK_ROUNDING, 0);
  if (mode != 0 && mode != 1) Refuse("mode " + std::to_string(mode) + " isn't nearest (0) or linear (1)");
  if (coordinates < 0 || coordinates > 3) Refuse("it has coordinates of kind " + std::to_string(coordinates));
  if (rounding < 0 || rounding > 3) Refuse("it rounds in manner " + std::to_string(rounding));
  // If sizes were given, their quotient is exact only as a double, and SCALES is omitted.
  std::vector<double> scales(rank);
  const auto given = op.params.find(NSDK_SCALES);
  for (size_t i = 0; i < rank; ++i) {
    scales[i] = static_cast<double>(y.dims[i]) / static_cast<double>(x.dims[i]);
    if (given == op.params.end() || given->second.floats.empty()) continue;
    if (given->second.floats.size() != rank) Wrong(op, "it hasn't a scale for each dimension");
    scales[i] = given->second.floats[i];
    if (!(std::isfinite(scales[i]) && scales[i] > 0)) Wrong(op, "a scale isn't positive and finite");
  }
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  for (size_t i = 2; i < rank; ++i) {
    if (x.dims[i] > 65535 || y.dims[i] > 1 << 20) Refuse("an image of more than 65,535 rows or columns is resized");
  }
  ResizeCommand resize;
  PutNumbers(resize, xq, yq, BoundsOf(op, yq.type));
  auto& layer = AddLayer<ImageLayer>(op);
  const auto axis = [&](size_t i, uint32_t& in, uint32_t& out) {
    in = i < 2 ? 1 : static_cast<uint32_t>(x.dims[i]);
    out = i < 2 ? 1 : static_cast<uint32_t>(y.dims[i]);
    if (in == out && scales[i] == 1) return ResizeAxisOf(false, 1, 2, 1, in, out);
    return ResizeAxisOf(mode == 1, coordinates, rounding, scales[i], in, out);
  };
  layer.rows = axis(rank == 4 ? 2 : 1, layer.in_rows, layer.out_rows);
  layer.columns = axis(rank - 1, layer.in_columns, layer.out_columns);
  layer.channels = static_cast<uint32_t>(x.dims[1]);
  layer.areas.push_back({{0, layer.out_rows}, {0, layer.out_columns}, 0});
  layer.work = resize;
  FinishImage(op, layer);
}

void Lowering::FinishImage(const Op& op, ImageLayer& layer) {
  layer.x = ImageOf(ViewOf(op.inputs[0]), 1, 0);
  layer.reads.push_back(layer.x.storage);
  for (const View& target : TargetsOf(op.outputs[0])) {
    layer.targets.push_back(ImageOf(target, 1, 0));
    layer.writes.push_back(target.storage);
  }
}

void Lowering::FinishRows(const Op& op, RowsLayer& layer, const std::vector<bool>& in_row) {
  const View x = ViewOf(op.inputs[0]);
  layer.x = x.storage;
  layer.x_offset = x.offset;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    (in_row[i] ? layer.row : layer.kept).push_back(x.dims[i]);
    (in_row[i] ? layer.row_x : layer.kept_x).push_back(x.strides[i]);
  }
  const bool mean = op.kind == NSDK_REDUCE_MEAN;
  for (const View& target : TargetsOf(op.outputs[0])) {
    RowsLayer::Target to{target.storage, target.offset, {}, {}};
    const bool kept_as_one = target.dims.size() == x.dims.size();
    for (size_t i = 0, d = 0; i < x.dims.size(); ++i) {
      if (mean && in_row[i]) {
        d += kept_as_one;
        continue;
      }
      (in_row[i] ? to.row : to.kept).push_back(target.strides[d++]);
    }
    layer.targets.push_back(to);
    layer.writes.push_back(target.storage);
  }
  layer.reads.push_back(x.storage);
}

void Lowering::LowerSoftmax(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  if (x.dims != y.dims) Wrong(op, "input and result differ in shape");
  const int64_t axis = op.Int(NSDK_AXIS, 0);
  if (axis < 0 || axis >= static_cast<int64_t>(x.dims.size())) Wrong(op, "axis " + std::to_string(axis) + " isn't one");
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  CheckRow(x.dims[axis]);
  const double inverse = std::round(65536 / yq.scale);
  if (!(inverse < 4294967296.0 && inverse >= 1)) {
    Refuse("the result's scale is " + std::to_string(yq.scale) + ", the NPU has 2^-16 to 2^16");
  }
  SoftmaxCommand c;
  PutNumbers(c, xq, yq, BoundsOf(op, yq.type));
  c.inverse_scale = static_cast<uint32_t>(inverse);
  auto& layer = AddLayer<RowsLayer>(op);
  layer.work = c;
  layer.first_table = lowered_.weights.Add(1024, [scale = xq.scale](const auto&) {
    std::vector<std::byte> bytes;
    for (int d = 0; d < 256; ++d) {
      PutLittleEndian<uint32_t>(bytes, static_cast<uint32_t>(std::lround(std::exp(-d * scale) * (1 << 24))));
    }
    return bytes;
  });
  std::vector<bool> in_row(x.dims.size());
  in_row[axis] = true;
  FinishRows(op, layer, in_row);
}

void Lowering::CheckRow(int64_t elements) const {
  // Two rows of x and of the result, and eight bytes of tables for each element.
  const int64_t most = std::min<int64_t>(1 << 20, config_.scratchpad_bytes / 12 - 1024);
  if (elements > most) {
    Refuse("a row has " + std::to_string(elements) + " elements, this NPU's scratchpad has room for " +
           std::to_string(most));
  }
}

void Lowering::LowerLayerNorm(const Op& op) {
  CheckCounts(op, 2, 3);
  const Tensor &x = In(op, 0), &y = Out(op), &scale = In(op, 1);
  if (x.dims != y.dims) Wrong(op, "input and result differ in shape");
  const int64_t axis = op.Int(NSDK_AXIS, 0);
  if (axis < 0 || axis >= static_cast<int64_t>(x.dims.size())) Wrong(op, "axis " + std::to_string(axis) + " isn't one");
  int64_t columns = 1;
  for (size_t i = static_cast<size_t>(axis); i < x.dims.size(); ++i) columns *= x.dims[i];
  CheckRow(columns);
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  const auto table = [&](const Tensor& tensor, const char* what) {
    if (!tensor.constant) Refuse(std::string(what) + " isn't constant");
    if (tensor.Elements() != columns) {
      Wrong(op, std::string(what) + " has shape " + ShapeText(tensor.dims) + ", expected " + std::to_string(columns) +
                    " elements");
    }
    const bool known = tensor.type == NSDK_FLOAT32 ||
                       (tensor.scales.size() == 1 &&
                        (tensor.type == NSDK_INT8 || tensor.type == NSDK_UINT8 || tensor.type == NSDK_INT32));
    if (!known) Refuse(std::string(what) + " is " + TypeName(tensor.type) + ", the NPU has float32 and quantised ones");
    return lowered_.weights.Add(
        static_cast<uint64_t>(4 * columns), [&tensor, columns, y_scale = yq.scale](const auto&) {
          std::vector<std::byte> bytes;
          for (int64_t i = 0; i < columns; ++i) {
            double value = 0;
            const std::byte* data = tensor.data.data();
            switch (tensor.type) {
              case NSDK_FLOAT32: value = std::bit_cast<float>(LittleEndian<uint32_t>(data + 4 * i)); break;
              case NSDK_INT32: value = static_cast<int32_t>(LittleEndian<uint32_t>(data + 4 * i)); break;
              case NSDK_INT8: value = static_cast<int8_t>(data[i]); break;
              default: value = static_cast<uint8_t>(data[i]); break;
            }
            if (tensor.type != NSDK_FLOAT32) value = (value - tensor.ZeroPoint()) * tensor.Scale();
            PutLittleEndian<uint32_t>(bytes, std::bit_cast<uint32_t>(static_cast<float>(value / y_scale)));
          }
          return bytes;
        });
  };
  LayerNormCommand c;
  PutNumbers(c, xq, yq, BoundsOf(op, yq.type));
  const auto epsilon = op.params.find(NSDK_EPSILON);
  if (epsilon != op.params.end() && epsilon->second.floats.size() == 1) c.epsilon = epsilon->second.floats[0];
  c.epsilon /= xq.scale * xq.scale;
  if (!(std::isfinite(c.epsilon) && c.epsilon >= 0)) Wrong(op, "its epsilon isn't finite and positive");
  auto& layer = AddLayer<RowsLayer>(op);
  layer.work = c;
  layer.first_table = table(scale, "the scale");
  layer.second_table =
      op.Input(2) == NSDK_NONE
          ? lowered_.weights.Add(static_cast<uint64_t>(4 * columns),
                                 [columns](const auto&) { return std::vector<std::byte>(4 * columns); })
          : table(graph_.tensors[op.inputs[2]], "the bias");
  std::vector<bool> in_row(x.dims.size());
  for (size_t i = static_cast<size_t>(axis); i < in_row.size(); ++i) in_row[i] = true;
  FinishRows(op, layer, in_row);
}

void Lowering::LowerReduceMean(const Op& op) {
  CheckCounts(op, 1, 1);
  const Tensor &x = In(op, 0), &y = Out(op);
  const size_t rank = x.dims.size();
  const auto axes = op.params.find(NSDK_AXES);
  std::vector<bool> in_row(rank, axes == op.params.end() || axes->second.ints.empty());
  if (axes != op.params.end()) {
    for (const int64_t axis : axes->second.ints) {
      if (axis < 0 || axis >= static_cast<int64_t>(rank) || in_row[axis]) {
        Wrong(op, "axis " + std::to_string(axis) + " isn't one of " + ShapeText(x.dims) + ", or is there twice");
      }
      in_row[axis] = true;
    }
  }
  std::vector<int64_t> as_one, without;
  int64_t columns = 1;
  for (size_t i = 0; i < rank; ++i) {
    as_one.push_back(in_row[i] ? 1 : x.dims[i]);
    if (!in_row[i]) without.push_back(x.dims[i]);
    if (in_row[i]) columns *= x.dims[i];
  }
  if (y.dims != as_one && y.dims != without) {
    Wrong(op, "the result has shape " + ShapeText(y.dims) + ", expected " + ShapeText(as_one));
  }
  const int64_t most = std::min<int64_t>(16384, config_.scratchpad_bytes / 4);
  if (columns > most) {
    Refuse("a mean is of " + std::to_string(columns) + " elements, the NPU has at most " + std::to_string(most));
  }
  const Quant xq = QuantOf(x, "the input"), yq = QuantOf(y, "the result");
  PoolCommand c;
  PutNumbers(c, xq, yq, BoundsOf(op, yq.type));
  c.average = 1;
  c.divisor = static_cast<uint32_t>(columns);
  c.window.width = static_cast<uint32_t>(columns);
  auto& layer = AddLayer<RowsLayer>(op);
  layer.work = c;
  FinishRows(op, layer, in_row);
}

}  // namespace epiphyte::npusim
