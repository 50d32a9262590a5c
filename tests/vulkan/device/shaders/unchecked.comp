#version 450
//! variant unchecked.u32
// y[p[0]] = 1 without a bounds check: the defect that GPU-assisted validation must report.
#include "common.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
void main() { y[p[0]] = 1; }
