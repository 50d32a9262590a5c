// Weights that look trained enough to keep activations in a sane range and are the same bytes on every run: element i
// of a tensor is a pure function of the tensor's name and i, so neither order nor thread count matters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace epiphyte::test {

// Uniform numbers with the given mean and standard deviation.
void FillRandom(std::string_view tensor_name, float deviation, float mean, std::span<float> out);

// The deviations of He (before a ReLU) and Xavier (elsewhere) initialisation.
float HeDeviation(int64_t fan_in);
float XavierDeviation(int64_t fan_in, int64_t fan_out);

}  // namespace epiphyte::test
