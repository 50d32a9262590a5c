// Converts the IR's types, constants and attributes to libonnx's protobuf messages and back, for libonnx's inference
// and function builders. Models are never read or written this way.
#pragma once

#include <onnx/onnx_pb.h>

#include "core/graph/graph.h"
#include "core/onnx/infer/value_data.h"

namespace epiphyte::core {

void ToTypeProto(const Type& type, onnx::TypeProto* proto);
TypePtr FromTypeProto(const onnx::TypeProto& proto);
// Omits the data of more than ValueData::kMaxElements elements; inference then uses only type and dims.
void ToTensorProto(const Constant& constant, onnx::TensorProto* proto);
enum class Graphs { kLeaveOut, kInclude };
void ToAttributeProto(const Attribute& attribute, Graphs graphs, onnx::AttributeProto* proto);
// With attributes, nested graphs included.
void ToNodeProto(const Node& node, onnx::NodeProto* proto);

}  // namespace epiphyte::core
