// Rewrites the cooperative matrices of a SPIR-V module from SPV_NV_cooperative_matrix to SPV_KHR_cooperative_matrix.
// Drivers of all vendors know the latter, but the glslc of Debian 12 can only write the former. The two say almost the
// same, but a matrix type of KHR also says whether the matrix is the left operand, the right operand or the sum of
// products.
//
//     const std::vector<uint32_t> khr = ToKhrMatrices(words);  // words: a module from glslc, improved by spirv-opt
//
// The program epiphyte_khr_matrices (main.cpp), which the build makes and uses, does this with files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace epiphyte::vulkan {

// Left and right operands are recognised by their sizes: the constant for the columns of a left operand is the one for
// the rows of a right operand. So a shader must have a constant of its own for each of the three sizes, even if their
// values are equal. Throws std::runtime_error for a module in which a matrix could be both, and for invalid modules.
std::vector<uint32_t> ToKhrMatrices(std::span<const uint32_t> module);

}  // namespace epiphyte::vulkan
