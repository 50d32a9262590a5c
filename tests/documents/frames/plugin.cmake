# A project that builds the plugin and puts its library beside the manifest. The manifest is another block of the same
# document.
cmake_minimum_required(VERSION 3.25)
project(plugin LANGUAGES C CXX)
add_library(acme_runtime INTERFACE)
# BLOCK
add_custom_command(TARGET acme-npu POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:acme-npu> ${CMAKE_SOURCE_DIR})
