# epiphyte_operators(PREFIX FUNCTION f NAMESPACE n HEADER h ARGUMENT a)
#
# The operators of a bundled plugin, in ops/<family>/ of the current folder. Every .cpp there defines
# void Register_<its name>(ARGUMENT), but for those that a header of the same name belongs to. Sets <PREFIX>_OPERATORS to
# all of these sources and to one that defines FUNCTION, which calls each Register_… once.
#   HEADER    declares FUNCTION and ARGUMENT's type
#   ARGUMENT  "Type& name"
function(epiphyte_operators prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FUNCTION;NAMESPACE;HEADER;ARGUMENT" "")
  string(REGEX REPLACE ".*[ &]" "" argument_name "${arg_ARGUMENT}")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*/*.cpp)
  set(declarations "")
  set(calls "")
  foreach(source IN LISTS sources)
    cmake_path(REPLACE_EXTENSION source h OUTPUT_VARIABLE header)
    if(NOT EXISTS ${header})
      cmake_path(GET source STEM name)
      string(APPEND declarations "void Register_${name}(${arg_ARGUMENT});\n")
      string(APPEND calls "  Register_${name}(${argument_name});\n")
    endif()
  endforeach()
  set(register_all ${CMAKE_CURRENT_BINARY_DIR}/register_all.cpp)
  file(CONFIGURE OUTPUT ${register_all} @ONLY CONTENT
"#include \"${arg_HEADER}\"\n
namespace ${arg_NAMESPACE} {\n
${declarations}
void ${arg_FUNCTION}(${arg_ARGUMENT}) {
${calls}}\n
}  // namespace ${arg_NAMESPACE}\n")
  set(${prefix}_OPERATORS ${sources} ${register_all} PARENT_SCOPE)
endfunction()
