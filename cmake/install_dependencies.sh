#!/usr/bin/env bash
# Installs what Epiphyte's build and tests need, from the packages of Debian 12 or 13. Does nothing when all of it is there.
set -euo pipefail

packages=(
  cmake ninja-build g++ ccache                                   # build
  clang                                                          # the plugin headers are tested with two compilers
  make                                                           # the NPU SDK's example builds with it alone
  g++-mingw-w64-x86-64-posix                                     # … and plugins for Windows
  qemu-user g++-aarch64-linux-gnu                                # vector loops on CPUs that are not at hand
  libprotobuf-dev protobuf-compiler libonnx-dev                  # ONNX
  libdnnl-dev ocl-icd-opencl-dev                                 # CPU kernels; oneDNN's CMake files ask for OpenCL
  libhwy-dev                                                     # vector loops of our own
  libjpeg-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev # images
  libre2-dev                                                     # regular expressions
  libboost-dev libboost-filesystem-dev libboost-system-dev       # opening libraries
  libyaml-cpp-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev
  libxxhash-dev libssl-dev                                       # digests
  libvulkan-dev libvulkan-volk-dev glslc spirv-tools             # the Vulkan plugin and its shaders
  mesa-vulkan-drivers vulkan-validationlayers                    # … and its tests, on a software device
  libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata    # tests
  graphviz                                                       # pictures of placements
)

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
