// Random operators, one per graph, with scales that spread the results over the output's range.
//
//   std::mt19937 random(5);
//   TestGraph graph = RandomCase(NSDK_CONV, random, {});
#pragma once

#include <random>

#include "test_graph.h"

namespace epiphyte::nsdk_conformance {

struct CaseFeatures {
  bool limits = false;      // LOW and HIGH within the type's range
  bool by_channel = false;  // weights with a scale for each channel
};

TestGraph RandomCase(uint32_t kind, std::mt19937& random, CaseFeatures features = {});

const char* NameOfKind(uint32_t kind);
inline constexpr uint32_t kLastKind = NSDK_REDUCE_MEAN;

// A net of several layers. An SDK may have only some of its operators, so callers ask Sdk::Accepts first. Each
// operator's result is an output of the graph.
TestGraph SmallNet(std::mt19937& random);

}  // namespace epiphyte::nsdk_conformance
