# epiphyte_add_kernel_set(VARIABLE FOLDER folder FUNCTION name)
#
# Compiles the variants of every *.comp in FOLDER to SPIR-V. Writes a source file that defines
# `const KernelSet& epiphyte::vulkan::FUNCTION()`, and sets VARIABLE to its path. A shader's first lines list its variants:
#     //! variant NAME [WORD | WORD=VALUE]...
#     //! each also SUFFIX WORD...                 adds NAMESUFFIX.TYPE with more words, for each variant NAME.TYPE
# The build makes modules smaller: it inlines functions, and removes values that are only stored and loaded again. These
# steps are the larger part of a driver's work on a pipeline, with a pipeline cache or without: Mesa's software device
# takes 8 ms instead of 26 for an element-wise operator. Other optimizations make no kernel faster, and the GPU-assisted
# validation of Debian 12 instruments the loops of spirv-opt -O wrongly.
# A variant with the word COOPERATIVE_MATRICES is compiled with NVIDIA's extension, which compilers and optimizers of all
# releases know, and is then changed to KHR's (spirv/khr_matrices.h).
# A shader is compiled again when it or a file that it includes changes. Includes are looked for in FOLDER and here.
find_program(EPIPHYTE_GLSLC glslc)
if(NOT EPIPHYTE_GLSLC)
  message(FATAL_ERROR "glslc was not found; the Vulkan plugin's shaders are compiled with it: install the package glslc")
endif()

find_program(EPIPHYTE_SPIRV_OPT spirv-opt)
if(NOT EPIPHYTE_SPIRV_OPT)
  message(FATAL_ERROR "spirv-opt was not found; it makes the Vulkan plugin's shaders smaller: install the package spirv-tools")
endif()
set(EPIPHYTE_SPIRV_PASSES
  --merge-return --inline-entry-points-exhaustive --eliminate-dead-functions --private-to-local
  --eliminate-local-single-block --eliminate-local-single-store --eliminate-dead-code-aggressive
  --scalar-replacement=100 --convert-local-access-chains --eliminate-local-single-block --eliminate-local-single-store
  --ssa-rewrite --eliminate-dead-code-aggressive --strip-debug)

# Numbers that shaders share with C++ become macros: "numbers.glsl" is made from numbers.inc, "map_op.glsl" from
# map_op.inc. With macros, a module has the same words as with the plain number: contexts depend on the modules'
# digests. A new number changes no module that doesn't use it.
set(EPIPHYTE_SHADER_NUMBERS ${PROJECT_BINARY_DIR}/shader_numbers CACHE INTERNAL "Folder of numbers.glsl and map_op.glsl")
set(numbers_of_numbers "")
set(numbers_of_map_op "")
foreach(pair numbers|NUMBER|\\1 map_op|MAP_OP|kMap\\1 map_op|MAP_OP_OF_KIT|kMap\\1)
  string(REPLACE "|" ";" pair "${pair}")
  list(GET pair 0 file)
  list(GET pair 1 macro)
  list(GET pair 2 name)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/${file}.inc lines REGEX "^${macro}\\(")
  list(TRANSFORM lines REPLACE "^${macro}\\((k?[A-Za-z0-9]+), ([0-9]+)\\).*$" "#define ${name} \\2u\n")
  string(APPEND numbers_of_${file} ${lines})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${file}.inc)
endforeach()
foreach(file numbers map_op)
  string(TOUPPER "${file}_GLSL" guard)
  file(CONFIGURE OUTPUT ${EPIPHYTE_SHADER_NUMBERS}/${file}.glsl @ONLY
    CONTENT "#ifndef ${guard}\n#define ${guard}\n${numbers_of_${file}}#endif\n")
endforeach()

function(epiphyte_add_kernel_set variable)
  cmake_parse_arguments(ARG "" "FOLDER;FUNCTION" "" ${ARGN})
  file(GLOB shaders CONFIGURE_DEPENDS ${ARG_FOLDER}/*.comp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shaders})  # their lines are read below
  set(work ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION})
  file(MAKE_DIRECTORY ${work})

  set(names "")
  set(modules "")
  foreach(shader IN LISTS shaders)
    file(STRINGS ${shader} lines REGEX "^//! variant ")
    if(NOT lines)
      message(FATAL_ERROR "${shader}: a line '//! variant NAME MACRO...' is expected, for each module that is to be made of it")
    endif()
    file(STRINGS ${shader} more REGEX "^//! each also ")
    foreach(each IN LISTS more)
      string(REGEX REPLACE "^//! each also +([^ ]+) +(.*)$" "\\1;\\2" each "${each}")
      list(GET each 0 suffix)
      list(GET each 1 more_words)
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^//! variant +([^ .]+)(.*)$" "//! variant \\1${suffix}\\2 ${more_words}" line "${line}")
        list(APPEND lines "${line}")
      endforeach()
    endforeach()
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^//! variant +" "" line "${line}")
      string(REGEX REPLACE " +$" "" line "${line}")
      string(REGEX REPLACE " +" ";" words "${line}")
      list(POP_FRONT words name)
      if(NOT name MATCHES "^[a-z0-9_.]+$")
        message(FATAL_ERROR "${shader}: variant '${name}': small letters, digits, '_' and '.' are expected in its name")
      endif()
      if(name IN_LIST names)
        message(FATAL_ERROR "${shader}: there are two variants '${name}'")
      endif()
      set(translate "")
      set(translator "")
      if(COOPERATIVE_MATRICES IN_LIST words)
        set(translator epiphyte_khr_matrices)
        set(translate COMMAND ${translator} ${work}/${name}.spv)
      endif()
      list(TRANSFORM words PREPEND "-D")
      add_custom_command(OUTPUT ${work}/${name}.inc VERBATIM
        COMMAND ${EPIPHYTE_GLSLC} --target-env=vulkan1.1 -I ${CMAKE_CURRENT_FUNCTION_LIST_DIR} -I ${EPIPHYTE_SHADER_NUMBERS} ${words}
                -MD -MF ${work}/${name}.d -MT ${work}/${name}.inc -o ${work}/${name}.spv ${shader}
        COMMAND ${EPIPHYTE_SPIRV_OPT} ${EPIPHYTE_SPIRV_PASSES} ${work}/${name}.spv -o ${work}/${name}.spv
        ${translate}
        COMMAND sh -c "od -An -v -t u4 '${work}/${name}.spv' | sed 's/ *\\([0-9][0-9]*\\)/\\1,/g' > '${work}/${name}.inc'"
        DEPENDS ${shader} ${translator} DEPFILE ${work}/${name}.d
        COMMENT "Compiling shader ${name}")
      list(APPEND names ${name})
      list(APPEND modules ${work}/${name}.inc)
    endforeach()
  endforeach()

  list(SORT names)
  list(LENGTH names count)
  set(arrays "")
  set(rows "")
  set(number 0)
  foreach(name IN LISTS names)
    string(APPEND arrays "constexpr uint32_t kWords${number}[] = {\n#include \"${ARG_FUNCTION}/${name}.inc\"\n};\n")
    string(APPEND rows "    {\"${name}\", kWords${number}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include <array>\n
#include \"plugins/vulkan/device/kernel_set.h\"\n
namespace epiphyte::vulkan {\n
const KernelSet& ${ARG_FUNCTION}();\n
namespace {\n
${arrays}
constexpr std::array<Shader, ${count}> kShaders = {{
${rows}}};\n
}  // namespace\n
const KernelSet& ${ARG_FUNCTION}() {
  static const KernelSet set(kShaders);
  return set;
}\n
}  // namespace epiphyte::vulkan\n")
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${modules}" INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR})
  set(${variable} ${source} PARENT_SCOPE)
endfunction()
