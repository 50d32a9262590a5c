// How long the compiler may look for a faster program.
#pragma once

namespace epiphyte::npusim {

enum class Effort { kFast, kBalanced, kExhaustive };

}  // namespace epiphyte::npusim
