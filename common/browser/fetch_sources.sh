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
  printf 'deb-src http://deb.debian.org/debian %s main\n' bookworm bookworm-backports >apt/sources.list
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
