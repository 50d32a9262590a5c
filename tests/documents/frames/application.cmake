# A project that builds and runs main.cpp, which is another block of the same document.
cmake_minimum_required(VERSION 3.25)
project(application LANGUAGES CXX)
# BLOCK
target_compile_features(app PRIVATE cxx_std_20)
add_custom_command(TARGET app POST_BUILD COMMAND app WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
