// Activate: kit::fuse::ElementwiseOp of one operand, by its number (fuse/elementwise_program.hpp), for operators that
// apply one to their result (fuse/activation.hpp). The operation is best a specialization constant.
#include "math.glsl"

#define ACTIVATION_RELU 6u
#define ACTIVATION_NONE 27u  // kCount

float Activate(uint op, float x, float p0, float p1) {
  switch (op) {
    case 6u: return x < 0.0 ? 0.0 : x;  // Relu, which keeps NaN
    case 7u: return Sigmoid(x);
    case 8u: return Tanh(x);
    case 9u: return -x;
    case 10u: return abs(x);
    case 11u: return sqrt(x);
    case 12u: return Exp(x);
    case 13u: return Log(x);
    case 14u: return Erf(x);
    case 15u: return 1.0 / x;
    case 16u: return Softplus(x);
    case 17u: return x * clamp(x * (1.0 / 6.0) + 0.5, 0.0, 1.0);  // HardSwish
    case 18u: return 0.5 * x * (1.0 + Erf(x * 0.70710678));       // Gelu
    case 19u: return 0.5 * x * (1.0 + Tanh(0.79788456 * (x + 0.044715 * x * x * x)));
    case 20u: return x * x;
    case 21u: return x * x * x;
    case 22u: return x * Sigmoid(x);
    case 23u: return x < 0.0 ? p0 * x : x;                    // LeakyRelu
    case 24u: return x < 0.0 ? p0 * Expm1(x) : x;             // Elu
    case 25u: return clamp(p0 * x + p1, 0.0, 1.0);            // HardSigmoid
    case 26u: return x < p0 ? p0 : x > p1 ? p1 : x;           // Clip
    default: return x;
  }
}
