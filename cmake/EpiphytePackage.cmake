# Installation: two packages from one tree.
#
#   Epiphyte           for applications: library, headers, command line, bundled plugins with their manifests
#   EpiphytePluginApi  for vendors: the C ABI, the kit, add_ep_plugin() and the conformance suite
#
# `cmake --install build/release` installs both; `--component plugin_api` what a vendor needs and no more.
include(CMakePackageConfigHelpers)

set(EPIPHYTE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Epiphyte)
set(EPIPHYTE_PLUGIN_API_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/EpiphytePluginApi)

# Everything is found relative to the files that need it, so that an installation may be moved.
file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_FULL_BINDIR} /${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(epiphyte_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")

install(TARGETS epiphyte EXPORT EpiphyteTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(epiphyte PROPERTIES EXPORT_NAME Epiphyte)
install(TARGETS epiphyte_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/host/include/epiphyte DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# epiphyte_install_documents(PATTERN... [COMPONENT name]): documents, in the folders that they have here, so that links from
# one to another hold.
function(epiphyte_install_documents)
  cmake_parse_arguments(ARG "" "COMPONENT" "" ${ARGN})
  set(component "")
  if(ARG_COMPONENT)
    set(component COMPONENT ${ARG_COMPONENT})
  endif()
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB_RECURSE documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${ARG_UNPARSED_ARGUMENTS})
  foreach(document IN LISTS documents)
    get_filename_component(folder ${document} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} ${component})
  endforeach()
endfunction()
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
epiphyte_install_documents(core/*.md host/*.md plugins/*.md tests/*.md)
install(EXPORT EpiphyteTargets NAMESPACE Epiphyte:: DESTINATION ${EPIPHYTE_CMAKE_DIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/EpiphyteConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/EpiphyteConfig.cmake
  INSTALL_DESTINATION ${EPIPHYTE_CMAKE_DIR} PATH_VARS EPIPHYTE_PLUGIN_INSTALL_DIR)
# Until 1.0 a new minor version may break applications.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/EpiphyteConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/EpiphyteConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/EpiphyteConfigVersion.cmake
  DESTINATION ${EPIPHYTE_CMAKE_DIR})

# The kit as a library, and its sources for other compilers and platforms: EpiphytePluginApiConfig chooses.
set(EPIPHYTE_KIT_SOURCE_DIR ${CMAKE_INSTALL_DATADIR}/epiphyte/kit)
install(TARGETS epiphyte_plugin_api ep_conformance EXPORT EpiphytePluginApiTargets COMPONENT plugin_api
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS epiphyte_kit EXPORT EpiphyteKitTargets COMPONENT plugin_api
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(epiphyte_plugin_api PROPERTIES EXPORT_NAME PluginApi)
set_target_properties(epiphyte_kit PROPERTIES EXPORT_NAME Kit)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/plugin_api/kit/epiphyte DESTINATION ${EPIPHYTE_KIT_SOURCE_DIR}
  COMPONENT plugin_api FILES_MATCHING PATTERN "*.cpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/plugin_api/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/plugin_api
  COMPONENT plugin_api)
epiphyte_install_documents(plugin_api/*.md COMPONENT plugin_api)
install(FILES ${EPIPHYTE_XXHASH_HEADER}/xxhash.h DESTINATION ${EPIPHYTE_KIT_SOURCE_DIR} COMPONENT plugin_api)
install(DIRECTORY
  ${PROJECT_SOURCE_DIR}/plugin_api/include/epiphyte ${PROJECT_SOURCE_DIR}/plugin_api/kit/epiphyte
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT plugin_api
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT EpiphytePluginApiTargets NAMESPACE Epiphyte:: DESTINATION ${EPIPHYTE_PLUGIN_API_CMAKE_DIR}
  COMPONENT plugin_api)
install(EXPORT EpiphyteKitTargets NAMESPACE Epiphyte:: DESTINATION ${EPIPHYTE_PLUGIN_API_CMAKE_DIR}
  COMPONENT plugin_api)

ep_kit_compiler(EPIPHYTE_KIT_COMPILER)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/EpiphytePluginApiConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/EpiphytePluginApiConfig.cmake
  INSTALL_DESTINATION ${EPIPHYTE_PLUGIN_API_CMAKE_DIR}
  PATH_VARS EPIPHYTE_PLUGIN_INSTALL_DIR EPIPHYTE_KIT_SOURCE_DIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/EpiphytePluginApiConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/EpiphytePluginApiConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/EpiphytePluginApiConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/EpPlugin.cmake ${PROJECT_SOURCE_DIR}/cmake/EpPluginManifest.cmake
  DESTINATION ${EPIPHYTE_PLUGIN_API_CMAKE_DIR} COMPONENT plugin_api)
