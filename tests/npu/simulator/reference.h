// Reference for the SDK's results: every operator of nsdk.h on real numbers, straight from its definition.
//
//   Values values = Reference(*builder.Graph(), {x_bytes, ...});
//   values.at(tensor)[i]       // the stored integer that element i of a graph's tensor has
//
// The operators of a graph are computed one after the other, each from the stored integers of the one before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "nsdk.h"

namespace epiphyte::npusim {

using Bytes = std::vector<uint8_t>;
using Values = std::map<uint32_t, std::vector<int32_t>>;  // key: index of the tensor

Values Reference(const NsdkGraph& graph, const std::vector<Bytes>& inputs);

// Decodes a tensor's bytes into its stored integers.
std::vector<int32_t> Stored(uint32_t type, const Bytes& bytes);

}  // namespace epiphyte::npusim
