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
