// Field numbers of the ONNX messages that the core reads and writes (onnx.proto and onnx-data.proto).
#pragma once

#include <cstdint>

namespace epiphyte::core::proto {

namespace model {
inline constexpr uint32_t kIrVersion = 1, kProducerName = 2, kProducerVersion = 3, kDomain = 4, kModelVersion = 5,
                          kDocString = 6, kGraph = 7, kOpsetImport = 8, kMetadata = 14, kFunctions = 25;
}
namespace opset {
inline constexpr uint32_t kDomain = 1, kVersion = 2;
}
namespace entry {
inline constexpr uint32_t kKey = 1, kValue = 2;
}
namespace graph {
inline constexpr uint32_t kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12, kValueInfo = 13,
                          kSparseInitializer = 15, kDocString = 10, kQuantization = 14, kMetadata = 16;
}
namespace node {
inline constexpr uint32_t kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDomain = 7, kOverload = 8,
                          kDocString = 6, kMetadata = 9;
}
// TensorAnnotation
namespace annotation {
inline constexpr uint32_t kTensorName = 1, kParameters = 2;
}
namespace attribute {
inline constexpr uint32_t kName = 1, kFloat = 2, kInt = 3, kString = 4, kTensor = 5, kGraph = 6, kFloats = 7, kInts = 8,
                          kStrings = 9, kTensors = 10, kGraphs = 11, kTypeProto = 14, kTypeProtos = 15, kType = 20,
                          kRefAttrName = 21, kSparseTensor = 22, kSparseTensors = 23;
}
namespace tensor {
inline constexpr uint32_t kDims = 1, kDataType = 2, kSegment = 3, kFloatData = 4, kInt32Data = 5, kStringData = 6,
                          kInt64Data = 7, kName = 8, kRawData = 9, kDoubleData = 10, kUint64Data = 11,
                          kExternalData = 13, kDataLocation = 14, kDocString = 12;
}
namespace sparse_tensor {
inline constexpr uint32_t kValues = 1, kIndices = 2, kDims = 3;
}
namespace value_info {
inline constexpr uint32_t kName = 1, kType = 2, kDocString = 3, kMetadata = 4;
}
namespace type {
inline constexpr uint32_t kTensor = 1, kSequence = 4, kMap = 5, kOpaque = 7, kSparseTensor = 8, kOptional = 9;
// Fields of the message of each kind.
inline constexpr uint32_t kElementType = 1, kShape = 2, kMapKey = 1, kMapValue = 2;
inline constexpr uint32_t kShapeDim = 1, kDimValue = 1, kDimParam = 2, kDimDenotation = 3, kDenotation = 6;
}  // namespace type
namespace function {
inline constexpr uint32_t kName = 1, kInput = 4, kOutput = 5, kAttribute = 6, kNode = 7, kOpsetImport = 9, kDomain = 10,
                          kAttributeProto = 11, kOverload = 13;
}
// SequenceProto and OptionalProto share their fields.
namespace sequence {
inline constexpr uint32_t kName = 1, kElementKind = 2, kTensor = 3, kSparseTensor = 4, kSequence = 5, kMap = 6,
                          kOptional = 7;
}
namespace map {
inline constexpr uint32_t kName = 1, kKeyType = 2, kKeys = 3, kStringKeys = 4, kValues = 5;
}

// Belongs to no message; see WireWriter::AlignedBytes.
inline constexpr uint32_t kPadding = 1000;

// SequenceProto.DataType and OptionalProto.DataType.
inline constexpr int32_t kKindTensor = 1, kKindSparseTensor = 2, kKindSequence = 3, kKindMap = 4, kKindOptional = 5;

}  // namespace epiphyte::core::proto
