// HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "plugins/cpu/kernel/convert.h"
#include "plugins/cpu/kernel/parameter.h"

namespace epiphyte::cpu {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kLargest = int64_t{1} << 31;

// Stores values computed in double as any numeric type.
void StoreDoubles(const double* values, int64_t count, Tensor& y) {
  if (y.type == EP_TYPE_DOUBLE) {
    std::copy_n(values, count, y.as<double>());
    return;
  }
  float floats[kConvertChunk];
  for (int64_t at = 0; at < count; at += kConvertChunk) {
    const int64_t n = std::min(kConvertChunk, count - at);
    std::copy_n(values + at, n, floats);
    StoreFloats(floats, at, n, y);
  }
}

ElementType OutputType(const ir::Node& node) {
  const int64_t type = node.Int("output_datatype", EP_TYPE_FLOAT);
  if (type <= 0 || type >= 64 || (kNumbers & TypeBit(static_cast<ElementType>(type))) == 0) {
    FailOp("output_datatype is {}, expected a numeric type", type);
  }
  return static_cast<ElementType>(type);
}

// A sum of cosines: c0 - c1 cos(a) + c2 cos(2a).
class WindowKernel : public Kernel {
 public:
  WindowKernel(const KernelInit& init, std::array<double, 3> coefficients)
      : coefficients_(coefficients), periodic_(init.node().Int("periodic", 1) != 0), type_(OutputType(init.node())) {}

  void Run(OpContext& context) const override {
    const int64_t size = IntegerParameter(context, 0, "size");
    if (size < 0 || size > kLargest) FailOp("size is {}, expected 0 to {}", size, kLargest);
    Tensor& y = context.Output(0, type_, Dims{size});
    auto* const values = static_cast<double*>(context.Scratch(static_cast<uint64_t>(size) * sizeof(double)));
    const double steps = static_cast<double>(periodic_ ? size : std::max<int64_t>(size - 1, 1));
    // The second half mirrors the first: `period` steps are a full turn of the angle.
    const int64_t period = periodic_ ? size : size - 1;
    for (int64_t i = 0; i < size; ++i) {
      const bool mirrors = 2 * i > period;
      const double angle = 2.0 * kPi * static_cast<double>(i) / steps;
      double value = mirrors ? values[period - i] : coefficients_[0];
      if (!mirrors) value -= coefficients_[1] * std::cos(angle);
      if (!mirrors && coefficients_[2] != 0) value += coefficients_[2] * std::cos(2.0 * angle);
      values[i] = value;
    }
    StoreDoubles(values, size, y);
  }

 private:
  std::array<double, 3> coefficients_;
  bool periodic_;
  ElementType type_;
};

KernelRegistry::Factory Window(double c0, double c1, double c2) {
  return [=](const KernelInit& init) {
    return std::make_unique<WindowKernel>(init, std::array<double, 3>{c0, c1, c2});
  };
}

double HertzToMel(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }
double MelToHertz(double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); }

// Triangular filters of equal width on the mel scale, over the bins of a spectrum.
class MelWeightMatrixKernel : public Kernel {
 public:
  explicit MelWeightMatrixKernel(const KernelInit& init) : type_(OutputType(init.node())) {}

  void Run(OpContext& context) const override {
    const int64_t bands = IntegerParameter(context, 0, "num_mel_bins");
    const int64_t length = IntegerParameter(context, 1, "dft_length");
    const int64_t rate = IntegerParameter(context, 2, "sample_rate");
    const double low = HertzToMel(FloatParameter(context, 3, "lower_edge_hertz"));
    const double high = HertzToMel(FloatParameter(context, 4, "upper_edge_hertz"));
    if (bands <= 0 || length <= 0 || rate <= 0 || length > kLargest || bands > kLargest / length) {
      FailOp("num_mel_bins {}, dft_length {} and sample_rate {} must be positive and of a sensible size", bands, length,
             rate);
    }
    const int64_t bins = length / 2 + 1;
    context.CountMemory(static_cast<uint64_t>(bands + 2) * sizeof(int64_t));
    std::vector<int64_t> edges(static_cast<size_t>(bands + 2));
    const double step = (high - low) / static_cast<double>(edges.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      const double hertz = MelToHertz(static_cast<double>(i) * step + low);
      const double edge = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
      if (!(edge >= 0 && edge <= static_cast<double>(bins)))
        FailOp("an edge lies at bin {}, expected 0 to {}", edge, bins);
      edges[i] = static_cast<int64_t>(edge);
    }
    Tensor& y = context.Output(0, type_, Dims{bins, bands});
    DispatchNumbers(type_, "MelWeightMatrix", [&]<typename T>() { Fill(edges, bins, bands, y.as<T>()); });
  }

 private:
  template <typename T>
  static void Fill(const std::vector<int64_t>& edges, int64_t bins, int64_t bands, T* y) {
    std::fill_n(y, bins * bands, static_cast<T>(Compute<T>{0}));
    const auto set = [&](int64_t bin, int64_t band, double weight) {
      y[bin * bands + band] = static_cast<T>(NumberAs<Compute<T>>(weight));
    };
    for (int64_t band = 0; band < bands; ++band) {
      const int64_t left = edges[static_cast<size_t>(band)];
      const int64_t centre = edges[static_cast<size_t>(band + 1)];
      const int64_t right = edges[static_cast<size_t>(band + 2)];
      if (centre == left && centre < bins) set(centre, band, 1.0);
      for (int64_t bin = left; bin < std::min(centre + 1, bins) && centre != left; ++bin)
        set(bin, band, static_cast<double>(bin - left) / static_cast<double>(centre - left));
      for (int64_t bin = centre; bin < std::min(right, bins) && right != centre; ++bin)
        set(bin, band, static_cast<double>(right - bin) / static_cast<double>(right - centre));
    }
  }

  ElementType type_;
};

}  // namespace

void Register_signal_windows(KernelRegistry& registry) {
  registry.Add("HannWindow", "", {17, INT64_MAX, kAnyType, Window(0.5, 0.5, 0.0)});
  registry.Add("HammingWindow", "", {17, INT64_MAX, kAnyType, Window(25.0 / 46.0, 21.0 / 46.0, 0.0)});
  registry.Add("BlackmanWindow", "", {17, INT64_MAX, kAnyType, Window(0.42, 0.5, 0.08)});
  registry.Add<MelWeightMatrixKernel>("MelWeightMatrix", 17);
}

}  // namespace epiphyte::cpu
