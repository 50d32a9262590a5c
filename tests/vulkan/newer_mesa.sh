#!/usr/bin/env bash
# Runs a program of this build with the Vulkan of a newer Debian: Mesa's software device, loader, validation layer and
# spirv-val. It serves tests of features that Debian 12's software device lacks, mainly cooperative matrices.
#
#   newer_mesa.sh PROGRAM [ARGUMENT]...
#
# Needs root, x86-64 and debootstrap. The newer Debian, $EPIPHYTE_NEWER_DEBIAN (sid), is fetched once into
# $EPIPHYTE_NEWER_ROOT (build/newer_mesa).
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: newer_mesa.sh PROGRAM [ARGUMENT]..." >&2; exit 2; }
source=$(cd "$(dirname "$0")/../.." && pwd)
root=${EPIPHYTE_NEWER_ROOT:-$source/build/newer_mesa}
[ "$(id -u)" -eq 0 ] || { echo "newer_mesa.sh: it enters $root by chroot: run it as root" >&2; exit 1; }

if [ ! -e "$root/complete" ]; then
  command -v debootstrap >/dev/null || { echo "newer_mesa.sh: debootstrap is not there; install it" >&2; exit 1; }
  debootstrap --variant=minbase "${EPIPHYTE_NEWER_DEBIAN:-sid}" "$root" >&2
  # debootstrap has already fetched the package lists, so apt-get update isn't needed.
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    mesa-vulkan-drivers libvulkan1 vulkan-validationlayers spirv-tools >&2
  touch "$root/complete"
fi

program=$(readlink -f "$1")
shift
driver=$(find "$root/usr/share/vulkan/icd.d" -name 'lvp_icd*.json' -printf '/usr/share/vulkan/icd.d/%f' -quit)
# The program runs in a mount namespace of its own, so that nothing stays mounted. It sees its folders under the same
# paths. This system's libraries come last in the search path, behind the newer ones.
export program driver root here=$PWD source
exec unshare --mount bash -c '
  set -euo pipefail
  for folder in "$source" "$here" "$(dirname "$program")" /proc /dev /tmp; do
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
  done
  mkdir -p "$root/older"
  mount --bind /usr/lib/x86_64-linux-gnu "$root/older"
  export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver EPIPHYTE_VULKAN_TEST_DRIVER=$driver
  export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/older
  exec chroot "$root" sh -c "cd \"\$here\" && exec \"\$program\" \"\$@\"" "$program" "$@"' bash "$@"
