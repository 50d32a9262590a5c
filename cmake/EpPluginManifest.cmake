# Writes the manifest of a plugin beside its library, with the library's digest: what add_ep_plugin() runs when the
# library is built and when it is installed.
#
#   cmake -DMANIFEST=vendor.yaml -DLIBRARY=build/libvendor.so -DPLATFORM=linux-x86_64 -P EpPluginManifest.cmake
#
# PLATFORM: the library's, as manifests spell it; empty: no digest is written.
cmake_path(GET LIBRARY FILENAME ep_library_name)
cmake_path(GET LIBRARY PARENT_PATH ep_library_folder)
cmake_path(GET MANIFEST FILENAME ep_manifest_name)
file(READ ${MANIFEST} ep_manifest_text)
string(FIND "${ep_manifest_text}" "${ep_library_name}" ep_library_at)
if(ep_library_at EQUAL -1)
  message(FATAL_ERROR "the manifest '${MANIFEST}' doesn't name the library '${ep_library_name}'; write that name at `library:`")
endif()
if(PLATFORM)
  file(SHA256 ${LIBRARY} ep_library_digest)
  string(REGEX REPLACE "\n+$" "" ep_manifest_text "${ep_manifest_text}")
  string(APPEND ep_manifest_text "\nsha256: { ${PLATFORM}: \"${ep_library_digest}\" }\n")
endif()
cmake_path(APPEND ep_library_folder ${ep_manifest_name} OUTPUT_VARIABLE ep_manifest_beside)
file(WRITE ${ep_manifest_beside} "${ep_manifest_text}")
