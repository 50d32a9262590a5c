# As a packager, an application's author and a plugin's vendor would do it: install, move the result elsewhere, and
# build against it with find_package and nothing else.
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

# Everything, then moved: nothing in it may depend on where it was installed.
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

# The example application, as somebody would who starts from it.
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

# The vendor's package alone.
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/vendor --component plugin_api)
file(GLOB_RECURSE libraries ${WORK}/vendor/*.so* ${WORK}/vendor/*.hpp)
list(FILTER libraries EXCLUDE REGEX "/epiphyte/kit/")
if(libraries)
  message(FATAL_ERROR "the vendor's package holds more than headers: ${libraries}")
endif()
build(plugin ${WORK}/vendor)
# The suite comes with it, and needs nothing else.
file(GLOB_RECURSE manifest ${WORK}/moved/*/cpu.yaml)
run(${WORK}/vendor/bin/ep_conformance ${manifest})
if(NOT output MATCHES "[0-9]+ rules passed, 0 failed")
  message(FATAL_ERROR "the installed suite's report on the installed CPU plugin:\n${output}")
endif()
# The example plugin, as a vendor would who starts from it.
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../../plugin_api/examples/custom_operators
    -B ${WORK}/custom_operators -DCMAKE_PREFIX_PATH=${WORK}/vendor -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/custom_operators)
run(${WORK}/vendor/bin/ep_conformance ${WORK}/custom_operators/custom_operators.yaml)
if(NOT output MATCHES "[0-9]+ rules passed, 0 failed")
  message(FATAL_ERROR "the suite's report on the example of custom operators:\n${output}")
endif()
set(ENV{EPIPHYTE_PLUGIN_PATH} ${WORK}/plugin/plugins)
run(${program} plugins)
if(NOT output MATCHES "vendor +Ready")
  message(FATAL_ERROR "the plugin built with add_ep_plugin() is not found beside its manifest:\n${output}")
endif()
