#!/usr/bin/env bash
# Brings the sources that no package of headers or npm package holds, out of Debian's archive, into a folder:
#
#   common/browser/fetch_sources.sh build/browser/sources
#
#   catch2/      Catch2, of which Debian has a library for this machine alone
#   emscripten/  of Emscripten its system/: of its C++ library what throws and catches
set -euo pipefail
folder=${1:?usage: fetch_sources.sh FOLDER}
mkdir -p "$folder" && cd "$folder"

if [ ! -d catch2 ]; then
  mkdir -p apt/lists/partial
  # The mirror that this machine has; Catch2 3 may be in the backports there.
  # shellcheck source=/dev/null
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 'Component: main' | sed -n 1p)
  printf "deb-src $mirror %s main\n" "$suite" "$suite-backports" >apt/sources.list
  apt=(apt-get -qq -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::Lists=$PWD/apt/lists" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" --download-only source catch2
  rm -rf unpacked && mkdir unpacked
  tar -C unpacked -xf catch2_*.orig.tar.gz
  mv unpacked/* catch2
  rm -rf unpacked apt catch2_*
fi
if [ ! -d emscripten ]; then
  apt-get -qq -o APT::Sandbox::User=root download emscripten
  rm -rf unpacked && dpkg -x emscripten_*.deb unpacked
  mkdir emscripten.new
  mv unpacked/usr/share/emscripten/system emscripten.new/
  mv emscripten.new emscripten
  rm -rf unpacked emscripten_*.deb
fi
