# Settings that every target shares: language level, warnings, sanitizers, output folders.

option(EPIPHYTE_BUILD_TESTS "Build tests, the model generator and benchmarks" ON)
set(EPIPHYTE_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize= (address,undefined or thread)")
option(EPIPHYTE_FUZZ "Build the fuzz targets (needs clang)" OFF)
option(EPIPHYTE_COVERAGE "Count which lines of core and kit run (needs GCC; tests/coverage.sh)" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# The build tree has the layout of an installation, so that plugins are found the same way in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(EPIPHYTE_PLUGIN_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/epiphyte/plugins)
set(EPIPHYTE_PLUGIN_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/epiphyte/plugins)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(epiphyte_options INTERFACE)
target_include_directories(epiphyte_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(epiphyte_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU,Clang>:-Wall -Wextra -Wno-missing-field-initializers>
  # GCC 12 sees overlaps in std::string operator+ that are not there (GCC bug 105329).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(EPIPHYTE_FUZZ)
  # The fuzzer is guided by the coverage of the core and of the plugins, not of its target's own few lines.
  target_compile_options(epiphyte_options INTERFACE
    -fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp)
endif()
if(EPIPHYTE_SANITIZE)
  target_compile_options(epiphyte_options INTERFACE -fsanitize=${EPIPHYTE_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(epiphyte_options INTERFACE -fsanitize=${EPIPHYTE_SANITIZE})
  if(EPIPHYTE_SANITIZE MATCHES "undefined")
    target_compile_options(epiphyte_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# Code with counted lines is compiled without optimisation; targets that only link to it are compiled as usual.
if(EPIPHYTE_COVERAGE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "EPIPHYTE_COVERAGE: ${CMAKE_CXX_COMPILER_ID} found, GCC expected; set CMAKE_CXX_COMPILER=g++")
endif()
set(EPIPHYTE_COVERAGE_FLAGS --coverage -fprofile-abs-path -fprofile-update=prefer-atomic -O0)

# epiphyte_count_lines(LIBRARY): with EPIPHYTE_COVERAGE, of a static library.
function(epiphyte_count_lines target)
  if(EPIPHYTE_COVERAGE)
    target_compile_options(${target} PRIVATE ${EPIPHYTE_COVERAGE_FLAGS})
    target_link_options(${target} INTERFACE --coverage)
  endif()
endfunction()

# epiphyte_count_lines_of_headers(): likewise, of the headers that this folder's targets include.
macro(epiphyte_count_lines_of_headers)
  if(EPIPHYTE_COVERAGE)
    add_compile_options(${EPIPHYTE_COVERAGE_FLAGS})
    add_link_options(--coverage)
  endif()
endmacro()
