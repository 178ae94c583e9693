#!/usr/bin/env bash
# Lets Rust's libraries (Apache's crate thrift, CloudWeGo's volo-thrift) call
# Thrum and be called by it, and prints how each case went. It needs cargo, a
# Thrift compiler and some minutes, so nothing else runs it.
set -euo pipefail
cd "$(dirname "$0")"

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
case "$(uname)" in
Darwin) cache="$HOME/Library/Caches/thrum-interop" ;;
*) cache="${XDG_CACHE_HOME:-$HOME/.cache}/thrum-interop" ;;
esac
export CARGO_TARGET_DIR="$cache/rust"

cp -R rust/. "$build"
thrift -r --gen rs -out "$build/apache/src" testdata/peer.thrift
cp ../../examples/shop/shop.thrift ../../examples/shop/common.thrift "$build/volo"
sed 's#\.\./\.\./\.\./examples/shop/##' testdata/peer.thrift >"$build/volo/peer.thrift"
for crate in apache volo; do
  cargo build --quiet --manifest-path "$build/$crate/Cargo.toml"
done

go test -count=1 -v -run '(Apache.*Demo|Thrum.*Apache).*/(Rust|Volo)' . -rust "$CARGO_TARGET_DIR/debug" |
  grep -a -v -e '^=== '
