// Cooperative matrices of SPIR-V in the words of SPV_KHR_cooperative_matrix, made of those of
// SPV_NV_cooperative_matrix. Drivers of all vendors know the former, but the glslc of Debian 12 can only write the
// latter. Both say the same in almost the same way, but KHR also says of a matrix whether it is the left or the right
// operand of products, or a sum.
//
//     const std::vector<uint32_t> khr = ToKhrMatrices(words);  // of a module, as glslc wrote and spirv-opt improved it
//
// The build has a program that does it with files, epiphyte_khr_matrices (main.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace epiphyte::vulkan {

// Which matrices are left and which are right operands is seen by their sizes: what the columns of a left one are
// counted by, the rows of a right one are. So a shader has a constant of its own for each of the three sizes, be their
// values the same. Throws std::runtime_error for a module where that does not tell, and for what is no module.
std::vector<uint32_t> ToKhrMatrices(std::span<const uint32_t> module);

}  // namespace epiphyte::vulkan
