// Translation of nodes of the host's graphs into programs.
#pragma once

#include <string>

#include "epiphyte/kit/abi/graph_view.hpp"
#include "tests/device/plugin/program.h"

namespace epiphyte::test::device {

// "" for a node that a program can have as a step, else why not.
std::string WhyNot(const kit::NodeView& node);

// Translates a graph. WhyNot must be "" for each of its nodes.
Program Translate(const kit::GraphView& graph, std::string name);

}  // namespace epiphyte::test::device
