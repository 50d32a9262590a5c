// A quad is a word with the bytes of four channels (or of four steps of a sum), the first in the lowest byte. A word of
// the input and a word of the weights make four products. Bytes of the input are signed or unsigned, whichever the
// device multiplies better. A shader that reads bytes of the other signedness flips their highest bit, and that of the
// zero point.
#ifndef QUADS_GLSL
#define QUADS_GLSL

#ifdef DOT_PRODUCT
// OpSDotKHR of two packed vectors, from VK_KHR_shader_integer_dot_product. This compiler's GLSL has no function for it.
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int SignedDot(int a, int b, spirv_literal int packed_vector_format);

// A byte of the input as a signed number, as the weights are: every device has an instruction for products of such
// bytes.
int QuadValue(uint stored, uint flip) {
  const int value = int((stored ^ flip) & 255u);
  return value > 127 ? value - 256 : value;
}
#else
// A byte of the input as an unsigned number, so that compilers see products that fit 16 bits.
int QuadValue(uint stored, uint flip) { return int((stored ^ flip) & 255u); }
#endif

#endif  // QUADS_GLSL
