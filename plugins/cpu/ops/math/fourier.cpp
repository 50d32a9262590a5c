// DFT and STFT. Signals are [..., n, 1] (real) or [..., n, 2] (complex).
#include <algorithm>

#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/ops/math/elementwise.h"
#include "plugins/cpu/simd/sequence/fft.h"

namespace epiphyte::cpu {
namespace {

constexpr int64_t kLongest = int64_t{1} << 26;

int64_t CheckLength(int64_t length) {
  if (length <= 0 || length > kLongest) FailOp("transform length is {}, expected 1 to {}", length, kLongest);
  return length;
}

int64_t Components(const Dims& dims) {
  if (dims.size() < 2 || (dims.back() != 1 && dims.back() != 2)) {
    FailOp("signal has shape {}, expected [...,n,1] or [...,n,2]", ShapeText(dims));
  }
  return dims.back();
}

class DftKernel : public Kernel {
 public:
  explicit DftKernel(const KernelInit& init)
      : axis_is_input_(init.node().since_version >= 20),
        axis_(init.node().Int("axis", 1)),
        inverse_(init.node().Int("inverse", 0) != 0),
        onesided_(init.node().Int("onesided", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const int64_t components = Components(x.dims);
    int64_t axis = axis_is_input_ ? -2 : axis_;
    if (axis_is_input_ && context.HasInput(2)) axis = IntegerParameter(context, 2, "axis");
    const size_t at = kit::NormalizeAxis(axis, x.rank());
    if (at + 1 == x.rank()) FailOp("axis {} is that of the real and imaginary parts", axis);
    // The inverse of a one-sided spectrum is a real signal.
    const bool to_real = inverse_ && onesided_;
    int64_t length = to_real ? 2 * (x.dims[at] - 1) : x.dims[at];
    if (context.HasInput(1)) length = IntegerParameter(context, 1, "dft_length");
    CheckLength(length);
    Dims out = x.dims;
    out[at] = onesided_ && !inverse_ ? length / 2 + 1 : length;
    out.back() = to_real ? 1 : 2;
    Tensor& y = context.Output(0, x.type, out);
    const kit::AxisView from(Dims(std::span<const int64_t>(x.dims).first(x.rank() - 1)), at);
    context.CountMemory(simd::Fft::BytesFor(length));
    const simd::Fft fft(length);
    DispatchFloats(x.type, "DFT", [&]<typename T>() {
      for (int64_t i = 0; i < from.outer * from.inner; ++i) {
        const int64_t outer = i / from.inner, inner = i % from.inner;
        std::vector<simd::Fft::Complex> values(static_cast<size_t>(length));
        for (int64_t k = 0; k < std::min(length, from.size); ++k) {
          const T* element = x.as<T>() + ((outer * from.size + k) * from.inner + inner) * components;
          const double real = static_cast<double>(static_cast<Compute<T>>(element[0]));
          const double imaginary = components == 1 ? 0.0 : static_cast<double>(static_cast<Compute<T>>(element[1]));
          values[static_cast<size_t>(k)] = {real, imaginary};
        }
        if (to_real) {
          for (int64_t k = length / 2 + 1; k < length; ++k) {
            values[static_cast<size_t>(k)] = std::conj(values[static_cast<size_t>(length - k)]);
          }
        }
        fft.Transform(values, inverse_);
        const double scale = inverse_ ? 1.0 / static_cast<double>(length) : 1.0;
        for (int64_t k = 0; k < out[at]; ++k) {
          T* element = y.as<T>() + ((outer * out[at] + k) * from.inner + inner) * out.back();
          element[0] = static_cast<T>(static_cast<Compute<T>>(values[static_cast<size_t>(k)].real() * scale));
          if (!to_real) {
            element[1] = static_cast<T>(static_cast<Compute<T>>(values[static_cast<size_t>(k)].imag() * scale));
          }
        }
      }
    });
  }

 private:
  bool axis_is_input_;
  int64_t axis_;
  bool inverse_;
  bool onesided_;
};

class StftKernel : public Kernel {
 public:
  explicit StftKernel(const KernelInit& init) : onesided_(init.node().Int("onesided", 1) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() != 3 && x.rank() != 2) FailOp("signal has shape {}, expected [batch,n,1 or 2]", ShapeText(x.dims));
    const int64_t components = x.rank() == 2 ? 1 : Components(x.dims);
    const int64_t step = IntegerParameter(context, 1, "frame_step");
    const Tensor* window = context.OptionalInput(2);
    int64_t length = window != nullptr ? window->Count() : x.dims[1];
    if (context.HasInput(3)) length = IntegerParameter(context, 3, "frame_length");
    CheckLength(length);
    if (step <= 0) FailOp("frame_step is {}, expected a positive number", step);
    if (length > x.dims[1]) FailOp("frames of {} are longer than the signal, {}", length, x.dims[1]);
    if (window != nullptr && (window->Count() != length || window->type != x.type)) {
      FailOp("window has {} elements of {}, expected {} of {}", window->Count(), TypeName(window->type), length,
             TypeName(x.type));
    }
    const int64_t frames = (x.dims[1] - length) / step + 1;
    const int64_t bins = onesided_ ? length / 2 + 1 : length;
    Tensor& y = context.Output(0, x.type, Dims{x.dims[0], frames, bins, 2});
    context.CountMemory(simd::Fft::BytesFor(length));
    const simd::Fft fft(length);
    DispatchFloats(x.type, "STFT", [&]<typename T>() {
      std::vector<simd::Fft::Complex> values(static_cast<size_t>(length));
      for (int64_t i = 0; i < x.dims[0] * frames; ++i) {
        const T* frame = x.as<T>() + (i / frames * x.dims[1] + i % frames * step) * components;
        for (int64_t k = 0; k < length; ++k) {
          const double weight =
              window == nullptr ? 1.0 : static_cast<double>(static_cast<Compute<T>>(window->as<T>()[k]));
          const auto part = [&](int64_t c) {
            return static_cast<double>(static_cast<Compute<T>>(frame[k * components + c])) * weight;
          };
          values[static_cast<size_t>(k)] = {part(0), components == 1 ? 0.0 : part(1)};
        }
        fft.Transform(values, false);
        for (int64_t k = 0; k < bins; ++k) {
          T* element = y.as<T>() + (i * bins + k) * 2;
          element[0] = static_cast<T>(static_cast<Compute<T>>(values[static_cast<size_t>(k)].real()));
          element[1] = static_cast<T>(static_cast<Compute<T>>(values[static_cast<size_t>(k)].imag()));
        }
      }
    });
  }

 private:
  bool onesided_;
};

}  // namespace

void Register_fourier(KernelRegistry& registry) {
  registry.Add<DftKernel>("DFT", 17, kFloats);
  registry.Add<StftKernel>("STFT", 17, kFloats);
}

}  // namespace epiphyte::cpu
