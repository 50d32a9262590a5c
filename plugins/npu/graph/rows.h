// The rows of the table in lower.cpp: one function for each family of operators. Each emits what computes the work.
#pragma once

namespace epiphyte::npu {

class Lowering;
struct Work;

using LowerFunction = void (*)(Lowering& to, const Work& work);

// products.cpp
void LowerConv(Lowering& to, const Work& work);
void LowerConvTranspose(Lowering& to, const Work& work);
void LowerMatMul(Lowering& to, const Work& work);
void LowerGemm(Lowering& to, const Work& work);
// pools.cpp
void LowerMaxPool(Lowering& to, const Work& work);
void LowerAveragePool(Lowering& to, const Work& work);
void LowerGlobalMaxPool(Lowering& to, const Work& work);
void LowerGlobalAveragePool(Lowering& to, const Work& work);
void LowerReduceMean(Lowering& to, const Work& work);
// elementwise.cpp
void LowerBinary(Lowering& to, const Work& work);
void LowerMaxMin(Lowering& to, const Work& work);
void LowerClamp(Lowering& to, const Work& work);
void LowerLookup(Lowering& to, const Work& work);
void LowerRescale(Lowering& to, const Work& work);
// moves.cpp
void LowerConcat(Lowering& to, const Work& work);
void LowerSplit(Lowering& to, const Work& work);
void LowerSlice(Lowering& to, const Work& work);
void LowerPad(Lowering& to, const Work& work);
void LowerReshape(Lowering& to, const Work& work);
void LowerTranspose(Lowering& to, const Work& work);
void LowerDepthSpace(Lowering& to, const Work& work);
// resize.cpp
void LowerResize(Lowering& to, const Work& work);
// normalize.cpp
void LowerSoftmax(Lowering& to, const Work& work);
void LowerLayerNormalization(Lowering& to, const Work& work);

}  // namespace epiphyte::npu
