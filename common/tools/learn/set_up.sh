# Installs what is missing, and configures. Sourced by `learn`; uses its say, die, show, run and quietly, what
# machine.sh has, and the variables:
#   backend  cpu or gpu
#   strict   not empty: warnings are errors
# shellcheck shell=bash disable=SC2154

# Runs apt-get quietly. Of what it says when it fails, the first error is enough.
apt() {
  local words
  set -- "${as_root[@]}" apt-get -qq "$@"
  show "$@"
  words=$("$@" 2>&1 </dev/null) && return
  say "$(grep -m 1 '^E: ' <<<"$words" || tail -n 1 <<<"$words")"
  return 1
}

# Prints what to ask apt for, to get Catch2 3. Debian 12 has Catch2 2, and version 3 in its backports, on
# the same mirror. (A package comes from backports only when it is asked for, so nothing else changes.)
catch2_package() {
  local suite file mirror
  if apt-cache policy catch2 | grep -E 'Candidate: ([3-9]|[1-9][0-9])' >/dev/null; then
    echo catch2
    return
  fi
  # shellcheck source=/dev/null
  suite=$(. /etc/os-release; [ "$ID" = debian ] && echo "$VERSION_CODENAME") || return 1
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 'Origin: Debian' \
    'Component: main' | sed -n 1p)
  suite+=-backports
  file=/etc/apt/sources.list.d/$suite.sources
  if [ -z "$(apt-get indextargets "Codename: $suite")" ]; then
    [ -n "$mirror" ] || return 1
    say "Catch2 3 is in Debian's $suite: adding $file"
    printf '%s\n' 'Types: deb' "URIs: $mirror" "Suites: $suite" 'Components: main' \
      'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' |
      "${as_root[@]}" tee "$file" >/dev/null
    apt update || { run "${as_root[@]}" rm "$file"; return 1; }
  fi
  echo "catch2/$suite"
}

# Installs Debian's packages $@, as far as apt can. What it cannot, CMake may still find or fetch.
install_packages() {
  local package packages=()
  command -v apt-get >/dev/null || return 0
  say "Installing what is missing, which can take minutes: $*"
  as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say 'There is no sudo: root has to do it.'; return 0; }
    as_root=(sudo "${as_root[@]}")
  fi
  apt update || true
  for package in "$@"; do
    [ "$package" != catch2 ] || package=$(catch2_package) ||
      { say 'This system packages no Catch2 3: CMake will fetch it.'; continue; }
    packages+=("$package")
  done
  [ ${#packages[@]} = 0 ] || apt install -y --no-install-recommends "${packages[@]}" || true
}

# Leaves a python3 that runs the scripts in common/tools.
require_python() {
  [ "$(python_state)" != missing ] || install_packages python3
  [ "$(python_state)" = ok ] || die "Python $least_python or newer is needed," \
    "and python3 is $(tool_version python3 | grep . || echo 'not here'); docs/setup.md says how to install it"
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
  [ "$(python_state)" = ok ] && { [ -z "$strict" ] || [ "$(cached TUTORIAL_WERROR)" = ON ]; }
}

# Leaves a configured build/cpu or build/gpu. Runs in the project's folder.
set_up() {
  local missing before=''
  if ! mkdir -p "build/$backend" 2>/dev/null || [ ! -w "build/$backend" ]; then
    die "cannot write to $PWD/build/$backend: make it yours (chown) or remove it"
  fi
  if configured; then return; fi

  # Once the first round has brought CMake, it says what else is missing.
  while missing=$(requirements | grep -v '^ok') && [ "$missing" != "$before" ]; do
    # shellcheck disable=SC2046
    install_packages $(cut -d' ' -f4 <<<"$missing")
    before=$missing
  done
  missing=$(cut -d' ' -f2- <<<"$missing" | grep -E '^(compiler|CMake|Python) ') &&
    die "needed (name, least version, Debian's package, version here):
$missing
Install it and try again; docs/setup.md has more"  # the rest CMake may do without, or fetch

  # After the folder was moved or copied, old paths are everywhere in it.
  [ ! -e "build/$backend/CMakeCache.txt" ] || [ "$(cached CMAKE_HOME_DIRECTORY)" -ef . ] ||
    run rm -rf "build/$backend"
  if [ -z "${CMAKE_GENERATOR:-}" ] && command -v ninja >/dev/null; then
    run export CMAKE_GENERATOR=Ninja
  fi
  quietly cmake --fresh --preset "$backend" ${strict:+-DTUTORIAL_WERROR=ON} ||
    die 'CMake could not configure and says why above; docs/setup.md lists what it needs'
}
