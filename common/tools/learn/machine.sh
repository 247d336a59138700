# What is on this machine, and which backend can run here. Sourced by `learn`; uses its say and die, and its
# variables:
#   backend  cpu, gpu or, until it is chosen, empty
#   nvcc     CUDA's compiler
# shellcheck shell=bash disable=SC2154

# The first number with a dot that `$@ --version` prints; nothing if there is no such program.
tool_version() { "$@" --version 2>/dev/null | grep -Eo '[0-9]+\.[0-9.]*[0-9]' | sed -n 1p || true; }

# judge LEAST VERSION: "ok", "old" or, for an empty version, "missing".
judge() {
  [ -n "$2" ] || { echo missing; return; }
  [ "$(printf '%s\n' "$1" "$2" | sort -V | sed -n 1p)" = "$1" ] && echo ok || echo old
}

# Is python3 one that runs the scripts in common/tools? ok, old or missing.
least_python=3.9
python_state() { judge $least_python "$(tool_version python3)"; }

# What the backend needs, one a line: ok, old or missing, name, least version, Debian's package, version
# here if any. The libraries are CMake's to find: they have no line as long as it is not here.
requirements() {
  local name least package version folder compiler
  read -ra compiler <<<"${CXX:-c++}"  # as CMake does: CXX may hold "ccache g++"
  {
    echo "compiler 12 g++ $(tool_version "${compiler[@]}")"
    echo "CMake 3.25 cmake $(tool_version cmake)"
    echo "Ninja 1.8 ninja-build $(tool_version ninja)"
    echo "Python $least_python python3 $(tool_version python3)"
    folder=$(mktemp -d)
    ! command -v ninja >/dev/null || export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}  # there may be no make
    cmake --preset "$backend" -B "$folder" -DTUTORIAL_LOOK=ON 2>/dev/null |
      sed -n 's/^-- needs //p' || true
    rm -r "$folder"
  } | while read -r name least package version; do
    echo "$(judge "$least" "$version") $name $least $package $version"
  done
}

# The GPUs here, one a line: compute capability, or ? where the driver is too old to tell, and name.
gpus() {
  local found
  found=$(nvidia-smi --query-gpu=compute_cap,name --format=csv,noheader 2>/dev/null |
    sed -n 's/^\([0-9.]*\), /\1 /p') || true
  [ -n "$found" ] || found=$(nvidia-smi -L 2>/dev/null | sed -n 's/^GPU [0-9]*: \(.*\) (UUID.*/? \1/p') || true
  echo "$found"
}

# The newest GPU's compute capability, or ?; nothing without a GPU.
newest_gpu() { gpus | sort -V | sed -n '$s/ .*//p'; }

# The oldest CUDA Toolkit that knows the GPUs here: compute capabilities 10.0 and 12.0 came with 12.8.
least_toolkit() { [ "$(judge 10.0 "$(newest_gpu | tr -d '?')")" = ok ] && echo 12.8 || echo 12.4; }

# What keeps the GPU backend from running here, as a phrase; nothing if it can.
gpu_problem() {
  local gpu='' cuda='' least
  if ! command -v nvidia-smi >/dev/null; then
    gpu='no NVIDIA driver'
  else
    case $(judge 7.5 "$(newest_gpu)") in
      missing) gpu='no NVIDIA GPU' ;;
      old) gpu='no NVIDIA GPU of compute capability 7.5 or newer' ;;
    esac
  fi
  least=$(least_toolkit)
  case $(judge "$least" "$(tool_version "$nvcc")") in
    missing) cuda='no CUDA Toolkit' ;;
    old)
      cuda="no CUDA Toolkit of version $least or newer"
      [ "$least" = 12.4 ] || cuda+=", which a GPU of compute capability $(newest_gpu) needs,"
      ;;
  esac
  echo "$gpu${gpu:+${cuda:+ and }}$cuda"
}

# Sets `backend` unless the command line did.
choose_backend() {
  local problem=''
  [ "$backend" = cpu ] || problem=$(gpu_problem)
  [ "$backend" != gpu ] || [ -z "$problem" ] ||
    die "--gpu needs an NVIDIA GPU with its driver (nvidia-smi) and CUDA Toolkit 12.4 or newer" \
      "(nvcc), but $problem was found; ./learn doctor says more"
  [ -z "$problem" ] || say "Using the CPU backend: $problem was found; ./learn doctor says more."
  [ -n "$backend" ] || backend=$([ -n "$problem" ] && echo cpu || echo gpu)
  # For the heading of a chapter's table.
  [ "$backend" = gpu ] || export TUTORIAL_CPU_REASON=${problem:-chosen by --cpu}
}

row() { printf '%-14s %-8s %s\n' "$@"; }

doctor() {
  local state name least package version problem bad=0
  cd -- "$here" || return
  problem=$(gpu_problem)
  backend=${backend:-$([ -z "$problem" ] && echo gpu || echo cpu)}
  # shellcheck source=/dev/null
  (. /etc/os-release && row system '' "$PRETTY_NAME, $(uname -m), $jobs cores") 2>/dev/null || true
  while read -r state name least package version; do
    if [ "$state" != ok ]; then
      bad=1
      version+="${version:+; }$least or newer is needed (Debian's $package; ./learn test installs it)"
    fi
    row "$name" "$state" "$version"
  done < <(requirements)
  version=$(tool_version "$nvcc")
  least=$(least_toolkit)
  state=$(judge "$least" "$version")
  row CUDA "$state" "${version:-for a GPU: $least or newer} $(command -v "$nvcc")$(
    [ "$state" != old ] || echo "; $least or newer is needed")"
  version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -n 1p) ||
    version=''
  row driver "$(judge 1 "$version")" "${version:-"for a GPU: NVIDIA's, which brings nvidia-smi"}"
  [ -z "$version" ] || gpus | while read -r version name; do
    state=$(judge 7.5 "$version")
    [ "$version" = '?' ] || name+=", compute capability $version"
    [ "$state" != old ] || name+='; 7.5 or newer is needed'
    [ "$state" != ok ] || [ "$version" = 9.0 ] || name+='; docs/setup.md says what does not run on it'
    row GPU "$state" "$name"
  done
  row backend '' "$backend${problem:+ ($problem)}"
  [ "$bad$problem" = 0 ] || say 'docs/setup.md says how to install what is missing.'
  [ "$backend" = cpu ] || [ -z "$problem" ] || bad=1  # --gpu was asked for
  return $bad
}
