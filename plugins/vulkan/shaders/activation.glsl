// Activate: kit::fuse::ElementwiseOp of one operand, by its number (fuse/elementwise_program.hpp), for operators that
// apply one to their result (fuse/activation.hpp). The operation is best a specialization constant.
//
// The long ones are there for LONG_ACTIVATIONS only: drivers read all the code of a shader before they drop what a
// specialization constant rules out, and it took half of the time that a convolution's pipeline takes them. Shaders with
// an activation behind their result have each variant twice, and ops/activation_variant.h chooses.
#ifndef ACTIVATION_GLSL
#define ACTIVATION_GLSL

#include "math.glsl"

#define ACTIVATION_RELU 6u
#define ACTIVATION_NONE 27u  // kCount

// Activations of a few instructions, which a shader may contain many times.
float ActivateShort(uint op, float x, float p0, float p1) {
  switch (op) {
    case 6u: return Relu(x);
    case 9u: return -x;
    case 10u: return Magnitude(x);
    case 11u: return sqrt(x);
    case 15u: return 1.0 / x;
    case 17u: return x * HardSigmoid(x, 0.166666667, 0.5);  // HardSwish
    case 20u: return x * x;
    case 21u: return x * x * x;
    case 23u: return x < 0.0 ? x * p0 : x;  // LeakyRelu
    case 25u: return HardSigmoid(x, p0, p1);
    case 26u: return Within(x, p0, p1);  // Clip
    default: return x;
  }
}

#if defined(LONG_ACTIVATIONS)
float Activate(uint op, float x, float p0, float p1) {
  switch (op) {
    case 7u: return Sigmoid(x);
    case 8u: return Tanh(x);
    case 12u: return Exp(x);
    case 13u: return Log(x);
    case 14u: return Erf(x);
    case 16u: return Softplus(x);
    case 18u: return Gelu(x);
    case 19u: return GeluTanh(x);
    case 22u: return x * Sigmoid(x);               // Swish
    case 24u: return x < 0.0 ? p0 * Expm1(x) : x;  // Elu
    default: return ActivateShort(op, x, p0, p1);
  }
}
#else
#define Activate ActivateShort
#endif

#endif  // ACTIVATION_GLSL
