#include "tests/npu/simulator/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace epiphyte::npusim {
namespace {

using Shape = std::vector<int64_t>;

int64_t Count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Calls visit(index) for each index of the shape, with the last dimension changing fastest.
template <typename Visit>
void ForEach(const Shape& shape, const Visit& visit) {
  if (Count(shape) == 0) return;
  Shape at(shape.size(), 0);
  for (;;) {
    visit(at);
    size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

struct Real {
  Shape shape;
  std::vector<double> values;

  // Returns an element. An operand with fewer dimensions, or with a dimension of 1, is broadcast.
  double At(const Shape& index) const {
    int64_t offset = 0;
    const size_t skip = index.size() - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + (shape[d] == 1 ? 0 : index[skip + d]);
    return values[offset];
  }
};

class Interpreter {
 public:
  Interpreter(const NsdkGraph& graph, const std::vector<Bytes>& inputs) : graph_(graph) {
    for (uint32_t i = 0; i < graph.input_count; ++i) {
      values_[graph.inputs[i]] = Stored(graph.tensors[graph.inputs[i]].type, inputs[i]);
    }
  }

  Values Run() {
    for (uint32_t i = 0; i < graph_.op_count; ++i) {
      op_ = &graph_.ops[i];
      for (uint32_t out = 0; out < op_->output_count; ++out) Compute(op_->outputs[out]);
    }
    return values_;
  }

 private:
  const NsdkTensor& Tensor(uint32_t index) const { return graph_.tensors[index]; }
  Shape ShapeOf(uint32_t index) const { return {Tensor(index).dims, Tensor(index).dims + Tensor(index).rank}; }
  bool Has(size_t input) const { return input < op_->input_count && op_->inputs[input] != NSDK_NONE; }

  const NsdkParam* Find(uint32_t key) const {
    for (uint32_t i = 0; i < op_->param_count; ++i) {
      if (op_->params[i].key == key) return &op_->params[i];
    }
    return nullptr;
  }
  int64_t Int(uint32_t key, int64_t otherwise) const {
    const NsdkParam* p = Find(key);
    return p == nullptr ? otherwise : p->ints[0];
  }
  Shape Ints(uint32_t key, size_t count, int64_t otherwise) const {
    const NsdkParam* p = Find(key);
    return p == nullptr ? Shape(count, otherwise) : Shape(p->ints, p->ints + p->int_count);
  }

  std::vector<int32_t> StoredOf(uint32_t tensor) const {
    if (values_.contains(tensor)) return values_.at(tensor);
    const NsdkTensor& t = Tensor(tensor);
    const auto* bytes = static_cast<const uint8_t*>(t.data);
    return npusim::Stored(t.type, Bytes(bytes, bytes + t.data_size));
  }

  Real Input(size_t input) const {
    const uint32_t index = op_->inputs[input];
    const NsdkTensor& t = Tensor(index);
    Real real{ShapeOf(index), {}};
    if (t.type == NSDK_FLOAT32) {
      std::vector<float> floats(t.data_size / 4);
      std::memcpy(floats.data(), t.data, t.data_size);
      real.values.assign(floats.begin(), floats.end());
      return real;
    }
    const std::vector<int32_t> stored = StoredOf(index);
    size_t i = 0;
    ForEach(real.shape, [&](const Shape& at) {
      const size_t channel = t.scale_count > 1 ? static_cast<size_t>(at[t.axis]) : 0;
      const double scale = t.scale_count == 0 ? 1.0 : double{t.scales[channel]};
      const int32_t zero_point = t.scale_count == 0 || t.zero_points == nullptr ? 0 : t.zero_points[channel];
      real.values.push_back((static_cast<double>(stored[i++]) - zero_point) * scale);
    });
    return real;
  }

  void Compute(uint32_t output) {
    const NsdkTensor& t = Tensor(output);
    int32_t low = t.type == NSDK_INT8 ? -128 : t.type == NSDK_INT16 ? -32768 : 0;
    int32_t high = t.type == NSDK_INT8 ? 127 : t.type == NSDK_UINT8 ? 255 : t.type == NSDK_INT16 ? 32767 : 65535;
    low = std::max<int64_t>(low, Int(NSDK_LOW, low));
    high = std::min<int64_t>(high, Int(NSDK_HIGH, high));
    const double scale = t.scale_count == 0 ? 1.0 : double{t.scales[0]};
    const int32_t zero_point = t.scale_count == 0 || t.zero_points == nullptr ? 0 : t.zero_points[0];
    std::vector<int32_t>& result = values_[output];
    if (op_->kind == NSDK_LOOKUP) {
      const std::vector<int32_t> x = StoredOf(op_->inputs[0]);
      const std::vector<int32_t> table = StoredOf(op_->inputs[1]);
      for (const int32_t v : x) result.push_back(std::clamp(table[static_cast<uint8_t>(v)], low, high));
      return;
    }
    const Real y = Evaluate(ShapeOf(output), scale, zero_point);
    for (const double v : y.values) {
      result.push_back(static_cast<int32_t>(std::clamp<double>(std::nearbyint(v / scale) + zero_point, low, high)));
    }
  }

  Real Evaluate(const Shape& y, double y_scale, int32_t y_zero_point) const {
    switch (op_->kind) {
      case NSDK_CONV: return Conv(y);
      case NSDK_CONV_TRANSPOSE: return ConvTranspose(y);
      case NSDK_MATMUL: return MatMul(y);
      case NSDK_MAX_POOL:
      case NSDK_AVERAGE_POOL: return Pool(y);
      case NSDK_ADD: return Elementwise(y, [](double a, double b) { return a + b; });
      case NSDK_SUB: return Elementwise(y, [](double a, double b) { return a - b; });
      case NSDK_MUL: return Elementwise(y, [](double a, double b) { return a * b; });
      case NSDK_MAXIMUM: return Elementwise(y, [](double a, double b) { return std::max(a, b); });
      case NSDK_MINIMUM: return Elementwise(y, [](double a, double b) { return std::min(a, b); });
      case NSDK_RESCALE:
      case NSDK_RESHAPE: return {y, Input(0).values};
      case NSDK_CONCAT: return Concat(y);
      case NSDK_SLICE: return Slice(y);
      case NSDK_PAD: return Pad(y, (static_cast<double>(Int(NSDK_VALUE, 0)) - y_zero_point) * y_scale);
      case NSDK_TRANSPOSE: return Transpose(y);
      case NSDK_RESIZE: return Resize(y);
      case NSDK_SOFTMAX: return Softmax(y);
      case NSDK_LAYER_NORM: return LayerNorm(y);
      case NSDK_REDUCE_MEAN: return ReduceMean(y);
      default: throw std::invalid_argument("no such operator");
    }
  }

  template <typename At>
  static Real Each(const Shape& y, const At& at) {
    Real real{y, {}};
    ForEach(y, [&](const Shape& index) { real.values.push_back(at(index)); });
    return real;
  }

  template <typename Function>
  Real Elementwise(const Shape& y, const Function& f) const {
    const Real a = Input(0);
    const Real b = Input(1);
    return Each(y, [&](const Shape& i) { return f(a.At(i), b.At(i)); });
  }

  Real Conv(const Shape& y) const {
    const Real x = Input(0);
    const Real w = Input(1);
    const size_t spatial = y.size() - 2;
    const Shape strides = Ints(NSDK_STRIDES, spatial, 1);
    const Shape pads = Ints(NSDK_PADS, 2 * spatial, 0);
    const Shape dilations = Ints(NSDK_DILATIONS, spatial, 1);
    const int64_t per_group = y[1] / Int(NSDK_GROUPS, 1);
    const Real bias = Has(2) ? Input(2) : Real{};
    return Each(y, [&](const Shape& i) {
      double sum = Has(2) ? bias.values[i[1]] : 0;
      ForEach(Shape(w.shape.begin() + 1, w.shape.end()), [&](const Shape& k) {
        Shape from = {i[0], i[1] / per_group * w.shape[1] + k[0]};
        Shape of = {i[1], k[0]};
        for (size_t d = 0; d < spatial; ++d) {
          from.push_back(i[2 + d] * strides[d] - pads[d] + k[1 + d] * dilations[d]);
          of.push_back(k[1 + d]);
          if (from.back() < 0 || from.back() >= x.shape[2 + d]) return;
        }
        sum += x.At(from) * w.At(of);
      });
      return sum;
    });
  }

  Real ConvTranspose(const Shape& y) const {
    const Real x = Input(0);
    const Real w = Input(1);
    const size_t spatial = y.size() - 2;
    const Shape strides = Ints(NSDK_STRIDES, spatial, 1);
    const Shape pads = Ints(NSDK_PADS, 2 * spatial, 0);
    const Shape dilations = Ints(NSDK_DILATIONS, spatial, 1);
    const int64_t groups = Int(NSDK_GROUPS, 1);
    const int64_t in_group = x.shape[1] / groups;
    const int64_t out_group = y[1] / groups;
    Real result{y, std::vector<double>(Count(y), 0)};
    if (Has(2)) {
      const Real bias = Input(2);
      result = Each(y, [&](const Shape& i) { return bias.values[i[1]]; });
    }
    ForEach(x.shape, [&](const Shape& i) {
      ForEach(Shape(w.shape.begin() + 1, w.shape.end()), [&](const Shape& k) {
        int64_t to = i[0] * y[1] + i[1] / in_group * out_group + k[0];
        Shape of = {i[1], k[0]};
        for (size_t d = 0; d < spatial; ++d) {
          const int64_t at = i[2 + d] * strides[d] - pads[d] + k[1 + d] * dilations[d];
          if (at < 0 || at >= y[2 + d]) return;
          to = to * y[2 + d] + at;
          of.push_back(k[1 + d]);
        }
        result.values[to] += x.At(i) * w.At(of);
      });
    });
    return result;
  }

  Real MatMul(const Shape& y) const {
    const Real a = Input(0);
    const Real b = Input(1);
    const bool ta = Int(NSDK_TRANSPOSE_A, 0) != 0;
    const bool tb = Int(NSDK_TRANSPOSE_B, 0) != 0;
    const int64_t depth = a.shape[a.shape.size() - (ta ? 2 : 1)];
    const Real bias = Has(2) ? Input(2) : Real{};
    return Each(y, [&](const Shape& i) {
      double sum = Has(2) ? bias.values[i.back()] : 0;
      Shape ia = i;
      Shape ib = i;
      const size_t last = i.size() - 1;
      for (int64_t k = 0; k < depth; ++k) {
        ia[last - 1] = ta ? k : i[last - 1];
        ia[last] = ta ? i[last - 1] : k;
        ib[last - 1] = tb ? i[last] : k;
        ib[last] = tb ? k : i[last];
        sum += a.At(ia) * b.At(ib);
      }
      return sum;
    });
  }

  Real Pool(const Shape& y) const {
    const Real x = Input(0);
    const size_t spatial = y.size() - 2;
    const Shape kernel = Ints(NSDK_KERNEL, spatial, 1);
    const Shape strides = Ints(NSDK_STRIDES, spatial, 1);
    const Shape pads = Ints(NSDK_PADS, 2 * spatial, 0);
    const Shape dilations = Ints(NSDK_DILATIONS, spatial, 1);
    const bool average = op_->kind == NSDK_AVERAGE_POOL;
    return Each(y, [&](const Shape& i) {
      double best = -1e300;
      double sum = 0;
      int64_t count = 0;
      ForEach(kernel, [&](const Shape& k) {
        Shape from = {i[0], i[1]};
        bool inside = true;
        for (size_t d = 0; d < spatial; ++d) {
          from.push_back(i[2 + d] * strides[d] - pads[d] + k[d] * dilations[d]);
          inside = inside && from.back() >= 0 && from.back() < x.shape[2 + d];
        }
        if (!inside) {
          count += Int(NSDK_COUNT_PADS, 0);
          return;
        }
        ++count;
        sum += x.At(from);
        best = std::max(best, x.At(from));
      });
      return average ? sum / static_cast<double>(count) : best;
    });
  }

  Real Concat(const Shape& y) const {
    const int64_t axis = Int(NSDK_AXIS, 0);
    std::vector<Real> inputs;
    for (uint32_t i = 0; i < op_->input_count; ++i) inputs.push_back(Input(i));
    return Each(y, [&](const Shape& index) {
      Shape at = index;
      size_t part = 0;
      while (at[axis] >= inputs[part].shape[axis]) at[axis] -= inputs[part++].shape[axis];
      return inputs[part].At(at);
    });
  }

  Real Slice(const Shape& y) const {
    const Real x = Input(0);
    const Shape starts = Ints(NSDK_STARTS, y.size(), 0);
    const Shape steps = Ints(NSDK_STEPS, y.size(), 1);
    return Each(y, [&](Shape i) {
      for (size_t d = 0; d < i.size(); ++d) i[d] = starts[d] + i[d] * steps[d];
      return x.At(i);
    });
  }

  Real Pad(const Shape& y, double value) const {
    const Real x = Input(0);
    const Shape pads = Ints(NSDK_PADS, 2 * y.size(), 0);
    return Each(y, [&](Shape i) {
      for (size_t d = 0; d < i.size(); ++d) {
        i[d] -= pads[d];
        if (i[d] < 0 || i[d] >= x.shape[d]) return value;
      }
      return x.At(i);
    });
  }

  Real Transpose(const Shape& y) const {
    const Real x = Input(0);
    const Shape perm = Ints(NSDK_PERM, y.size(), 0);
    return Each(y, [&](const Shape& i) {
      Shape from(i.size());
      for (size_t d = 0; d < i.size(); ++d) from[perm[d]] = i[d];
      return x.At(from);
    });
  }

  Real Resize(const Shape& y) const {
    const Real x = Input(0);
    const NsdkParam* scales = Find(NSDK_SCALES);
    const int64_t coordinates = Int(NSDK_COORDINATES, 0);
    const int64_t rounding = Int(NSDK_ROUNDING, 0);
    const auto origin = [&](int64_t at, size_t d) {
      const double scale = scales->floats[d];
      const auto size = static_cast<double>(y[d]);
      const auto position = static_cast<double>(at);
      switch (coordinates) {
        case 0: return (position + 0.5) / scale - 0.5;
        case 1: return position / scale;
        case 2: return y[d] == 1 ? 0.0 : position * static_cast<double>(x.shape[d] - 1) / (size - 1);
        default: return y[d] == 1 ? 0.0 : (position + 0.5) / scale - 0.5;
      }
    };
    const auto clamped = [&](double v, size_t d) {
      return std::clamp<int64_t>(static_cast<int64_t>(v), 0, x.shape[d] - 1);
    };
    return Each(y, [&](const Shape& i) {
      Shape floor(i.size());
      std::vector<double> fraction(i.size(), 0);
      for (size_t d = 0; d < i.size(); ++d) {
        const double v = y[d] == x.shape[d] ? static_cast<double>(i[d]) : origin(i[d], d);
        if (Int(NSDK_MODE, 0) == 0) {
          const double whole = rounding == 0   ? std::ceil(v - 0.5)
                               : rounding == 1 ? std::floor(v + 0.5)
                               : rounding == 2 ? std::floor(v)
                                               : std::ceil(v);
          floor[d] = clamped(whole, d);
        } else {
          floor[d] = static_cast<int64_t>(std::floor(v));
          fraction[d] = v - std::floor(v);
        }
      }
      double sum = 0;
      for (uint32_t corner = 0; corner < 1u << i.size(); ++corner) {
        double weight = 1;
        Shape from = floor;
        for (size_t d = 0; d < i.size(); ++d) {
          const bool upper = (corner >> d & 1) != 0;
          weight *= upper ? fraction[d] : 1 - fraction[d];
          from[d] = std::clamp<int64_t>(floor[d] + (upper ? 1 : 0), 0, x.shape[d] - 1);
        }
        if (weight != 0) sum += weight * x.At(from);
      }
      return sum;
    });
  }

  Real Softmax(const Shape& y) const {
    const Real x = Input(0);
    const int64_t axis = Int(NSDK_AXIS, 0);
    return Each(y, [&](const Shape& i) {
      double sum = 0;
      Shape at = i;
      for (at[axis] = 0; at[axis] < y[axis]; ++at[axis]) sum += std::exp(x.At(at) - x.At(i));
      return 1 / sum;
    });
  }

  Real LayerNorm(const Shape& y) const {
    const Real x = Input(0);
    const Real scale = Input(1);
    const Real bias = Has(2) ? Input(2) : Real{{1}, {0}};
    const int64_t axis = Int(NSDK_AXIS, 0);
    const NsdkParam* epsilon = Find(NSDK_EPSILON);
    const int64_t columns = Count(Shape(y.begin() + axis, y.end()));
    Real result{y, x.values};
    for (int64_t row = 0; row < Count(y); row += columns) {
      double mean = 0;
      double variance = 0;
      for (int64_t j = 0; j < columns; ++j) mean += x.values[row + j] / static_cast<double>(columns);
      for (int64_t j = 0; j < columns; ++j) {
        variance += std::pow(x.values[row + j] - mean, 2) / static_cast<double>(columns);
      }
      const double deviation = std::sqrt(variance + (epsilon == nullptr ? 0.0 : epsilon->floats[0]));
      for (int64_t j = 0; j < columns; ++j) {
        const auto of = [&](const Real& r) { return r.values[r.values.size() == 1 ? 0 : j]; };
        const double normal = deviation > 0 ? (x.values[row + j] - mean) / deviation : 0;
        result.values[row + j] = normal * of(scale) + of(bias);
      }
    }
    return result;
  }

  Real ReduceMean(const Shape& y) const {
    const Real x = Input(0);
    const Shape axes = Ints(NSDK_AXES, 0, 0);
    Real result{y, std::vector<double>(Count(y), 0)};
    const double count = static_cast<double>(Count(x.shape)) / static_cast<double>(Count(y));
    ForEach(x.shape, [&](const Shape& i) {
      int64_t to = 0;
      for (size_t d = 0; d < i.size(); ++d) {
        if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) to = to * x.shape[d] + i[d];
      }
      result.values[to] += x.At(i) / count;
    });
    return result;
  }

  const NsdkGraph& graph_;
  const NsdkOp* op_ = nullptr;
  Values values_;
};

template <typename T>
std::vector<int32_t> As(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<int32_t> Stored(uint32_t type, const Bytes& bytes) {
  switch (type) {
    case NSDK_INT8: return As<int8_t>(bytes);
    case NSDK_UINT8: return As<uint8_t>(bytes);
    case NSDK_INT16: return As<int16_t>(bytes);
    case NSDK_UINT16: return As<uint16_t>(bytes);
    case NSDK_INT32: return As<int32_t>(bytes);
    default: throw std::invalid_argument("no stored integers of this type");
  }
}

Values Reference(const NsdkGraph& graph, const std::vector<Bytes>& inputs) { return Interpreter(graph, inputs).Run(); }

}  // namespace epiphyte::npusim
