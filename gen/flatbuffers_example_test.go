package gen_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/golden/kinds"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

func ExampleFlatBuffers() {
	text := map[string][]byte{"monster.fbs": []byte("namespace game; table Monster { hp:short = 100; }")}
	f, list := fbsidl.Load("monster.fbs", fbsidl.Sources(text), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	files, err := gen.FlatBuffers([]*schema.File{f}, gen.ImportPrefix("example.com/app"))
	fmt.Println(files[0].Path, err)
	// Output: game/monster.go <nil>
}

// What generated code is used for: a message is built with types, verified and
// read.
func ExampleFlatBuffers_generated() {
	var b flatbuf.Builder
	stat := kinds.NewStatBuilder(&b, flatbuf.String(&b, "strength")).Count(12).End()
	k := kinds.NewKindsBuilder(&b, flatbuf.String(&b, "a hero")).Level(kinds.LevelHigh).Stat(stat).End()
	b.Finish(flatbuf.UOffsetT(k))
	msg := b.FinishedBytes()

	if err := kinds.VerifyKinds(msg); err != nil {
		fmt.Println(err)
		return
	}
	hero := kinds.GetRootAsKinds(msg, 0)
	fmt.Printf("%s: %s, %s %d\n", hero.Required(), hero.Level(), hero.Stat(nil).Name(), hero.Stat(nil).Count())
	// Output: a hero: High, strength 12
}

func ExampleFlatBuffersProject() {
	text := map[string][]byte{"greeter.fbs": []byte("namespace greet; table Name { text:string; } rpc_service Greeter { Hello(Name):Name; }")}
	f, list := fbsidl.Load("greeter.fbs", fbsidl.Sources(text), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	files, err := gen.FlatBuffersProject([]*schema.File{f}, gen.Project{Name: "greeter", Path: "example.com/greeter", Schema: fbsidl.AppendBinary})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(f.Path, f.Keep)
	}
	// Output:
	// stub/greet/greeter.go false
	// stub/schema.bfbs false
	// cmd/client/main.go true
	// config.go true
	// config.json true
	// greeter.go true
	// greeter_test.go true
	// main.go true
	// server_test.go true
	// services.go false
}
