# add_ep_plugin(NAME SOURCES file... [LINK library...] [MANIFEST file] [OUTPUT_DIRECTORY dir])
#
# Builds an execution provider plugin: a module library that exports EpPluginQuery and nothing else, with every symbol
# resolved at link time. With MANIFEST, the manifest is placed beside the library. Paths are relative to the source
# folder.
function(add_ep_plugin name)
  cmake_parse_arguments(ARG "" "MANIFEST;OUTPUT_DIRECTORY" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "add_ep_plugin(${name}): SOURCES is empty; list the plugin's source files")
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  # The kit is C++; a plugin in C alone needs no C++ compiler.
  set(cxx_sources ${ARG_SOURCES})
  list(FILTER cxx_sources EXCLUDE REGEX "\\.c$")
  target_link_libraries(${name} PRIVATE $<IF:$<BOOL:${cxx_sources}>,Epiphyte::Kit,Epiphyte::PluginApi> ${ARG_LINK})
  set_target_properties(${name} PROPERTIES
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # A unique symbol has one definition in the process, whichever plugin brought it first.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  if(ARG_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY})
  endif()
  if(UNIX AND NOT APPLE)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
    file(WRITE ${script} "{ global: EpPluginQuery; local: *; };\n")
    target_link_options(${name} PRIVATE -Wl,--version-script=${script})
    # Sanitizer runtimes are found in the executable, so a plugin built with one leaves them unresolved.
    if(NOT EPIPHYTE_SANITIZE)
      target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
  endif()
  if(ARG_MANIFEST)
    cmake_path(ABSOLUTE_PATH ARG_MANIFEST BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E copy_if_different ${ARG_MANIFEST} $<TARGET_FILE_DIR:${name}>)
  endif()
endfunction()
