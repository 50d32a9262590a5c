// Quads: the bytes of four channels (or of four steps of a sum) in a word, the first in the lowest byte, so that a word
// of the input and one of the weights are four products. Bytes are signed or unsigned, as the device multiplies them
// best. A shader that makes quads flips the highest bit of bytes with the other signedness, and that of the zero point.
#ifndef QUADS_GLSL
#define QUADS_GLSL

#ifdef DOT_PRODUCT
// OpSDotKHR of two packed vectors, from VK_KHR_shader_integer_dot_product, which this compiler has no function for.
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int SignedDot(int a, int b, spirv_literal int packed_vector_format);

// Byte of the input, signed as the weights are: every device has an instruction for that.
int QuadValue(uint stored, uint flip) {
  const int value = int((stored ^ flip) & 255u);
  return value > 127 ? value - 256 : value;
}
#else
// Byte of the input, unsigned, so that compilers see products that fit 16 bits.
int QuadValue(uint stored, uint flip) { return int((stored ^ flip) & 255u); }
#endif

#endif  // QUADS_GLSL
