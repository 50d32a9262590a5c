// Makes error messages printable. Messages contain names from files, and damaged files contain names with arbitrary
// bytes. The public functions of this folder pass their errors through here, so that every message is one safe line.
#pragma once

#include <string_view>

#include "core/base/error.h"
#include "core/base/text.h"

namespace epiphyte::core {

// Runs `action`; an Error's message gets `prefix` in front and becomes printable.
template <typename Action>
auto WithPrintableErrors(std::string_view prefix, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw error.WithMessage(PrintableLine(fmt::format("{}{}", prefix, error.message())));
  }
}

}  // namespace epiphyte::core
