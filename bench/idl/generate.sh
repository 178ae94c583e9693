#!/usr/bin/env bash
# Writes internal/gen from codec.thrift, dynamic.thrift, transcode.thrift and rpc.thrift with the
# peers' own generators: the kitex tool (FastCodec, with frugal tags; for the last
# with its service) and, for the first and the last, Apache's compiler; and the
# static code of our own generator.
# Needs Go, network for the Go modules, and `thrift` (0.17 or later) on the path.
set -euo pipefail
cd "$(dirname "$0")/.."
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

mkdir "$work/out"
cp go.mod idl/*.thrift "$work/out/"
for idl in codec dynamic transcode; do
	(cd "$work/out" && "$work/tool/kitex" -module github.com/thrum-rpc/thrum/bench -gen-path kitex \
		-no-dependency-check -thrift frugal_tag,no_processor "$idl.thrift")
done
rm -rf "$work/out/kitex/convert/shapes"
# The service's code imports the messages from where they will stand.
(cd "$work/out" && "$work/tool/kitex" -module github.com/thrum-rpc/thrum/bench -gen-path internal/gen/kitex \
	-no-dependency-check -thrift no_processor -service bench rpc.thrift)
mv "$work/out/internal/gen/kitex/calls" "$work/out/kitex/"
mkdir "$work/out/apache"
thrift --gen go:package_prefix=github.com/thrum-rpc/thrum/bench/internal/gen/apache/ \
	-out "$work/out/apache" idl/codec.thrift
thrift --gen go:package_prefix=github.com/thrum-rpc/thrum/bench/internal/gen/apache/ \
	-out "$work/out/apache" idl/rpc.thrift
rm -rf "$work/out/apache/calls/bench-remote"
cat >"$work/out/kitex/shapes/doc.go" <<'DOC'
// Package shapes is the output of the kitex tool for idl/codec.thrift: structs
// with frugal tags and FastCodec. It must not be edited.
package shapes
DOC
cat >"$work/out/kitex/messages/doc.go" <<'DOC'
// Package messages is the output of the kitex tool for idl/dynamic.thrift:
// structs with frugal tags and FastCodec. It must not be edited.
package messages
DOC
cat >"$work/out/kitex/convert/doc.go" <<'DOC'
// Package convert is the output of the kitex tool for idl/transcode.thrift:
// structs with frugal tags and FastCodec. It must not be edited.
package convert
DOC
cat >"$work/out/kitex/calls/doc.go" <<'DOC'
// Package calls is the output of the kitex tool for idl/rpc.thrift: structs
// with FastCodec, and the service. It must not be edited.
package calls
DOC
cat >"$work/out/apache/calls/doc.go" <<'DOC'
// Package calls is the output of Apache's compiler for idl/rpc.thrift. It must
// not be edited.
package calls
DOC
cat >"$work/out/apache/shapes/doc.go" <<'DOC'
// Package shapes is the output of Apache's compiler for idl/codec.thrift. It
// must not be edited.
package shapes
DOC
# Our own static code, by the generator beside this module.
(cd .. && go run ./cmd/thrum gen bench/idl/codec.thrift -o "$work/out/static" --static \
	--prefix github.com/thrum-rpc/thrum/bench/internal/gen/static)
cat >"$work/out/static/shapes/doc.go" <<'DOC'
// Package shapes is the output of `thrum gen --static` for idl/codec.thrift. It
// must not be edited.
package shapes
DOC
gofmt -w "$work/out/kitex" "$work/out/apache"
rm -rf internal/gen/kitex internal/gen/apache internal/gen/static
mkdir -p internal/gen
mv "$work/out/kitex" "$work/out/apache" "$work/out/static" internal/gen/
