// Reads AttributeProto messages into attributes of the IR.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/graph/attribute.h"
#include "core/onnx/read/tensor_reader.h"

namespace epiphyte::core {

// Fields of an attribute that can be read without its value.
struct AttributeHead {
  std::string_view name;
  std::string_view reference;  // ref_attr_name: an attribute of the enclosing function call
};
AttributeHead ReadAttributeHead(std::string_view attribute_proto);

using ReadGraphFunction = std::function<std::unique_ptr<Graph>(std::string_view graph_proto)>;

// `owner` names the node in messages. Sparse tensors become dense ones. Throws INVALID_GRAPH when the value that the
// type requires is missing. A string longer than kLongPayload bytes in `ep_cache_context` of an EPContext node becomes
// a uint8 tensor that views the file, because payloads can have hundreds of megabytes. The writer writes it as a string
// again.
inline constexpr size_t kLongPayload = 4096;
Attribute ReadAttribute(std::string_view attribute_proto, std::string_view owner, bool is_ep_context,
                        const TensorReader& tensors, const ReadGraphFunction& read_graph);

// A copy under another name; nested graphs are cloned with `outer`.
Attribute RenamedAttribute(const Attribute& attribute, std::string name,
                           const std::function<ValueDef*(ValueDef*)>& outer);

}  // namespace epiphyte::core
