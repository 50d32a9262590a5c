// Every operator of nsdk.h on real numbers, straight from its definition: what the SDK's results are held against.
//
//   Values values = Reference(*builder.Graph(), {x_bytes, ...});
//   values.at(tensor)[i]       // the stored integer that element i of a graph's tensor has
//
// Operators of one graph are computed one after the other, each from the stored integers of the one before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "nsdk.h"

namespace epiphyte::npusim {

using Bytes = std::vector<uint8_t>;
using Values = std::map<uint32_t, std::vector<int32_t>>;  // by tensor

Values Reference(const NsdkGraph& graph, const std::vector<Bytes>& inputs);

// Stored integers of a tensor's bytes.
std::vector<int32_t> Stored(uint32_t type, const Bytes& bytes);

}  // namespace epiphyte::npusim
