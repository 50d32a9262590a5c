// Rows of the table in lower.cpp: one function for each family of operators. Each function emits the operators that
// compute the op.
#pragma once

namespace epiphyte::npu {

class Lowering;
struct QuantizedOp;

using LowerFunction = void (*)(Lowering& to, const QuantizedOp& work);

// products.cpp
void LowerConv(Lowering& to, const QuantizedOp& work);
void LowerConvTranspose(Lowering& to, const QuantizedOp& work);
void LowerMatMul(Lowering& to, const QuantizedOp& work);
void LowerGemm(Lowering& to, const QuantizedOp& work);
// pools.cpp
void LowerMaxPool(Lowering& to, const QuantizedOp& work);
void LowerAveragePool(Lowering& to, const QuantizedOp& work);
void LowerGlobalMaxPool(Lowering& to, const QuantizedOp& work);
void LowerGlobalAveragePool(Lowering& to, const QuantizedOp& work);
void LowerReduceMean(Lowering& to, const QuantizedOp& work);
// elementwise.cpp
void LowerBinary(Lowering& to, const QuantizedOp& work);
void LowerMaxMin(Lowering& to, const QuantizedOp& work);
void LowerClamp(Lowering& to, const QuantizedOp& work);
void LowerLookup(Lowering& to, const QuantizedOp& work);
void LowerRescale(Lowering& to, const QuantizedOp& work);
// moves.cpp
void LowerConcat(Lowering& to, const QuantizedOp& work);
void LowerSplit(Lowering& to, const QuantizedOp& work);
void LowerSlice(Lowering& to, const QuantizedOp& work);
void LowerPad(Lowering& to, const QuantizedOp& work);
void LowerReshape(Lowering& to, const QuantizedOp& work);
void LowerTranspose(Lowering& to, const QuantizedOp& work);
void LowerDepthSpace(Lowering& to, const QuantizedOp& work);
// resize.cpp
void LowerResize(Lowering& to, const QuantizedOp& work);
// normalize.cpp
void LowerSoftmax(Lowering& to, const QuantizedOp& work);
void LowerLayerNormalization(Lowering& to, const QuantizedOp& work);

}  // namespace epiphyte::npu
