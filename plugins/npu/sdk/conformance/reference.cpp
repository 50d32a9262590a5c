#include "reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace epiphyte::nsdk_conformance {
namespace {

using Dims = std::vector<int64_t>;

int64_t ElementsOf(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

struct Values {
  Dims dims;
  std::vector<double> numbers;

  double At(const Dims& index) const { return numbers[static_cast<size_t>(Offset(index))]; }
  // Offset of an element. Dimensions are aligned at the last one, and dimensions of size 1 are broadcast.
  int64_t Offset(const Dims& index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t at = index[index.size() - dims.size() + i];
      offset = offset * dims[i] + (dims[i] == 1 ? 0 : at);
    }
    return offset;
  }
};

Values Real(const TestTensor& tensor, const Bytes& bytes) {
  Values values{tensor.dims, std::vector<double>(static_cast<size_t>(tensor.Elements()))};
  int64_t inner = 1;
  for (size_t i = tensor.axis + 1; i < tensor.dims.size(); ++i) inner *= tensor.dims[i];
  for (size_t i = 0; i < values.numbers.size(); ++i) {
    if (tensor.type == NSDK_FLOAT32) {
      float number;
      std::memcpy(&number, bytes.data() + 4 * i, 4);
      values.numbers[i] = number;
      continue;
    }
    const size_t channel = tensor.scales.size() < 2 ? 0 : i / static_cast<size_t>(inner) % tensor.scales.size();
    values.numbers[i] = static_cast<double>(StoredAt(tensor.type, bytes, i) - tensor.ZeroPoint(channel)) *
                        static_cast<double>(tensor.Scale(channel));
  }
  return values;
}

// Calls `call` with each index of a tensor of shape `dims`, row by row.
void ForEach(const Dims& dims, const std::function<void(const Dims&)>& call) {
  Dims at(dims.size(), 0);
  const int64_t count = ElementsOf(dims);
  for (int64_t i = 0; i < count; ++i) {
    call(at);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

struct Arguments {
  const TestOp& op;
  std::vector<Values> in;
  const TestTensor& out;
  size_t output;
};

double BiasAt(const Arguments& a, size_t channel) {
  return a.in.size() > 2 && !a.in[2].numbers.empty() ? a.in[2].numbers[channel] : 0;
}

double Conv(const Arguments& a, const Dims& at) {
  const Values &x = a.in[0], &w = a.in[1];
  const size_t space = x.dims.size() - 2;
  const Dims strides = a.op.Ints(NSDK_STRIDES, space, 1), dilations = a.op.Ints(NSDK_DILATIONS, space, 1),
             pads = a.op.Ints(NSDK_PADS, 2 * space, 0);
  const int64_t groups = a.op.Int(NSDK_GROUPS, 1), group = at[1] / (w.dims[0] / groups);
  double sum = BiasAt(a, static_cast<size_t>(at[1]));
  Dims kernel(w.dims.begin() + 1, w.dims.end());
  ForEach(kernel, [&](const Dims& k) {
    Dims from = {at[0], group * w.dims[1] + k[0]}, weight = {at[1], k[0]};
    for (size_t i = 0; i < space; ++i) {
      const int64_t position = at[i + 2] * strides[i] + k[i + 1] * dilations[i] - pads[i];
      if (position < 0 || position >= x.dims[i + 2]) return;
      from.push_back(position);
      weight.push_back(k[i + 1]);
    }
    sum += x.At(from) * w.At(weight);
  });
  return sum;
}

double ConvTranspose(const Arguments& a, const Dims& at) {
  const Values &x = a.in[0], &w = a.in[1];
  const size_t space = x.dims.size() - 2;
  const Dims strides = a.op.Ints(NSDK_STRIDES, space, 1), dilations = a.op.Ints(NSDK_DILATIONS, space, 1),
             pads = a.op.Ints(NSDK_PADS, 2 * space, 0);
  const int64_t groups = a.op.Int(NSDK_GROUPS, 1), group = at[1] / w.dims[1], depth = x.dims[1] / groups;
  double sum = BiasAt(a, static_cast<size_t>(at[1]));
  Dims kernel(w.dims.begin() + 1, w.dims.end());
  kernel[0] = depth;
  ForEach(kernel, [&](const Dims& k) {
    Dims from = {at[0], group * depth + k[0]}, weight = {group * depth + k[0], at[1] % w.dims[1]};
    for (size_t i = 0; i < space; ++i) {
      const int64_t position = at[i + 2] + pads[i] - k[i + 1] * dilations[i];
      if (position < 0 || position % strides[i] != 0 || position / strides[i] >= x.dims[i + 2]) return;
      from.push_back(position / strides[i]);
      weight.push_back(k[i + 1]);
    }
    sum += x.At(from) * w.At(weight);
  });
  return sum;
}

double MatMul(const Arguments& a, const Dims& at) {
  const bool turn_a = a.op.Int(NSDK_TRANSPOSE_A, 0) != 0, turn_b = a.op.Int(NSDK_TRANSPOSE_B, 0) != 0;
  const Dims& dims = a.in[0].dims;
  const int64_t k = turn_a ? dims[dims.size() - 2] : dims.back();
  const int64_t row = at[at.size() - 2], column = at.back();
  double sum = BiasAt(a, static_cast<size_t>(column));
  Dims left = at, right = at;
  for (int64_t i = 0; i < k; ++i) {
    left[at.size() - 2] = turn_a ? i : row;
    left[at.size() - 1] = turn_a ? row : i;
    right[at.size() - 2] = turn_b ? column : i;
    right[at.size() - 1] = turn_b ? i : column;
    sum += a.in[0].At(left) * a.in[1].At(right);
  }
  return sum;
}

double Pool(const Arguments& a, const Dims& at) {
  const Values& x = a.in[0];
  const size_t space = x.dims.size() - 2;
  const Dims kernel = a.op.Ints(NSDK_KERNEL, space, 1), strides = a.op.Ints(NSDK_STRIDES, space, 1),
             dilations = a.op.Ints(NSDK_DILATIONS, space, 1), pads = a.op.Ints(NSDK_PADS, 2 * space, 0);
  double sum = 0, most = -INFINITY;
  int64_t count = 0;
  ForEach(kernel, [&](const Dims& k) {
    Dims from = {at[0], at[1]};
    for (size_t i = 0; i < space; ++i) {
      const int64_t position = at[i + 2] * strides[i] + k[i] * dilations[i] - pads[i];
      if (position < 0 || position >= x.dims[i + 2]) return;
      from.push_back(position);
    }
    const double number = x.At(from);
    sum += number;
    most = std::max(most, number);
    ++count;
  });
  if (a.op.kind == NSDK_MAX_POOL) return most;
  return sum / static_cast<double>(a.op.Int(NSDK_COUNT_PADS, 0) != 0 ? ElementsOf(kernel) : count);
}

double Binary(const Arguments& a, const Dims& at) {
  const double one = a.in[0].At(at), other = a.in[1].At(at);
  switch (a.op.kind) {
    case NSDK_ADD: return one + other;
    case NSDK_SUB: return one - other;
    case NSDK_MUL: return one * other;
    case NSDK_MAXIMUM: return std::max(one, other);
    default: return std::min(one, other);
  }
}

double Concat(const Arguments& a, const Dims& at) {
  const auto axis = static_cast<size_t>(a.op.Int(NSDK_AXIS, 0));
  Dims from = at;
  for (const Values& input : a.in) {
    if (from[axis] < input.dims[axis]) return input.At(from);
    from[axis] -= input.dims[axis];
  }
  return 0;
}

double Slice(const Arguments& a, const Dims& at) {
  const Dims starts = a.op.Ints(NSDK_STARTS, at.size(), 0), steps = a.op.Ints(NSDK_STEPS, at.size(), 1);
  Dims from = at;
  for (size_t i = 0; i < at.size(); ++i) from[i] = starts[i] + at[i] * steps[i];
  return a.in[0].At(from);
}

double Pad(const Arguments& a, const Dims& at) {
  const Dims pads = a.op.Ints(NSDK_PADS, 2 * at.size(), 0);
  Dims from = at;
  for (size_t i = 0; i < at.size(); ++i) {
    from[i] -= pads[i];
    if (from[i] < 0 || from[i] >= a.in[0].dims[i]) {
      return static_cast<double>(a.op.Int(NSDK_VALUE, 0) - a.out.ZeroPoint()) * static_cast<double>(a.out.Scale());
    }
  }
  return a.in[0].At(from);
}

double Transpose(const Arguments& a, const Dims& at) {
  const Dims order = a.op.Ints(NSDK_PERM, at.size(), 0);
  Dims from(at.size());
  for (size_t i = 0; i < at.size(); ++i) from[static_cast<size_t>(order[i])] = at[i];
  return a.in[0].At(from);
}

double Resize(const Arguments& a, const Dims& at) {
  const Values& x = a.in[0];
  const std::vector<float>& scales = a.op.floats.at(NSDK_SCALES);
  const int64_t coordinates = a.op.Int(NSDK_COORDINATES, 0), rounding = a.op.Int(NSDK_ROUNDING, 0);
  const bool linear = a.op.Int(NSDK_MODE, 0) == 1;
  // By dimension: the index of the lower element, and the weight of the element after it.
  Dims lower(at.size());
  std::vector<double> part(at.size(), 0);
  for (size_t i = 0; i < at.size(); ++i) {
    const double to = static_cast<double>(at[i]), scale = static_cast<double>(scales[i]);
    const int64_t in = x.dims[i], out = a.out.dims[i];
    double from = to / scale;
    if (coordinates == 0 || (coordinates == 3 && out > 1)) from = (to + 0.5) / scale - 0.5;
    if (coordinates == 3 && out == 1) from = 0;
    if (coordinates == 2) from = out == 1 ? 0 : to * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    if (linear) {
      from = std::clamp(from, 0.0, static_cast<double>(in - 1));
      lower[i] = std::min(static_cast<int64_t>(from), in - 1);
      part[i] = from - static_cast<double>(lower[i]);
    } else {
      const double rounded = rounding == 0   ? std::ceil(from - 0.5)
                             : rounding == 1 ? std::floor(from + 0.5)
                             : rounding == 2 ? std::floor(from)
                                             : std::ceil(from);
      lower[i] = std::clamp(static_cast<int64_t>(rounded), int64_t{0}, in - 1);
    }
  }
  double sum = 0;
  for (size_t corner = 0; corner < size_t{1} << at.size(); ++corner) {
    double weight = 1;
    Dims from = lower;
    for (size_t i = 0; i < at.size(); ++i) {
      const bool upper = (corner >> i & 1) != 0;
      weight *= upper ? part[i] : 1 - part[i];
      if (upper) from[i] = std::min(from[i] + 1, x.dims[i] - 1);
    }
    if (weight != 0) sum += weight * x.At(from);
  }
  return sum;
}

double Softmax(const Arguments& a, const Dims& at) {
  const auto axis = static_cast<size_t>(a.op.Int(NSDK_AXIS, 0));
  Dims from = at;
  double most = -INFINITY, sum = 0;
  for (from[axis] = 0; from[axis] < a.in[0].dims[axis]; ++from[axis]) most = std::max(most, a.in[0].At(from));
  for (from[axis] = 0; from[axis] < a.in[0].dims[axis]; ++from[axis]) sum += std::exp(a.in[0].At(from) - most);
  return std::exp(a.in[0].At(at) - most) / sum;
}

double LayerNorm(const Arguments& a, const Dims& at) {
  const Values& x = a.in[0];
  const auto axis = static_cast<size_t>(a.op.Int(NSDK_AXIS, 0));
  const Dims inner(x.dims.begin() + static_cast<std::ptrdiff_t>(axis), x.dims.end());
  Dims from = at;
  double sum = 0, squares = 0;
  const auto each = [&](const std::function<void(double)>& call) {
    ForEach(inner, [&](const Dims& index) {
      std::copy(index.begin(), index.end(), from.begin() + static_cast<std::ptrdiff_t>(axis));
      call(x.At(from));
    });
  };
  const auto count = static_cast<double>(ElementsOf(inner));
  each([&](double number) { sum += number; });
  const double mean = sum / count;
  each([&](double number) { squares += (number - mean) * (number - mean); });
  const auto epsilon = a.op.floats.find(NSDK_EPSILON);
  const double deviation =
      std::sqrt(squares / count + (epsilon == a.op.floats.end() ? 0 : static_cast<double>(epsilon->second[0])));
  const double bias = a.in.size() > 2 && !a.in[2].numbers.empty() ? a.in[2].At(at) : 0;
  return (x.At(at) - mean) / deviation * a.in[1].At(at) + bias;
}

double ReduceMean(const Arguments& a, const Dims& at) {
  const Values& x = a.in[0];
  const Dims axes = a.op.Ints(NSDK_AXES, 0, 0);
  const bool kept = at.size() == x.dims.size();
  Dims from, inner;
  size_t next = 0;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    inner.push_back(reduced ? x.dims[i] : 1);
    from.push_back(reduced ? 0 : at[kept ? i : next]);
    if (!reduced) ++next;
  }
  double sum = 0;
  ForEach(inner, [&](const Dims& index) {
    Dims element = from;
    for (size_t i = 0; i < element.size(); ++i) element[i] += index[i];
    sum += x.At(element);
  });
  return sum / static_cast<double>(ElementsOf(inner));
}

double Element(const Arguments& a, const Dims& at) {
  switch (a.op.kind) {
    case NSDK_CONV: return Conv(a, at);
    case NSDK_CONV_TRANSPOSE: return ConvTranspose(a, at);
    case NSDK_MATMUL: return MatMul(a, at);
    case NSDK_MAX_POOL:
    case NSDK_AVERAGE_POOL: return Pool(a, at);
    case NSDK_ADD:
    case NSDK_SUB:
    case NSDK_MUL:
    case NSDK_MAXIMUM:
    case NSDK_MINIMUM: return Binary(a, at);
    case NSDK_CONCAT: return Concat(a, at);
    case NSDK_SLICE: return Slice(a, at);
    case NSDK_PAD: return Pad(a, at);
    case NSDK_TRANSPOSE: return Transpose(a, at);
    case NSDK_RESIZE: return Resize(a, at);
    case NSDK_SOFTMAX: return Softmax(a, at);
    case NSDK_LAYER_NORM: return LayerNorm(a, at);
    default: return ReduceMean(a, at);
  }
}

bool Moves(uint32_t kind) {
  return kind == NSDK_CONCAT || kind == NSDK_SLICE || kind == NSDK_PAD || kind == NSDK_RESHAPE ||
         kind == NSDK_TRANSPOSE || kind == NSDK_MAX_POOL || kind == NSDK_RESCALE;
}

}  // namespace

std::string Compare(const TestGraph& graph, const TestOp& op, size_t output, const std::vector<Bytes>& stored) {
  const TestTensor& out = graph.tensors[op.outputs[output]];
  const Bytes& got = stored[op.outputs[output]];
  Arguments arguments{op, {}, out, output};
  bool exact = op.kind == NSDK_LOOKUP || Moves(op.kind);
  for (const uint32_t input : op.inputs) {
    if (input == NSDK_NONE) {
      arguments.in.emplace_back();
      continue;
    }
    const TestTensor& tensor = graph.tensors[input];
    if (op.kind != NSDK_LOOKUP &&
        (tensor.type != out.type || tensor.Scale() != out.Scale() || tensor.ZeroPoint() != out.ZeroPoint()))
      exact = false;
    arguments.in.push_back(Real(tensor, stored[input]));
  }
  const TypeRange range = RangeOf(out.type);
  const auto low = static_cast<double>(std::max(range.low, op.Int(NSDK_LOW, range.low)));
  const auto high = static_cast<double>(std::min(range.high, op.Int(NSDK_HIGH, range.high)));
  const auto limited = [&](double number) { return std::min(std::max(number, low), high); };
  std::string wrong;
  size_t element = 0;
  ForEach(out.dims, [&](const Dims& at) {
    const size_t i = element++;
    if (!wrong.empty()) return;
    double expected;
    if (op.kind == NSDK_LOOKUP) {
      expected = static_cast<double>(StoredAt(out.type, stored[op.inputs[1]], stored[op.inputs[0]][i]));
    } else {
      const bool same_order = op.kind == NSDK_RESHAPE || op.kind == NSDK_RESCALE;
      const double real = same_order ? arguments.in[0].numbers[i] : Element(arguments, at);
      expected = real / static_cast<double>(out.Scale()) + out.ZeroPoint();
    }
    const double step = exact ? 0 : 1;
    const double least = limited(std::nearbyint(expected - 1e-3) - step),
                 most = limited(std::nearbyint(expected + 1e-3) + step);
    const auto found = static_cast<double>(StoredAt(out.type, got, i));
    if (found >= least && found <= most) return;
    wrong = fmt::format("element [{}] of '{}' is {}, expected {:.3f} {} ({})", fmt::join(at, ", "), out.name, found,
                        limited(expected), exact ? "exactly" : "or a step off", op.name);
  });
  return wrong;
}

}  // namespace epiphyte::nsdk_conformance
