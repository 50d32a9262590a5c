// GraphWriter: writes the IR as ONNX messages through a WireWriter.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/onnx/wire/wire_writer.h"
#include "core/onnx/wire/write_options.h"

namespace epiphyte::core {

struct ValueAnnotation;

void WriteType(const Type& type, WireWriter& out);
// Also writes the annotations of `value`, which has the type; may be null.
void WriteType(const Type& type, const ValueAnnotation* value, WireWriter& out);
// A TensorProto with its data inside.
void WriteTensor(const Constant& constant, std::string_view name, WireWriter& out);

class GraphWriter {
 public:
  GraphWriter(const WriteOptions& options, int64_t ir_version, WireWriter& out)
      : options_(options), ir_version_(ir_version), out_(out), annotations_(options.annotations) {}

  // Writes the fields of a GraphProto.
  void Write(const Graph& graph);

 private:
  void WriteNode(const Node& node);
  void WriteAttribute(const Node& node, const Attribute& attribute);
  void WriteBody(const Node& node, const Attribute& attribute, size_t index, const Graph& body);
  void WriteAnnotations(const Graph& graph);
  void WriteInitializer(std::string_view name, const Constant& constant);
  void WriteValueInfo(uint32_t field, const ValueDef& value);
  // Returns the location of the constant's bytes in the external file, and writes them in the second pass.
  ExternalLocation PlaceOutside(const Constant& constant);

  const WriteOptions& options_;
  int64_t ir_version_;
  WireWriter& out_;
  const GraphAnnotations* annotations_;  // annotations of the graph being written; may be null
  uint64_t external_size_ = 0;
  std::map<const void*, ExternalLocation> placed_;  // by address, so that shared weights are written once
};

// The graph as a GraphProto with all data embedded.
std::string GraphToBytes(const Graph& graph);

}  // namespace epiphyte::core
