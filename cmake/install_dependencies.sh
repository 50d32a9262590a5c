#!/usr/bin/env bash
# Installs what Epiphyte's build and tests need, from the packages of Debian 12 or 13. Does nothing when all of it is there.
#
#   cmake/install_dependencies.sh            for everything, tests included
#   cmake/install_dependencies.sh --build    for the build and the demo: a third of that
set -euo pipefail

case "${1-}" in
  "") for_tests=true ;;
  --build) for_tests=false ;;
  *) echo "usage: $0 [--build]" >&2; exit 2 ;;
esac

packages=(
  cmake ninja-build g++ ccache                                   # build
  libprotobuf-dev protobuf-compiler libonnx-dev                  # ONNX
  libdnnl-dev ocl-icd-opencl-dev                                 # CPU kernels; oneDNN's CMake files ask for OpenCL
  libhwy-dev                                                     # vector loops of our own
  libjpeg-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev # images
  libre2-dev                                                     # regular expressions
  libboost-dev libboost-filesystem-dev libboost-system-dev       # opening libraries
  libyaml-cpp-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  libxxhash-dev libssl-dev                                       # digests
  libvulkan-dev libvulkan-volk-dev glslc spirv-tools             # the Vulkan plugin and its shaders
  mesa-vulkan-drivers                                            # … and a software device
  libgtest-dev libgmock-dev libbenchmark-dev                     # CMake looks for them when it configures the tests
)
if $for_tests; then
  packages+=(
    clang                                                        # the plugin headers are tested with two compilers
    make                                                         # the NPU SDK's example builds with it alone
    g++-mingw-w64-x86-64-posix                                   # plugins for Windows
    qemu-user g++-aarch64-linux-gnu                              # vector loops on CPUs that are not at hand
    vulkan-validationlayers libonnx-testdata
    graphviz                                                     # pictures of placements
  )
fi

if ! command -v dpkg-query >/dev/null; then
  echo "install_dependencies.sh: this is not a Debian system; install the equivalents of: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_dependencies.sh: missing packages: ${missing[*]}; run this as root, or install sudo" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
