// The eight operators: checks of their inputs and parameters, and their loops. Sums are 64-bit integers of numbers
// without their zero points. A result is its sum times the scales in double, rounded with halves to even, and clamped.

#include <cmath>
#include <set>

#include "graph.h"

namespace epiphyte::minimal {
namespace {

constexpr int64_t kMostParam = int64_t{1} << 24;

std::string NameOf(const Op& op) { return "operator '" + op.name + "' of kind " + std::to_string(op.kind) + ": "; }

void Require(const Op& op, bool holds, const char* text) {
  if (!holds) Fail(NSDK_UNSUPPORTED, NameOf(op) + text);
}

bool Is8Bit(const Tensor* tensor) { return tensor->type == NSDK_INT8 || tensor->type == NSDK_UINT8; }

int64_t ParamOr(const Op& op, uint32_t key, int64_t otherwise) {
  const auto found = op.params.find(key);
  return found == op.params.end() || found->second.empty() ? otherwise : found->second[0];
}

// The `count` numbers of parameter `key`, each at least `least`. If the parameter is omitted, each number is
// `otherwise`.
std::vector<int64_t> Numbers(const Op& op, uint32_t key, size_t count, int64_t least, int64_t otherwise) {
  const auto found = op.params.find(key);
  if (found == op.params.end()) return std::vector<int64_t>(count, otherwise);
  Require(op, found->second.size() == count, "a parameter has not one number for each dimension of space");
  for (const int64_t number : found->second) {
    Require(op, number >= least && number <= kMostParam, "a parameter is below its least value or above 2^24");
  }
  return found->second;
}

// A window over two spatial dimensions. A single spatial dimension is the second of the two.
struct Window {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, before[2] = {0, 0};
  int64_t in[2] = {1, 1}, out[2] = {1, 1};
};

Window MakeWindow(const Step& step, const std::vector<int64_t>& kernel) {
  const Op& op = *step.op;
  const std::vector<int64_t>&x = step.in[0]->dims, &y = step.out->dims;
  Require(op, (x.size() == 3 || x.size() == 4) && y.size() == x.size(), "not one or two dimensions of space");
  const size_t rank = x.size() - 2;
  const auto strides = Numbers(op, NSDK_STRIDES, rank, 1, 1), pads = Numbers(op, NSDK_PADS, 2 * rank, 0, 0),
             dilations = Numbers(op, NSDK_DILATIONS, rank, 1, 1);
  Require(op, kernel.size() == rank, "the kernel has not one number for each dimension of space");
  Window window;
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = i + 2 - rank;
    window.kernel[to] = kernel[i];
    window.stride[to] = strides[i];
    window.dilation[to] = dilations[i];
    window.before[to] = pads[i];
    window.in[to] = x[i + 2];
    window.out[to] = y[i + 2];
    Require(op, kernel[i] >= 1 && kernel[i] <= kMostParam, "a kernel below 1 or above 2^24");
    const int64_t span = dilations[i] * (kernel[i] - 1) + 1, room = x[i + 2] + pads[i] + pads[rank + i] - span;
    Require(op, room >= 0 && y[i + 2] == room / strides[i] + 1, "the output's size doesn't follow from the window");
    Require(op, op.kind == NSDK_CONV || (pads[i] < span && pads[rank + i] < span), "a window could be all padding");
  }
  return window;
}

// The results [first, last) along one dimension for which kernel element `at` is on the input.
void Inside(const Window& w, int axis, int64_t at, int64_t& first, int64_t& last) {
  const int64_t offset = at * w.dilation[axis] - w.before[axis], stride = w.stride[axis];
  first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  last = offset >= w.in[axis] ? 0 : std::min(w.out[axis], (w.in[axis] - 1 - offset) / stride + 1);
}

// Common form of CONV and MATMUL: a matrix product is a convolution of planes of one element.
struct Sums {
  int64_t batch, channels, filters, depth;  // depth: channels that a filter sums over
  int64_t w_filter, w_channel, w_point;     // steps in the weights
  uint32_t w_axis;                          // axis of the weights along the filters
  Window window;
};

Sums MakeSums(const Step& step) {
  const Op& op = *step.op;
  const std::vector<int64_t>&x = step.in[0]->dims, &w = step.in[1]->dims, &y = step.out->dims;
  if (op.kind == NSDK_CONV) {
    Require(op, w.size() == x.size() && w.size() >= 3, "weights of another rank than the input's");
    const Window window = MakeWindow(step, {w.begin() + 2, w.end()});
    const int64_t groups = ParamOr(op, NSDK_GROUPS, 1), points = window.kernel[0] * window.kernel[1];
    const bool fits = groups >= 1 && x[1] % groups == 0 && w[0] % groups == 0 && w[1] == x[1] / groups;
    Require(op, fits && y[0] == x[0] && y[1] == w[0], "groups, channels and weights don't fit each other");
    return {x[0], x[1], w[0], w[1], w[1] * points, points, 1, 0, window};
  }
  const bool turned = ParamOr(op, NSDK_TRANSPOSE_B, 0) != 0;
  Require(op, !x.empty() && w.size() == 2, "b has not two dimensions");
  const int64_t k = x.back(), n = w[turned ? 0 : 1];
  std::vector<int64_t> expected = x;
  expected.back() = n;
  Require(op, k == w[turned ? 1 : 0] && y == expected, "the shapes don't fit each other");
  return {step.in[0]->Elements() / k, k, n, k, turned ? k : 1, turned ? 1 : n, 0, turned ? 0u : 1u, {}};
}

// The numbers of a tensor minus their zero points.
std::vector<int32_t> Centred(const Tensor& tensor, const uint8_t* data) {
  std::vector<int32_t> numbers(static_cast<size_t>(tensor.Elements()));
  size_t inner = 1;
  for (size_t i = tensor.axis + 1; i < tensor.dims.size(); ++i) inner *= static_cast<size_t>(tensor.dims[i]);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t channel = tensor.scales.size() < 2 ? 0 : i / inner % tensor.scales.size();
    uint32_t number = data[i];
    if (tensor.type == NSDK_INT32) {
      number = 0;
      for (int byte = 3; byte >= 0; --byte) number = number << 8 | data[4 * i + static_cast<size_t>(byte)];
    }
    const int32_t stored = tensor.type == NSDK_INT8 ? static_cast<int8_t>(number) : static_cast<int32_t>(number);
    numbers[i] = static_cast<int32_t>(static_cast<uint32_t>(stored) - static_cast<uint32_t>(tensor.ZeroPoint(channel)));
  }
  return numbers;
}

// Rounds numbers in units of the output's scale to stored numbers, and clamps them.
class Rounding {
 public:
  explicit Rounding(const Step& step) : zero_point_(step.out->ZeroPoint()) {
    const Range range(step.out->type);
    low_ = static_cast<double>(std::clamp(ParamOr(*step.op, NSDK_LOW, range.low), range.low, range.high));
    high_ = static_cast<double>(std::clamp(ParamOr(*step.op, NSDK_HIGH, range.high), range.low, range.high));
  }
  uint8_t operator()(double number) const { return Limited(std::nearbyint(number) + zero_point_); }
  uint8_t Limited(double stored) const {
    return static_cast<uint8_t>(static_cast<int32_t>(std::min(std::max(stored, low_), high_)));
  }

 private:
  double zero_point_, low_, high_;
};

using Inputs = std::vector<const uint8_t*>;
using Tick = std::function<void(double)>;

void RunSums(const Step& step, const Inputs& in, uint8_t* out, const Tick& tick) {
  const Sums p = MakeSums(step);
  const Window& w = p.window;
  const int64_t in_plane = w.in[0] * w.in[1], per_group = p.filters / (p.channels / p.depth),
                images = p.batch * p.filters;
  const std::vector<int32_t> xs = Centred(*step.in[0], in[0]), ws = Centred(*step.in[1], in[1]);
  std::vector<int32_t> bias(static_cast<size_t>(p.filters), 0);
  if (in.size() > 2 && in[2] != nullptr) bias = Centred(*step.in[2], in[2]);
  const Rounding round(step);
  std::vector<int64_t> sums(static_cast<size_t>(w.out[0] * w.out[1]));
  for (int64_t image = 0; image < images; ++image) {
    const int64_t filter = image % p.filters;
    std::fill(sums.begin(), sums.end(), bias[static_cast<size_t>(filter)]);
    const int32_t* planes = xs.data() + (image / p.filters * p.channels + filter / per_group * p.depth) * in_plane;
    for (int64_t point = 0; point < w.kernel[0] * w.kernel[1]; ++point) {
      const int64_t ky = point / w.kernel[1], kx = point % w.kernel[1];
      int64_t y0, y1, x0, x1;
      Inside(w, 0, ky, y0, y1);
      Inside(w, 1, kx, x0, x1);
      for (int64_t c = 0; c < p.depth; ++c) {
        const int32_t factor = ws[static_cast<size_t>(filter * p.w_filter + c * p.w_channel + point * p.w_point)];
        for (int64_t oy = y0; oy < y1; ++oy) {
          const int64_t iy = oy * w.stride[0] + ky * w.dilation[0] - w.before[0];
          const int64_t start = c * in_plane + iy * w.in[1] + kx * w.dilation[1] - w.before[1];
          int64_t* sum = sums.data() + oy * w.out[1];
          for (int64_t ox = x0; ox < x1; ++ox) sum[ox] += factor * planes[start + ox * w.stride[1]];
        }
      }
    }
    const double scale = step.in[0]->Scale() * step.in[1]->Scale(static_cast<size_t>(filter)) / step.out->Scale();
    for (const int64_t sum : sums) *out++ = round(static_cast<double>(sum) * scale);
    tick(static_cast<double>(image + 1) / static_cast<double>(images));
  }
}

void RunPool(const Step& step, const Inputs& in, uint8_t* out, const Tick& tick) {
  const Tensor& x = *step.in[0];
  const bool mean = step.op->kind == NSDK_AVERAGE_POOL;
  const Window w = MakeWindow(step, Numbers(*step.op, NSDK_KERNEL, x.dims.size() - 2, 1, 1));
  const bool count_pads = ParamOr(*step.op, NSDK_COUNT_PADS, 0) != 0;
  const std::vector<int32_t> xs = Centred(x, in[0]);
  const double scale = x.Scale() / step.out->Scale();
  const Rounding round(step);
  const int64_t planes = x.dims[0] * x.dims[1];
  for (int64_t plane = 0; plane < planes; ++plane) {
    const int32_t* from = xs.data() + plane * w.in[0] * w.in[1];
    for (int64_t at = 0; at < w.out[0] * w.out[1]; ++at) {
      int64_t sum = 0, most = INT64_MIN, count = 0;
      for (int64_t k = 0; k < w.kernel[0] * w.kernel[1]; ++k) {
        const int64_t y = at / w.out[1] * w.stride[0] + k / w.kernel[1] * w.dilation[0] - w.before[0];
        const int64_t z = at % w.out[1] * w.stride[1] + k % w.kernel[1] * w.dilation[1] - w.before[1];
        if (y < 0 || y >= w.in[0] || z < 0 || z >= w.in[1]) continue;
        const int64_t number = from[y * w.in[1] + z];
        sum += number;
        most = std::max(most, number);
        ++count;
      }
      if (count_pads) count = w.kernel[0] * w.kernel[1];
      if (count == 0) sum = most = 0, count = 1;  // no element of a dilated kernel is on the input
      *out++ = round(mean ? static_cast<double>(sum) * scale / static_cast<double>(count)
                          : static_cast<double>(most) * scale);
    }
    tick(static_cast<double>(plane + 1) / static_cast<double>(planes));
  }
}

void RunAdd(const Step& step, const Inputs& in, uint8_t* out) {
  const std::vector<int32_t> as = Centred(*step.in[0], in[0]), bs = Centred(*step.in[1], in[1]);
  const double a_scale = step.in[0]->Scale() / step.out->Scale(), b_scale = step.in[1]->Scale() / step.out->Scale();
  const Rounding round(step);
  for (size_t i = 0; i < as.size(); ++i) *out++ = round(as[i] * a_scale + bs[i] * b_scale);
}

void RunLookup(const Step& step, const Inputs& in, uint8_t* out) {
  const Rounding round(step);
  for (int64_t i = 0; i < step.out->Elements(); ++i) {
    const uint8_t found = in[1][in[0][i]];
    out[i] = round.Limited(step.out->type == NSDK_INT8 ? static_cast<int8_t>(found) : found);
  }
}

void RunRescale(const Step& step, const Inputs& in, uint8_t* out) {
  const double scale = step.in[0]->Scale() / step.out->Scale();
  const Rounding round(step);
  for (const int32_t number : Centred(*step.in[0], in[0])) *out++ = round(number * scale);
}

}  // namespace

Step MakeStep(const Graph& graph, const Op& op) {
  Step step{&op, {}, &graph.tensors[op.outputs[0]]};
  for (const uint32_t input : op.inputs) step.in.push_back(input == NSDK_NONE ? nullptr : &graph.tensors[input]);
  return step;
}

void CheckStep(const Step& step) {
  const Op& op = *step.op;
  if (op.kind >= 64 || (kOperators >> op.kind & 1) == 0)
    Fail(NSDK_UNSUPPORTED, NameOf(op) + "there is no such operator here");
  std::set<uint32_t> keys = {NSDK_LOW, NSDK_HIGH};
  if (op.kind == NSDK_CONV) keys.insert({NSDK_STRIDES, NSDK_PADS, NSDK_DILATIONS, NSDK_GROUPS});
  if (op.kind == NSDK_MATMUL) keys.insert(NSDK_TRANSPOSE_B);
  if (op.kind == NSDK_MAX_POOL) keys.insert({NSDK_KERNEL, NSDK_STRIDES, NSDK_PADS, NSDK_DILATIONS});
  if (op.kind == NSDK_AVERAGE_POOL) keys.insert({NSDK_KERNEL, NSDK_STRIDES, NSDK_PADS, NSDK_COUNT_PADS});
  for (const auto& [key, numbers] : op.params) {
    if (!keys.contains(key)) Fail(NSDK_UNSUPPORTED, NameOf(op) + "parameter " + std::to_string(key) + " isn't known");
  }
  const bool product = op.kind == NSDK_CONV || op.kind == NSDK_MATMUL;
  const size_t inputs = product || op.kind == NSDK_ADD || op.kind == NSDK_LOOKUP ? 2 : 1;
  Require(op, step.in.size() >= inputs && step.in.size() <= inputs + (product ? 1 : 0), "wrong number of inputs");
  for (size_t i = 0; i < inputs; ++i) {
    Require(op, step.in[i] != nullptr && Is8Bit(step.in[i]), "an input is left out or has not 8 bits");
    Require(op, step.in[i]->scales.size() < 2 || (product && i == 1), "scales by channel are for weights only");
  }
  Require(op, Is8Bit(step.out) && step.out->scales.size() < 2, "the output has not 8 bits and one scale");
  const Range range(step.out->type);
  Require(op, ParamOr(op, NSDK_LOW, range.low) <= ParamOr(op, NSDK_HIGH, range.high), "LOW is above HIGH");

  if (product) {
    const Sums sums = MakeSums(step);
    const Tensor &w = *step.in[1], *bias = step.in.size() < 3 ? nullptr : step.in[2];
    Require(op, w.scales.size() < 2 || w.axis == sums.w_axis, "the weights' scales are not by output channel");
    const bool fits = bias == nullptr || (bias->type == NSDK_INT32 && bias->Elements() == sums.filters);
    Require(op, fits, "the bias is no INT32 for each output channel");
  } else if (op.kind == NSDK_ADD) {
    Require(op, step.in[0]->dims == step.out->dims && step.in[1]->dims == step.out->dims, "the shapes differ");
  } else if (op.kind == NSDK_MAX_POOL || op.kind == NSDK_AVERAGE_POOL) {
    const std::vector<int64_t>& x = step.in[0]->dims;
    Require(op, x.size() >= 3, "not one or two dimensions of space");
    MakeWindow(step, Numbers(op, NSDK_KERNEL, x.size() - 2, 1, 1));
    Require(op, step.out->dims[0] == x[0] && step.out->dims[1] == x[1], "the output has other channels");
  } else if (op.kind == NSDK_LOOKUP) {
    const Tensor& table = *step.in[1];
    Require(op, table.constant && table.Elements() == 256 && table.type == step.out->type, "no table of 256 constants");
    Require(op, step.in[0]->dims == step.out->dims, "the output has another shape");
  } else {
    Require(op, step.in[0]->Elements() == step.out->Elements(), "the output has another number of elements");
    Require(op, op.kind == NSDK_RESHAPE || step.in[0]->dims == step.out->dims, "the output has another shape");
  }
}

void RunStep(const Step& step, const Inputs& in, uint8_t* out, const Tick& tick) {
  switch (step.op->kind) {
    case NSDK_CONV:
    case NSDK_MATMUL: return RunSums(step, in, out, tick);
    case NSDK_MAX_POOL:
    case NSDK_AVERAGE_POOL: return RunPool(step, in, out, tick);
    case NSDK_ADD: return RunAdd(step, in, out);
    case NSDK_LOOKUP: return RunLookup(step, in, out);
    default: return RunRescale(step, in, out);
  }
}

}  // namespace epiphyte::minimal
