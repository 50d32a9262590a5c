// Translation of the nodes of a host graph into a program.
#pragma once

#include <string>

#include "epiphyte/kit/abi/graph_view.hpp"
#include "tests/device/plugin/program.h"

namespace epiphyte::test::device {

// Returns "" if a program can have the node as a step, otherwise the reason why not.
std::string WhyNot(const kit::NodeView& node);

// Translates a graph. WhyNot must return "" for each of its nodes.
Program Translate(const kit::GraphView& graph, std::string name);

}  // namespace epiphyte::test::device
