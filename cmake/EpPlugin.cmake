# Functions for building plugins: the kit's library, and add_ep_plugin().

# epiphyte_kit_library(TARGET FOLDER)
#
# The kit's compiled part, from the sources below FOLDER. It becomes part of each plugin that uses it, which exports
# nothing of it. xxHash, for digests, is used at build time only: FOLDER may bring its header.
function(epiphyte_kit_library target folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  add_library(${target} STATIC ${sources})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC Epiphyte::PluginApi)
  target_include_directories(${target} PRIVATE $<BUILD_INTERFACE:${folder}>)
  # A unique symbol has one definition in the process, whichever plugin brought it first.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# ep_kit_compiler(VARIABLE): sets it to a text that must be equal for a compiled kit to fit: compiler, its major version,
# platform, and flags that change types of the standard library or what the linker looks for.
function(ep_kit_compiler variable)
  string(REGEX MATCH "^[0-9]*" version "${CMAKE_CXX_COMPILER_VERSION}")
  string(REGEX MATCHALL "-fsanitize=[^ ]*|-stdlib=[^ ]*|_GLIBCXX_(DEBUG|USE_CXX11_ABI)[^ ]*|-m(32|x32)" flags
    "${CMAKE_CXX_FLAGS}")
  set(${variable} "${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_CXX_COMPILER_ID} ${version} ${flags}${EPIPHYTE_SANITIZE}"
    PARENT_SCOPE)
endfunction()

# The platform that is built for, as manifests spell it; "" for one that has no name there.
function(ep_plugin_platform variable)
  string(TOLOWER "${CMAKE_SYSTEM_NAME}" system)
  string(REPLACE "darwin" "macos" system "${system}")
  string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
  string(REGEX REPLACE "^(amd64|x64|em64t)$" "x86_64" processor "${processor}")
  string(REGEX REPLACE "^(arm64|armv8.*)$" "aarch64" processor "${processor}")
  string(REGEX REPLACE "^i[3-6]86$" "x86" processor "${processor}")
  if("${system}-${processor}" MATCHES "^(linux|windows|macos)-(x86_64|aarch64|riscv64|x86)$")
    set(${variable} ${system}-${processor} PARENT_SCOPE)
  else()
    set(${variable} "" PARENT_SCOPE)
  endif()
endfunction()

# add_ep_plugin(NAME SOURCES file... [LINK library...] [MANIFEST file] [OUTPUT_DIRECTORY dir] [NO_DIGEST] [NO_INSTALL])
#
# Builds an execution provider plugin: a module library that exports EpPluginQuery and nothing else, with every symbol
# resolved at link time. Paths are relative to the source folder.
#
# With MANIFEST, the manifest is placed beside the library, with the library's SHA-256 written into it, and both are
# installed into EP_PLUGIN_INSTALL_DIR (by default lib/epiphyte/plugins below the prefix), where a host of the same prefix
# finds them. The digest there is that of the installed file. After a later change of that file (strip, patchelf, a
# signature), run `epiphyte manifest --digest <manifest>`, which writes the digest anew. With NO_DIGEST none is written.
function(add_ep_plugin name)
  cmake_parse_arguments(ARG "NO_DIGEST;NO_INSTALL" "MANIFEST;OUTPUT_DIRECTORY" "SOURCES;LINK" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_ep_plugin(${name}): '${ARG_UNPARSED_ARGUMENTS}' is no argument; known are SOURCES, LINK, MANIFEST, OUTPUT_DIRECTORY, NO_DIGEST and NO_INSTALL")
  endif()
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
    _ep_plugin_manifest(${name} ${ARG_MANIFEST} "${ARG_NO_DIGEST}" "${ARG_NO_INSTALL}")
  endif()
endfunction()

function(_ep_plugin_manifest name manifest no_digest no_install)
  if(NOT EXISTS ${manifest} OR IS_DIRECTORY ${manifest})
    message(FATAL_ERROR "add_ep_plugin(${name}): there is no manifest '${manifest}'; write it, or correct MANIFEST")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
  file(READ ${manifest} text)
  if(NOT text MATCHES "(^|\n)manifest_version:")
    message(FATAL_ERROR "add_ep_plugin(${name}): '${manifest}' is no manifest: a line 'manifest_version: 1' is expected")
  endif()
  if(text MATCHES "(^|\n)sha256:" AND NOT no_digest)
    message(FATAL_ERROR "add_ep_plugin(${name}): '${manifest}' has a sha256; take it out, it is written when the library is built, or say NO_DIGEST")
  endif()
  set(platform "")
  if(NOT no_digest)
    ep_plugin_platform(platform)
  endif()
  set(arguments -DMANIFEST=${manifest} -DPLATFORM=${platform})
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} ${arguments} -DLIBRARY=$<TARGET_FILE:${name}> -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/EpPluginManifest.cmake)
  # A manifest that changed is placed anew, too.
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${manifest})
  if(no_install OR "${EP_PLUGIN_INSTALL_DIR}" STREQUAL "")
    return()
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION ${EP_PLUGIN_INSTALL_DIR})
  # After the library, which changes when it is installed: its search path for others, its symbols.
  install(CODE "block()
    set(folder \"${EP_PLUGIN_INSTALL_DIR}\")
    if(NOT IS_ABSOLUTE \"\${folder}\")
      set(folder \"\${CMAKE_INSTALL_PREFIX}/\${folder}\")
    endif()
    set(MANIFEST [==[${manifest}]==])
    set(PLATFORM \"${platform}\")
    set(LIBRARY \"\$ENV{DESTDIR}\${folder}/$<TARGET_FILE_NAME:${name}>\")
    include([==[${CMAKE_CURRENT_FUNCTION_LIST_DIR}/EpPluginManifest.cmake]==])
    endblock()")
endfunction()
