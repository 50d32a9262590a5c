// Activate: kit::fuse::ElementwiseOp of one operand, by its number (fuse/elementwise_program.hpp), for operators that
// apply one to their result (fuse/activation.hpp). The operation is best a specialization constant.
#ifndef ACTIVATION_GLSL
#define ACTIVATION_GLSL

#include "math.glsl"

#define ACTIVATION_RELU 6u
#define ACTIVATION_NONE 27u  // kCount

float Activate(uint op, float x, float p0, float p1) {
  switch (op) {
    case 6u: return Relu(x);
    case 7u: return Sigmoid(x);
    case 8u: return Tanh(x);
    case 9u: return -x;
    case 10u: return Magnitude(x);
    case 11u: return sqrt(x);
    case 12u: return Exp(x);
    case 13u: return Log(x);
    case 14u: return Erf(x);
    case 15u: return 1.0 / x;
    case 16u: return Softplus(x);
    case 17u: return x * HardSigmoid(x, 0.166666667, 0.5);  // HardSwish
    case 18u: return Gelu(x);
    case 19u: return GeluTanh(x);
    case 20u: return x * x;
    case 21u: return x * x * x;
    case 22u: return x * Sigmoid(x);
    case 23u: return x < 0.0 ? x * p0 : x;         // LeakyRelu
    case 24u: return x < 0.0 ? p0 * Expm1(x) : x;  // Elu
    case 25u: return HardSigmoid(x, p0, p1);
    case 26u: return Within(x, p0, p1);  // Clip
    default: return x;
  }
}

#endif  // ACTIVATION_GLSL
