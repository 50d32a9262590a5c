// Det: the determinant of each square matrix of a batch.
#include <algorithm>
#include <cmath>

#include "plugins/cpu/ops/math/elementwise.h"

namespace epiphyte::cpu {
namespace {

// Gaussian elimination with partial pivoting, in place.
double Determinant(double* a, int64_t n) {
  double determinant = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    }
    if (a[pivot * n + column] == 0) return 0;
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + (pivot + 1) * n, a + column * n);
      determinant = -determinant;
    }
    determinant *= a[column * n + column];
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / a[column * n + column];
      for (int64_t i = column + 1; i < n; ++i) a[row * n + i] -= factor * a[column * n + i];
    }
  }
  return determinant;
}

class DetKernel : public Kernel {
 public:
  explicit DetKernel(const KernelInit&) {}

  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    if (x.rank() < 2 || x.dims.back() != x.dims[x.rank() - 2]) {
      FailOp("input has shape {}, expected square matrices", ShapeText(x.dims));
    }
    const int64_t n = x.dims.back();
    const Dims out(std::span<const int64_t>(x.dims).first(x.rank() - 2));
    Tensor& y = context.Output(0, x.type, out);
    double* matrix = static_cast<double*>(context.Scratch(static_cast<uint64_t>(n * n) * sizeof(double)));
    DispatchFloats(x.type, "Det", [&]<typename T>() {
      for (int64_t i = 0; i < y.Count(); ++i) {
        for (int64_t j = 0; j < n * n; ++j)
          matrix[j] = static_cast<double>(static_cast<Compute<T>>(x.as<T>()[i * n * n + j]));
        y.as<T>()[i] = static_cast<T>(static_cast<Compute<T>>(Determinant(matrix, n)));
      }
    });
  }
};

}  // namespace

void Register_det(KernelRegistry& registry) { registry.Add<DetKernel>("Det", 11, kFloats); }

}  // namespace epiphyte::cpu
