#!/usr/bin/env bash
# Writes gen with the kitex tool from the bookshop's IDL: slim is the slim
# template, full the default one with FastCodec, and untagged the slim template
# without frugal tags; streams is made of chat.thrift, for which Thrum's
# own code goes to chat. Needs Go and network for the Go modules.
set -euo pipefail
cd "$(dirname "$0")"
kitex=v0.16.3
thriftgo=v0.4.5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/tool"
cat >"$work/tool/go.mod" <<MOD
module tool
go 1.25.0
require (
	github.com/cloudwego/kitex $kitex
	github.com/cloudwego/thriftgo $thriftgo
)
MOD
(cd "$work/tool" && GOWORK=off go build -mod=mod -o kitex github.com/cloudwego/kitex/tool/cmd/kitex)

cp ../go.mod chat.thrift ../../../examples/shop/*.thrift "$work/"
# thriftgo panics on enumerators of another file in defaults.
sed -i 's/common\.Currency\.EUR/978/' "$work/shop.thrift"

# generate DIRECTORY ARGUMENTS WHAT [IDL FLAG…]
generate() {
  local idl=${4:-shop.thrift} whose="the bookshop's IDL"
  [ "$idl" = shop.thrift ] || whose=$idl
  (cd "$work" && tool/kitex -module github.com/thrum-rpc/thrum/contrib/kitex -gen-path "internal/gen/$1" \
    "${@:5}" -no-dependency-check -thrift "$2" "$idl")
  local dir name
  find "$work/internal/gen/$1" -name '*.go' -printf '%h\n' | sort -u | while read -r dir; do
    name=$(basename "$dir")
    cat >"$dir/doc.go" <<DOC
// Package $name is the output of the kitex tool for $whose: $3. It
// must not be edited.
package $name
DOC
  done
}

generate slim frugal_tag,template=slim "slim structs with frugal tags"
generate untagged frugal_tag=false,template=slim "slim structs with thrift tags only"
generate full frugal_tag "structs with frugal tags and FastCodec"
generate streams frugal_tag "structs with FastCodec, and methods that stream" chat.thrift -streamx
gofmt -w "$work/internal/gen"
echo 'checks = ["inherit", "-ST1005"] # the kitex tool ends error strings with newlines' >"$work/internal/gen/staticcheck.conf"
rm -rf gen
mv "$work/internal/gen" gen
(cd ../../.. && go run ./cmd/thrum gen -o contrib/kitex/internal contrib/kitex/internal/chat.thrift)
