# epiphyte_libonnx_operators(OUTPUT)
#
# Writes OUTPUT, the operators of the installed libonnx, a line for each version of each, in order:
#
#     EPIPHYTE_OPERATOR("", Add, 13, Add_Onnx_ver13)
#
# They come from libonnx's headers, which say what its registry is filled with.
function(epiphyte_libonnx_operators output)
  get_target_property(folders ONNX::onnx INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT folders)
    set(folders "")
  endif()
  find_path(EPIPHYTE_ONNX_HEADERS onnx/defs/operator_sets.h HINTS ${folders} REQUIRED)
  mark_as_advanced(EPIPHYTE_ONNX_HEADERS)
  set(lines "")
  set(space "[ \t\n]*")
  foreach(set "operator_sets|Onnx|" "operator_sets_ml|OnnxML|ai.onnx.ml"
      "operator_sets_preview|OnnxPreview|ai.onnx.preview.training")
    string(REPLACE "|" ";" set "${set}")
    list(GET set 0 header)
    list(GET set 1 prefix)
    list(GET set 2 domain)
    set(header ${EPIPHYTE_ONNX_HEADERS}/onnx/defs/${header}.h)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REGEX REPLACE "ONNX_PREVIEW_OPERATOR_SET_SCHEMA_CLASS_NAME\\(" "ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(${prefix}, "
      text "${text}")
    string(REGEX MATCHALL
      "GetOpSchema<${space}ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME\\(${space}${prefix},${space}[0-9]+,${space}[A-Za-z0-9]+"
      found "${text}")
    if(NOT found)
      message(FATAL_ERROR "no operators were found in ${header}; is it of a libonnx from 1.12 on?")
    endif()
    foreach(one IN LISTS found)
      string(REGEX MATCH "([0-9]+),${space}([A-Za-z0-9]+)$" ignored "${one}")
      list(APPEND lines "EPIPHYTE_OPERATOR(\"${domain}\", ${CMAKE_MATCH_2}, ${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}_${prefix}_ver${CMAKE_MATCH_1})")
    endforeach()
  endforeach()
  list(SORT lines COMPARE NATURAL)
  list(REMOVE_DUPLICATES lines)
  list(JOIN lines "\n" text)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "${text}\n")
endfunction()
