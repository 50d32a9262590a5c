// Inference functions of the overlay's table, grouped by the file that defines them.
#pragma once

namespace epiphyte::core {

class NodeInference;

// elementwise.cpp
void InferLikeFirst(NodeInference& node);   // every output has the type of input 0
void InferBroadcast(NodeInference& node);   // two inputs, broadcast; element type of the first
void InferComparison(NodeInference& node);  // two inputs, broadcast; bool
void InferBoolLikeFirst(NodeInference& node);
void InferStringConcat(NodeInference& node);
void InferStringSplit(NodeInference& node);

// layout.cpp
void InferReshape(NodeInference& node);
void InferConstantOfShape(NodeInference& node);
void InferExpand(NodeInference& node);
void InferGatherNd(NodeInference& node);
void InferRange(NodeInference& node);
void InferSlice(NodeInference& node);
void InferSplit(NodeInference& node);
void InferPad(NodeInference& node);
void InferResize(NodeInference& node);
void InferCenterCropPad(NodeInference& node);
void InferCol2Im(NodeInference& node);

// window.cpp
void InferPool(NodeInference& node);
void InferConv(NodeInference& node);
void InferConvInteger(NodeInference& node);
void InferQLinearConv(NodeInference& node);
void InferConvTranspose(NodeInference& node);
void InferMaxUnpool(NodeInference& node);
void InferDeformConv(NodeInference& node);
void InferGridSample(NodeInference& node);
void InferAffineGrid(NodeInference& node);
void InferDft(NodeInference& node);
void InferStft(NodeInference& node);
void InferGradient(NodeInference& node);
void InferImageDecoder(NodeInference& node);

// types.cpp
void InferConstant(NodeInference& node);
void InferCast(NodeInference& node);
void InferCastLike(NodeInference& node);
void InferBitCast(NodeInference& node);
void InferQuantize(NodeInference& node);
void InferDequantize(NodeInference& node);
void InferOptionalGetElement(NodeInference& node);
void InferOptionalHasElement(NodeInference& node);
void InferLabelEncoder(NodeInference& node);
void InferTreeEnsemble(NodeInference& node);

// matrix.cpp
void InferAttention(NodeInference& node);
void InferRmsNormalization(NodeInference& node);
void InferLayerNormalization(NodeInference& node);
void InferGemm(NodeInference& node);
void InferEinsum(NodeInference& node);

}  // namespace epiphyte::core
