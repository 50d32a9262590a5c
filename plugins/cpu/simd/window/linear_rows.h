// Linear interpolation between rows of floats and along them, and repetition of the elements of rows of any type. Used
// to resize images.
//
//     const LinearTaps taps(in_width, lower, upper, lower_weights, upper_weights);   // from row to row the same
//     SampleRow(taps, x, y);                  // y[i] = lower_weights[i] x[lower[i]] + upper_weights[i] x[upper[i]]
//     BlendRows(a, b, 0.25f, 0.75f, y, n);    // y[i] = 0.25 a[i] + 0.75 b[i]; y may be a or b
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace epiphyte::cpu::simd {

struct LinearTaps {
  // A block of kBlock neighbouring results is looked up by vectors if its taps lie within kReach elements.
  static constexpr int64_t kBlock = 16, kReach = 32;

  // Indices are below in_width; the four lists have the same length.
  LinearTaps(int64_t in_width, std::vector<int32_t> lower_indices, std::vector<int32_t> upper_indices,
             std::vector<float> weights_of_lower, std::vector<float> weights_of_upper);
  int64_t count() const { return static_cast<int64_t>(lower.size()); }

  int64_t in_width;
  std::vector<int32_t> lower, upper;
  std::vector<float> lower_weights, upper_weights;
  std::vector<int32_t> bases;  // by block: begin of the kReach elements that hold all of its taps, or -1
};

// y: taps.count() elements.
void SampleRow(const LinearTaps& taps, const float* x, float* y);
void BlendRows(const float* a, const float* b, float a_weight, float b_weight, float* y, int64_t n);
// y[i] = weights[0] rows[0][i] + … + weights[3] rows[3][i]
void BlendFourRows(const float* const* rows, const float* weights, float* y, int64_t n);
// As BlendFourRows, for `count` rows; no rows give zeros.
void BlendManyRows(const float* const* rows, const float* weights, int64_t count, float* y, int64_t n);
// Nearest-neighbour upsampling by 2: y[2 i] = y[2 i + 1] = x[i]; n counts elements of x.
void DoubleRow(const uint8_t* x, uint8_t* y, int64_t n);
void DoubleRow(const uint16_t* x, uint16_t* y, int64_t n);
void DoubleRow(const uint32_t* x, uint32_t* y, int64_t n);

}  // namespace epiphyte::cpu::simd
