// Activate applies a kit::fuse::ElementwiseOp of one operand, by its number (fuse/elementwise_program.hpp). It serves
// operators that apply an activation to their result (fuse/activation.hpp). The number should be a specialization
// constant.
//
// Only variants with LONG_ACTIVATIONS have the code of long activations. Drivers read all code of a shader before they
// drop the parts that a specialization constant rules out. Long activations took half of the time that a driver needs
// for a convolution's pipeline. Shaders that end with an activation have each variant twice; ops/activation_variant.h
// chooses.
#ifndef ACTIVATION_GLSL
#define ACTIVATION_GLSL

#include "map_op.glsl"
#include "math.glsl"

#define ACTIVATION_NONE (kMapClip + 1u)  // ElementwiseOp::kCount

// Activations of a few instructions, which a shader may contain many times.
float ActivateShort(uint op, float x, float p0, float p1) {
  switch (op) {
    case kMapRelu: return Relu(x);
    case kMapNeg: return -x;
    case kMapAbs: return Magnitude(x);
    case kMapSqrt: return sqrt(x);
    case kMapReciprocal: return 1.0 / x;
    case kMapHardSwish: return x * HardSigmoid(x, 0.166666667, 0.5);
    case kMapSquare: return x * x;
    case kMapCube: return x * x * x;
    case kMapLeakyRelu: return x < 0.0 ? x * p0 : x;
    case kMapHardSigmoid: return HardSigmoid(x, p0, p1);
    case kMapClip: return Within(x, p0, p1);
    default: return x;
  }
}

#if defined(LONG_ACTIVATIONS)
float Activate(uint op, float x, float p0, float p1) {
  switch (op) {
    case kMapSigmoid: return Sigmoid(x);
    case kMapTanh: return Tanh(x);
    case kMapExp: return Exp(x);
    case kMapLog: return Log(x);
    case kMapErf: return Erf(x);
    case kMapSoftplus: return Softplus(x);
    case kMapGelu: return Gelu(x);
    case kMapGeluTanh: return GeluTanh(x);
    case kMapSwish: return x * Sigmoid(x);
    case kMapElu: return x < 0.0 ? p0 * Expm1(x) : x;
    default: return ActivateShort(op, x, p0, p1);
  }
}
#else
#define Activate ActivateShort
#endif

#endif  // ACTIVATION_GLSL
