// Operators of com.microsoft that have bodies, by family. A row states the inputs, outputs and attributes that a call
// may have. Builders only get calls that match their row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace epiphyte::core::microsoft {

class Body;

struct Operator {
  std::string_view op_type;
  uint32_t min_inputs;
  uint32_t max_inputs;
  uint32_t max_outputs;
  // "name:kind …" for all attributes: f float, i int, s string, F floats, I ints, S strings, g graph.
  std::string_view attributes;
  void (*build)(Body& body);
};

// activations.cpp
std::span<const Operator> ActivationOperators();
// products.cpp
std::span<const Operator> ProductOperators();
// normalizations.cpp
std::span<const Operator> NormalizationOperators();
// attention.cpp
std::span<const Operator> AttentionOperators();
// multi_head_attention.cpp
std::span<const Operator> MultiHeadAttentionOperators();
// grouped_attention.cpp
std::span<const Operator> GroupedAttentionOperators();
// integer_products.cpp
std::span<const Operator> IntegerProductOperators();
// quantized.cpp
std::span<const Operator> QuantizedOperators();
// quantized_layout.cpp
std::span<const Operator> QuantizedLayoutOperators();
// others.cpp
std::span<const Operator> OtherOperators();
// masked_attention.cpp
std::span<const Operator> MaskedAttentionOperators();
// generation.cpp
std::span<const Operator> GenerationOperators();
// early_operators.cpp; operators of ai.onnx
std::span<const Operator> EarlyOperators();

}  // namespace epiphyte::core::microsoft
