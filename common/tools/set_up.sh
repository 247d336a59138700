# What `learn` needs to set a machine up: what is here, which backend can run, what to install, how
# to configure. Sourced by it; uses its say, die, show and run, and its variables:
#   backend  cpu, gpu or, until it is chosen, empty
#   strict   not empty: warnings are errors
#   nvcc     the path of CUDA's compiler, or empty
# shellcheck shell=bash

# ---- what is here -------------------------------------------------------------------------------

read -ra compiler <<<"${CXX:-c++}"  # as CMake does: CXX may hold "ccache g++"

# The first number with a dot that `$@ --version` prints; nothing if there is no such program.
tool_version() {
  "$@" --version 2>/dev/null |
    awk 'match($0, /[0-9]+\.[0-9.]*[0-9]/) { print substr($0, RSTART, RLENGTH); exit }' || true
}

# The version in macro $2 of header $1; nothing if the compiler lacks the header or library $3.
library_version() {
  [ -z "${3:-}" ] || [ "$("${compiler[@]}" -print-file-name="$3" 2>/dev/null)" != "$3" ] || return 0
  printf '#include <%s>\n%s\n' "$1" "$2" |
    "${compiler[@]}" -x c++ -std=c++20 -I/usr/include/openblas -E -P - 2>/dev/null |
    sed -n '$ s/[^0-9._]//gp' | tr _ . || true
}

# What backend $1 needs, one a line: name, least version, Debian's package, version here if any.
requirements() {
  local builder
  builder=$(tool_version ninja)
  echo "compiler 12 g++ $(tool_version "${compiler[@]}")"
  echo "CMake 3.25 cmake $(tool_version cmake)"
  echo "Ninja/make 1.8 ninja-build ${builder:-$(tool_version make)}"
  echo "Catch2 3 catch2 $(library_version catch2/catch_version_macros.hpp \
    CATCH_VERSION_MAJOR.CATCH_VERSION_MINOR.CATCH_VERSION_PATCH)"
  echo "CLI11 2.1 libcli11-dev $(library_version CLI/Version.hpp CLI11_VERSION)"
  [ "$1" = cpu ] || return 0
  echo "Boost.Context 1.71 libboost-context-dev $(library_version boost/version.hpp \
    BOOST_LIB_VERSION libboost_context.so)"
  echo "OpenBLAS 0.3 libopenblas-dev $(library_version openblas_config.h OPENBLAS_VERSION)"
}

# judge LEAST VERSION: "ok", "too old" or, for an empty version, "missing".
judge() {
  if [ -z "$2" ]; then
    echo missing
  elif [ "$(printf '%s\n' "$1" "$2" | sort -V | sed -n 1p)" = "$1" ]; then
    echo ok
  else
    echo 'too old'
  fi
}

# The lines of `requirements $1` that are not ok.
unmet() {
  requirements "$1" | while read -r name least package version; do
    [ "$(judge "$least" "$version")" = ok ] || echo "$name $least $package $version"
  done
}

find_nvcc() {
  local place
  for place in "${CUDACXX:-}" "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" \
    /usr/local/cuda/bin/nvcc; do
    [ ! -x "$place" ] || { echo "$place"; return; }
  done
}

# What keeps the GPU backend from running here, as a phrase; nothing if it can.
gpu_problem() {
  local gpu='' cuda=''
  if ! command -v nvidia-smi >/dev/null; then
    gpu='no NVIDIA driver'
  elif ! nvidia-smi -L 2>/dev/null | grep '^GPU ' >/dev/null; then
    gpu='no NVIDIA GPU'
  fi
  case $(judge 12.4 "${nvcc:+$(tool_version "$nvcc")}") in
    missing) cuda='no CUDA Toolkit' ;;
    'too old') cuda='no CUDA Toolkit of version 12.4 or newer' ;;
  esac
  echo "$gpu${gpu:+${cuda:+ and }}$cuda"
}

# Sets `backend` unless the command line did.
choose_backend() {
  local problem=''
  [ "$backend" = cpu ] || problem=$(gpu_problem)
  if [ "$backend" = gpu ] && [ -n "$problem" ]; then
    die "--gpu needs an NVIDIA GPU with its driver (nvidia-smi) and CUDA Toolkit 12.4 or newer" \
      "(nvcc), but $problem was found; ./learn doctor says more"
  elif [ "$backend" = cpu ] || [ -n "$problem" ]; then
    backend=cpu
    export TUTORIAL_CPU_REASON=${problem:-chosen by --cpu}  # for the heading of a chapter's table
    [ -z "$problem" ] || say "Using the CPU backend: $problem was found; ./learn doctor says more."
  else
    backend=gpu
    [ "$nvcc" = "$(command -v nvcc)" ] || run export CUDACXX="$nvcc"
  fi
}

# ---- setting up ---------------------------------------------------------------------------------

# Runs apt-get quietly. Of what it says when it fails, the first error is enough.
apt() {
  local words
  set -- "${as_root[@]}" apt-get -qq "$@"
  show "$@"
  words=$("$@" 2>&1 </dev/null) && return
  say "$(awk '{ line = $0 } /^E: / { exit } END { print line }' <<<"$words")"
  return 1
}

# Debian 12 has Catch2 2. Version 3 is in its backports, on the same mirror, which apt knows.
# (A package comes from backports only when it is asked for, so nothing else changes.)
add_backports() {
  local suite=$1 file=/etc/apt/sources.list.d/$1.sources mirror
  [ -z "$(apt-get indextargets "Codename: $suite")" ] || return 0
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: ${suite%-backports}" \
    'Origin: Debian' 'Component: main' | sed -n 1p)
  [ -n "$mirror" ] || return 1
  say "Catch2 3 is in Debian's $suite: adding $file"
  printf '%s\n' 'Types: deb' "URIs: $mirror" "Suites: $suite" 'Components: main' \
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' |
    "${as_root[@]}" tee "$file" >/dev/null
  apt update || { run "${as_root[@]}" rm "$file"; return 1; }
}

# Installs Debian's packages $@, as far as apt can. What it cannot, CMake may still find or fetch.
install_packages() {
  local package others=() suite=''
  command -v apt-get >/dev/null || return 0
  say "Installing what is missing, which can take minutes: $*"
  as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say 'There is no sudo: root has to do it.'; return 0; }
    as_root=(sudo "${as_root[@]}")
  fi
  for package in "$@"; do
    [ "$package" = catch2 ] || others+=("$package")
  done
  apt update || true
  [ ${#others[@]} = 0 ] || apt install -y --no-install-recommends "${others[@]}" || return 0
  [ ${#others[@]} != $# ] || return 0
  if ! apt-cache policy catch2 | grep -E 'Candidate: ([3-9]|[1-9][0-9])' >/dev/null; then
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release; [ "$ID" != debian ] || echo "$VERSION_CODENAME-backports")
    if [ -z "$suite" ] || ! add_backports "$suite"; then
      say 'This system packages no Catch2 3: CMake will fetch it.'
      return 0
    fi
  fi
  apt install -y --no-install-recommends ${suite:+-t "$suite"} catch2 || true
}

cached() { sed -n "s/^$1:[A-Z]*=//p" "build/$backend/CMakeCache.txt"; }

# True when the build folder was configured for this place, by tools that still exist.
configured() {
  local tool
  [ -e "build/$backend/build.ninja" ] || [ -e "build/$backend/Makefile" ] || return 1
  [ "$(cached CMAKE_HOME_DIRECTORY)" -ef . ] || return 1
  for tool in CMAKE_COMMAND CMAKE_CXX_COMPILER CMAKE_MAKE_PROGRAM; do
    command -v "$(cached $tool)" >/dev/null || return 1
  done
  [ -z "$strict" ] || [ "$(cached TUTORIAL_WERROR)" = ON ]
}

# Leaves a configured build/cpu or build/gpu. Runs in the project's folder.
set_up() {
  local packages missing fresh=()
  if ! mkdir -p "build/$backend" 2>/dev/null || [ ! -w "build/$backend" ]; then
    die "cannot write to $PWD/build/$backend: make it yours (chown) or remove it"
  fi
  if configured; then return; fi

  mapfile -t packages < <(unmet "$backend" | cut -d' ' -f3)
  [ ${#packages[@]} = 0 ] || install_packages "${packages[@]}"
  missing=$(unmet "$backend")
  case $missing in
    *compiler* | *CMake* | *Ninja*)  # the rest CMake may find elsewhere, or fetch
      die "not found: $(awk '{ print $1 " >= " $2 ($4 ? " (here: " $4 ")" : "") }' <<<"$missing" |
        paste -sd, | sed 's/,/, /g'). Install $(cut -d' ' -f3 <<<"$missing" | paste -sd' ')" \
        'and try again; docs/setup.md has more' ;;
  esac

  if [ -e "build/$backend/CMakeCache.txt" ]; then
    fresh=(--fresh)
    # After the folder was moved or copied, old paths are everywhere in it.
    [ "$(cached CMAKE_HOME_DIRECTORY)" -ef . ] || run rm -rf "build/$backend"
  fi
  if [ -z "${CMAKE_GENERATOR:-}" ] && command -v ninja >/dev/null; then
    run export CMAKE_GENERATOR=Ninja
  fi
  run cmake ${fresh[@]+"${fresh[@]}"} --preset "$backend" ${strict:+-DTUTORIAL_WERROR=ON} ||
    die 'CMake could not configure and says why above. What it needs, by the names in Debian:' \
      "$(requirements "$backend" | cut -d' ' -f3 | paste -sd' '); docs/setup.md has more"
}
