// FuseSoftmax: recognises Softmax and LogSoftmax written as arithmetic.
//
//   fuse::FuseSoftmax(editor);   // e = Exp(x - ReduceMax(x)), y = e / ReduceSum(e)  →  Softmax<axis>(x)
//                                // z = x - ReduceMax(x), y = z - Log(ReduceSum(Exp(z)))  →  LogSoftmax<axis>(x)
//
// It works along one axis, with or without subtracting the maximum. Sums may be ReduceSum, ReduceLogSum or
// ReduceLogSumExp; quotients may be Div or a product with the reciprocal.
#pragma once

#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// Makes ONNX's Softmax and LogSoftmax of opset 13.
void FuseSoftmax(ir::Editor& editor);

}  // namespace epiphyte::kit::fuse
