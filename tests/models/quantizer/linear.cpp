#include "tests/models/quantizer/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace epiphyte::test {
namespace {

constexpr double kMaxBias = 1 << 30;
constexpr float kMaxWeight = 127;

// Scales are normal floats, so that no runtime that flushes denormals divides by zero.
float ToScale(double scale) {
  const float rounded = static_cast<float>(scale);
  return rounded >= std::numeric_limits<float>::min() ? rounded : 1.0f;
}

}  // namespace

int32_t Linear::Quantize(double real) const {
  const float steps = std::nearbyint(static_cast<float>(real) / scale) + static_cast<float>(zero_point);
  return static_cast<int32_t>(std::min(std::max(steps, static_cast<float>(lowest())), static_cast<float>(highest())));
}

Linear ChooseLinear(Range range, const ActivationForm& form) {
  Linear linear{.type = form.type};
  const double low = std::min(range.low, 0.0);
  const double high = std::max(range.high, 0.0);
  if (form.symmetric) {
    linear.zero_point = linear.lowest() + 128;
    linear.scale = ToScale(std::max(-low, high) / 127);
    return linear;
  }
  linear.scale = ToScale((high - low) / 255);
  const double steps = std::nearbyint(-low / static_cast<double>(linear.scale));
  linear.zero_point = linear.lowest() + static_cast<int32_t>(std::min(steps, 255.0));
  return linear;
}

float LeastWeightScale(float bias, float input_scale) {
  return static_cast<float>(std::fabs(static_cast<double>(bias)) / (static_cast<double>(input_scale) * kMaxBias));
}

QuantizedWeights QuantizeWeights(std::span<const float> weights, const std::vector<int64_t>& dims, int64_t axis,
                                 std::span<const float> least_scales) {
  size_t channels = 1;
  size_t inner = weights.size();  // number of consecutive elements of one channel
  if (axis >= 0) {
    channels = static_cast<size_t>(dims[static_cast<size_t>(axis)]);
    inner = 1;
    for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  }
  const auto channel_of = [&](size_t i) { return i / inner % channels; };

  std::vector<float> largest(channels, 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    float& peak = largest[channel_of(i)];
    peak = std::max(peak, std::fabs(weights[i]));
  }
  const float of_all = *std::max_element(largest.begin(), largest.end());
  QuantizedWeights result;
  for (size_t c = 0; c < channels; ++c) {
    // A channel of zeros gets the scale of the whole tensor, so that its bias keeps its precision.
    const float natural = ToScale(static_cast<double>(largest[c] > 0 ? largest[c] : of_all) / kMaxWeight);
    result.scales.push_back(least_scales.empty() ? natural : std::max(natural, least_scales[c]));
  }
  result.numbers.resize(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const float steps = std::nearbyint(weights[i] / result.scales[channel_of(i)]);
    result.numbers[i] = static_cast<int8_t>(std::min(std::max(steps, -kMaxWeight), kMaxWeight));
  }
  return result;
}

std::vector<int32_t> QuantizeBias(std::span<const float> bias, float input_scale,
                                  std::span<const float> weight_scales) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < bias.size(); ++i) {
    const float step = input_scale * weight_scales[weight_scales.size() == 1 ? 0 : i];
    const double steps = std::nearbyint(static_cast<double>(bias[i]) / static_cast<double>(step));
    result.push_back(static_cast<int32_t>(std::min(std::max(steps, double{INT32_MIN}), double{INT32_MAX})));
  }
  return result;
}

}  // namespace epiphyte::test
