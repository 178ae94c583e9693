package archtest

// The table of this repository's architecture.

// Rules are what a tree is checked against.
type Rules struct {
	Rooms      []Room
	Restricted map[string][]string // standard package → directories that may import it; tests are free
	Oracles    []string            // modules that tests may import, beyond the standard library
	Modules    map[string][]string // module → directories whose code may import it
	TestOnly   []string            // directories that exist for tests, and so may import oracles
	Unsafe     []string            // directories that may import unsafe
	Assembly   []string            // directories that may hold assembly
	Programs   []string            // directories of programs in C, which no Go package includes
	Env        []string            // directories that may read environment variables
	Variables  []Variable          // package variables that the rule on them allows
	Long       map[string]string   // file → why it may exceed maxLines
}

// Room is a directory (or a directory and all below it, with /...) and the
// directories of this module that its code may import. Tests may import any
// directory: they are where floors meet.
type Room struct {
	Dir     string
	Imports []string
}

// Variable is a package variable that looks as if it changed, and why it may.
type Variable struct {
	Dir, Name, Why string
}

const anything = "./..."

// House is this repository. Rooms stand in the order of the floors: each
// imports from those above it in the list.
var House = Rules{
	Rooms: []Room{
		{"diag", nil},
		{"wire/...", nil},
		{"wire/thriftwire/...", []string{"wire/thriftwire"}},
		{"internal/mem", nil},
		{"internal/execmem", nil},
		{"internal/archtest", nil},
		{"schema", []string{"diag"}},
		{"schema/evolution", []string{"schema", "diag"}},
		{"idl/...", []string{"idl/internal/...", "schema", "diag"}},
		{"idl/fbsidl", []string{"idl/internal/...", "schema", "diag", "wire/flatwire"}}, // binary schemas are FlatBuffers
		{"idl", []string{"idl/fbsidl", "idl/thriftidl", "schema", "diag"}},
		{"internal/plan", []string{"schema", "diag", "wire/..."}},
		{"internal/lower", []string{"internal/plan", "schema", "diag", "wire/thriftwire"}},
		{"internal/engine/jit/enter", nil},
		{"internal/engine/jit/asm", nil},
		{"internal/engine/jit/isa/...", []string{"internal/engine/jit/asm"}},
		{"internal/engine/jit/disasm", nil},
		{"internal/engine/...", []string{"internal/engine/...", "internal/execmem", "internal/plan", "internal/mem", "wire/...", "diag"}},
		{"codec", []string{"internal/lower", "internal/plan", "internal/engine/...", "internal/mem", "schema", "diag", "wire/..."}},
		{"frugal", []string{"codec"}},
		{"flatbuf/flexbuf", []string{"diag", "wire/flatwire"}},
		{"flatbuf", []string{"flatbuf/flexbuf", "internal/mem", "schema", "diag", "wire/flatwire"}},
		{"transcode", []string{"internal/plan", "internal/engine/...", "schema", "diag", "wire/..."}},
		{"transcode/flatjson", []string{"dynamic/flatbuffers", "flatbuf", "flatbuf/flexbuf", "internal/flatpack", "schema", "diag", "wire/flatwire", "wire/jsonwire"}},
		{"transcode/flatproto", []string{"dynamic/flatbuffers", "flatbuf", "internal/flatpack", "schema", "diag", "wire/flatwire", "wire/protowire"}},
		{"dynamic/internal/arena", nil},
		{"dynamic", []string{"dynamic/internal/arena", "schema", "diag", "wire/thriftwire/..."}},
		{"dynamic/protobuf", []string{"dynamic", "dynamic/internal/arena", "schema", "diag", "wire/protowire"}},
		{"dynamic/protobuf/structs", []string{"dynamic/protobuf", "schema", "diag", "wire/protowire"}},
		{"internal/flatpack", []string{"flatbuf", "schema", "diag", "wire/flatwire"}},
		{"dynamic/flatbuffers", []string{"dynamic", "flatbuf", "internal/flatpack", "schema", "diag", "wire/flatwire"}},
		{"dynamic/structs", []string{"dynamic", "codec", "schema", "diag", "wire/thriftwire"}},
		{"rpc/stream", nil},
		{"rpc/transport/...", []string{"rpc/transport/...", "wire/thriftwire/...", "wire/protowire", "diag"}},
		{"internal/inspect", []string{"rpc/transport/...", "dynamic/flatbuffers", "flatbuf", "schema", "diag", "wire/..."}},
		{"internal/load", []string{"rpc/transport/...", "wire/thriftwire/..."}},
		{"rpc/transport/ttstream", []string{"rpc/stream", "rpc/transport/...", "wire/thriftwire", "diag"}},
		{"rpc/internal/callctx", nil},
		{"rpc/internal/workers", nil},
		{"rpc/internal/overload", nil},
		{"rpc", []string{"rpc/stream", "rpc/transport/...", "rpc/internal/...", "codec", "wire/thriftwire/...", "diag"}},
		{"rpc/flatrpc", []string{"rpc", "rpc/stream", "rpc/transport/...", "flatbuf", "diag"}},
		{"rpc/flatgeneric", []string{"rpc", "rpc/flatrpc", "dynamic/flatbuffers", "transcode/flatjson", "transcode/flatproto", "flatbuf", "schema", "diag"}},
		{"rpc/certs", nil},
		{"rpc/handover", []string{"rpc"}},
		{"rpc/resolve", nil},
		{"rpc/cluster", []string{"rpc", "rpc/internal/callctx", "rpc/resolve", "rpc/stream", "rpc/transport/..."}},
		{"rpc/rpctest", []string{"rpc"}},
		{"rpc/admin", []string{"rpc", "rpc/transport", "rpc/transport/grpc", "wire/protowire"}},
		{"rpc/generic", []string{"rpc", "dynamic", "transcode", "schema", "diag", "wire/..."}},
		{"gen", []string{"gen/internal/fbs", "gen/internal/gofile", "gen/internal/skeleton", "schema", "diag"}},
		{"gen/internal/fbs", []string{"gen/internal/gofile", "gen/internal/skeleton", "flatbuf", "schema", "diag"}},
		{"gen/internal/gofile", nil},
		{"gen/internal/skeleton", nil},
		{"gen/static", []string{"diag", "wire/thriftwire"}},
		{"gen/internal/golden/...", []string{"gen/internal/golden/...", "gen/static", "rpc", "rpc/stream", "rpc/rpctest", "codec", "flatbuf", "flatbuf/flexbuf", "rpc/flatrpc", "wire/thriftwire", "diag"}}, // output of gen, compiled and used by its tests
		{"gateway", []string{"rpc", "rpc/generic", "transcode", "schema", "diag", "wire/..."}},
		{"examples/...", []string{"examples/...", "rpc/...", "codec"}},
		{"internal/conform/...", []string{anything}},
		{"internal/interop", []string{anything}},
		{"cmd/...", []string{anything}},
	},
	Restricted: map[string][]string{
		"C":         nil,
		"plugin":    nil,
		"log":       {"cmd/..."},
		"flag":      {"cmd/..."},
		"net":       {"rpc/...", "gateway", "examples/...", "internal/load", "internal/interop", "cmd/..."},
		"net/http":  {"gateway", "rpc", "rpc/admin", "internal/load", "rpc/transport/thrifthttp", "internal/interop", "cmd/..."},
		"os":        {"idl/...", "gen", "rpc/certs", "rpc/handover", "internal/archtest", "internal/conform/...", "internal/interop", "cmd/..."},
		"os/exec":   {"internal/interop", "cmd/..."},
		"reflect":   {"codec", "flatbuf", "frugal", "dynamic/protobuf/structs", "internal/mem", "internal/conform/...", "internal/interop"},
		"syscall":   {"internal/execmem", "internal/load", "rpc/...", "internal/conform/...", "cmd/..."},
		"testing":   {"rpc/rpctest", "gen/internal/golden/...", "internal/conform/...", "internal/interop"}, // generated mocks are for tests
		"go/parser": {"internal/archtest"},
	},
	Oracles: []string{"github.com/apache/thrift", "google.golang.org/protobuf", "pgregory.net/rapid"},
	Modules: map[string][]string{
		"github.com/bufbuild/protocompile": {"idl/protoidl"},
		"google.golang.org/protobuf":       {"idl/protoidl"},
		"github.com/klauspost/compress":    {"rpc/transport/header", "rpc/transport/trpc"},
		"golang.org/x/arch":                {"internal/engine/jit/disasm"},
	},
	TestOnly: []string{"internal/conform/..."},
	Unsafe:   []string{"internal/mem", "internal/execmem", "internal/engine/jit/enter"},
	Assembly: []string{"internal/mem", "internal/execmem", "internal/engine/jit/enter", "wire/jsonwire"},
	Programs: []string{"bench/internal/rpcsuite/native"}, // peers that the suite builds when it runs
	Env:      []string{"cmd/...", "internal/interop"},
	Long:     map[string]string{},
}
