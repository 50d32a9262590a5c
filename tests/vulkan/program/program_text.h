// Builds programs from graphs written as text, and lists the contents of programs.
//
//     const Program program = ProgramOf(R"(graph "g" …)", {FloatInput({2, 3})});
//     EXPECT_THAT(ShadersOf(program), ElementsAre("map.f32"));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/error.hpp"
#include "plugins/vulkan/ops/program_builder.h"

namespace epiphyte::vulkan {

// The plugin's own operators.
const OperatorTable& AllOperators();
// Capabilities of a device that has everything but cooperative matrices, and of one that has only the required ones.
Capabilities GoodDevice();
Capabilities PoorDevice();

ProgramInput FloatInput(Dims dims);
ProgramInput IntsInput(std::vector<int64_t> values);  // an input of one dimension that the host reads

// Builds the program of a graph. Throws what choosing operators or recording throws.
Program ProgramOf(std::string_view graph, const std::vector<ProgramInput>& inputs,
                  const Capabilities& capabilities = GoodDevice(), const OperatorTable& operators = AllOperators());

// Returns the message that `body` throws; "" when it throws none.
std::string MessageOf(const std::function<void()>& body);

}  // namespace epiphyte::vulkan
