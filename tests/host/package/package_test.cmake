# Tests the steps of a packager, of an application's author and of a plugin's vendor: install, move the result
# elsewhere, and build against it with find_package and nothing else.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(build name prefix)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/${name} -B ${WORK}/${name} -DCMAKE_PREFIX_PATH=${prefix}
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
      -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  run(${CMAKE_COMMAND} --build ${WORK}/${name})
endfunction()

file(REMOVE_RECURSE ${WORK})

# The complete installation is moved. Nothing in it may depend on where it was installed.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/moved)

file(GLOB_RECURSE exported ${WORK}/moved/*Targets*.cmake)
if(NOT exported)
  message(FATAL_ERROR "no exported targets below ${WORK}/moved")
endif()
foreach(file IN LISTS exported)
  file(READ ${file} text)
  string(REGEX MATCH "epiphyte_core|epiphyte_options|protobuf|onnx|yaml|spdlog|boost|OpenSSL|${BUILD}" leak "${text}")
  if(leak)
    message(FATAL_ERROR "${file} mentions '${leak}', which is no business of who links Epiphyte")
  endif()
endforeach()

# Each document is installed in the folder that it is about, so that links between documents work.
foreach(document README.md CONTRIBUTING.md core/README.md host/README.md host/api/README.md plugins/cpu/README.md
        plugin_api/README.md plugin_api/packaging.md tests/bench/README.md)
  file(GLOB found ${WORK}/moved/share/doc/*/${document})
  if(NOT found)
    message(FATAL_ERROR "${document} is not below share/doc of the installation")
  endif()
endforeach()

build(application ${WORK}/moved)
set(ENV{XDG_DATA_HOME} ${WORK}/empty)
set(ENV{XDG_CONFIG_HOME} ${WORK}/empty)
unset(ENV{EPIPHYTE_PLUGIN_PATH})
run(${WORK}/application/application)
if(NOT output MATCHES "cpu Ready ${WORK}/moved/")
  message(FATAL_ERROR "the application does not find the installed CPU plugin:\n${output}")
endif()
file(GLOB program ${WORK}/moved/bin/epiphyte)
run(${program} plugins)
if(NOT output MATCHES "cpu +Ready")
  message(FATAL_ERROR "the installed command line does not find the installed CPU plugin:\n${output}")
endif()
run(${program} doctor)
if(NOT output MATCHES "cpu +Loaded")
  message(FATAL_ERROR "the installed CPU plugin does not work:\n${output}")
endif()

run(${WORK}/moved/bin/ep_weight_sharing_ctx_gen -h)

# The example application is built as its README says.
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../../host/examples/encrypted_store -B ${WORK}/encrypted_store
    -DCMAKE_PREFIX_PATH=${WORK}/moved -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/encrypted_store)
run(${WORK}/encrypted_store/examples/encrypted_store key ${WORK}/encrypted_store/key.txt)

foreach(example graph_transform kv_cache provider_by_path rewrite_rule)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../../host/examples/${example} -B ${WORK}/${example}
      -DCMAKE_PREFIX_PATH=${WORK}/moved -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
      -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  run(${CMAKE_COMMAND} --build ${WORK}/${example})
endforeach()

# The vendor's package is installed alone.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/vendor --component plugin_api)
file(GLOB_RECURSE libraries ${WORK}/vendor/*.so* ${WORK}/vendor/*.hpp)
list(FILTER libraries EXCLUDE REGEX "/epiphyte/kit/")
if(libraries)
  message(FATAL_ERROR "the vendor's package holds more than headers, the kit and the suite: ${libraries}")
endif()
build(plugin ${WORK}/vendor)

# An installed plugin and its manifest are where a host with that prefix finds them. The digest is that of the installed
# file.
run(${CMAKE_COMMAND} --install ${WORK}/plugin --prefix ${WORK}/vendor --strip)
file(GLOB_RECURSE placed ${WORK}/vendor/libvendor_plugin.so)
if(NOT placed MATCHES "/epiphyte/plugins/libvendor_plugin.so$")
  message(FATAL_ERROR "the plugin was installed as '${placed}'")
endif()
foreach(library ${WORK}/plugin/plugins/libvendor_plugin.so ${placed})
  file(SHA256 ${library} digest)
  cmake_path(REPLACE_FILENAME library vendor.yaml OUTPUT_VARIABLE manifest)
  file(READ ${manifest} text)
  if(NOT text MATCHES "\nsha256: { [a-z]+-[a-z0-9_]+: \"${digest}\" }\n$")
    message(FATAL_ERROR "the manifest beside ${library} doesn't have its digest ${digest}:\n${text}")
  endif()
endforeach()
if(NOT text MATCHES "^manifest_version: 1\nname: vendor\n")
  message(FATAL_ERROR "the installed manifest isn't the vendor's:\n${text}")
endif()

# Errors of a manifest are reported when configuring, or at the latest when the library is built.
function(refused what manifest text)
  file(WRITE ${WORK}/refused/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES C)\n"
    "find_package(EpiphytePluginApi 0.2 REQUIRED)\nadd_ep_plugin(refused SOURCES plugin.c MANIFEST vendor.yaml ${ARGN})\n")
  file(COPY ${SOURCE}/plugin/plugin.c DESTINATION ${WORK}/refused)
  file(REMOVE_RECURSE ${WORK}/refused/build ${WORK}/refused/vendor.yaml)
  if(manifest)
    file(WRITE ${WORK}/refused/vendor.yaml "${manifest}")
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${WORK}/refused -B ${WORK}/refused/build
    -DCMAKE_PREFIX_PATH=${WORK}/vendor -DCMAKE_C_COMPILER=${C_COMPILER} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(what STREQUAL "built" AND result EQUAL 0)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/refused/build RESULT_VARIABLE result OUTPUT_VARIABLE output
      ERROR_VARIABLE output)
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "${text}")
    message(FATAL_ERROR "when ${what}: '${text}' expected, exit code ${result} and this was found:\n${output}")
  endif()
endfunction()
file(READ ${SOURCE}/plugin/vendor.yaml fine)
refused(configured "" "there is no manifest '[^']*/vendor.yaml'; write it, or correct MANIFEST")
refused(configured "name: vendor\n" "is no manifest: a line 'manifest_version: 1' is expected")
refused(configured "${fine}sha256: 00\n" "has a sha256; take it out")
refused(configured "${fine}" "'NODIGEST' is no argument; known are SOURCES" NODIGEST)
refused(built "${fine}" "doesn't name the library 'librefused.so'")
# The conformance suite is installed with the vendor's package and needs nothing else.
file(GLOB_RECURSE manifest ${WORK}/moved/*/cpu.yaml)
run(${WORK}/vendor/bin/ep_conformance ${manifest})
if(NOT output MATCHES "[0-9]+ rules passed, 0 failed")
  message(FATAL_ERROR "the installed suite's report on the installed CPU plugin:\n${output}")
endif()
# The example plugin is built as a vendor would who starts from it.
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../../plugin_api/examples/custom_operators
    -B ${WORK}/custom_operators -DCMAKE_PREFIX_PATH=${WORK}/vendor -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/custom_operators)
# The compiler is the package's own, so the package's kit library fits.
file(GLOB_RECURSE own_kit ${WORK}/custom_operators/*epiphyte_kit*)
if(own_kit)
  message(FATAL_ERROR "the kit was compiled again: ${own_kit}")
endif()
# For another compiler, or on demand, the kit is compiled from its sources.
find_program(CLANG clang++)
if(CXX_COMPILER MATCHES "clang")
  find_program(OTHER g++)
else()
  set(OTHER ${CLANG})
endif()
function(configure_examples name)
  run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../../plugin_api/examples/custom_operators
      -B ${WORK}/${name} -DCMAKE_PREFIX_PATH=${WORK}/vendor -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${ARGN})
  if(NOT IS_DIRECTORY ${WORK}/${name}/CMakeFiles/epiphyte_kit.dir)
    message(FATAL_ERROR "${name}: the kit isn't compiled from its sources")
  endif()
endfunction()
configure_examples(from_sources -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DEpiphytePluginApi_KIT_FROM_SOURCES=ON)
if(OTHER)
  configure_examples(other_compiler -DCMAKE_CXX_COMPILER=${OTHER})
endif()
run(${WORK}/vendor/bin/ep_conformance ${WORK}/custom_operators/custom_operators.yaml)
if(NOT output MATCHES "[0-9]+ rules passed, 0 failed")
  message(FATAL_ERROR "the suite's report on the example of custom operators:\n${output}")
endif()
set(ENV{EPIPHYTE_PLUGIN_PATH} ${WORK}/plugin/plugins)
run(${program} plugins)
if(NOT output MATCHES "vendor +Ready")
  message(FATAL_ERROR "the plugin built with add_ep_plugin() is not found beside its manifest:\n${output}")
endif()
