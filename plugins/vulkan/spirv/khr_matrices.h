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

// Sizes tell which matrices are left and which are right operands: the constant for the columns of a left operand is
// the one for the rows of a right operand. So a shader must have a constant of its own for each of the three sizes,
// even if their values are equal. Throws std::runtime_error for a module in which the sizes do not tell, and for
// invalid modules.
std::vector<uint32_t> ToKhrMatrices(std::span<const uint32_t> module);

}  // namespace epiphyte::vulkan
