package flatsuite

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	google "github.com/google/flatbuffers/go"
	"github.com/thrum-rpc/thrum/bench/internal/gen/flat"
	"github.com/thrum-rpc/thrum/flatbuf"
)

// message is a value of a shape, in the object form that package gen writes; the
// methods with Ours are by its code too.
type message interface {
	Maps() []bool
	BuildGoogle(*google.Builder) google.UOffsetT
	PackGoogle(*google.Builder) google.UOffsetT
	UnpackGoogle(*google.Table)
	ReadGoogle(*google.Table) uint64
	ReadSomeGoogle(*google.Table) uint64
	BuildOurs(*flatbuf.Builder) flatbuf.UOffsetT
	Pack(*flatbuf.Builder) flatbuf.UOffsetT
	ReadOurs(*flatbuf.Table) uint64
	ReadSomeOurs(*flatbuf.Table) uint64
	NewProto() flat.ProtoMessage
}

// shape is a message by its name in the suite. bytes is the size that trpc
// published for a message of that many fields.
type shape struct {
	name     string
	bytes    int
	value    message
	fresh    func() message // an empty one
	verifier func() *flatbuf.Verifier
	read     func([]byte) (message, error) // verifies a message and makes a value of it
	// The codec of plain structs: marshal returns the job that makes plain, which says what value says,
	// the message of a builder, and unmarshal fills a fresh one, after verification.
	plain     any
	marshal   func(*flatbuf.Builder) job
	unmarshal func([]byte) (any, error)
}

// shapes returns all shapes that are built in, filled.
func shapes() []shape {
	plain := []shape{
		newShape[flat.F6T, flat.PlainF6]("f6", 284, flat.VerifierOfF6, flat.UnmarshalF6),
		newShape[flat.F76T, flat.PlainF76]("f76", 708, flat.VerifierOfF76, flat.UnmarshalF76),
		newShape[flat.F146T, flat.PlainF146]("f146", 1124, flat.VerifierOfF146, flat.UnmarshalF146),
		newShape[flat.F286T, flat.PlainF286]("f286", 1964, flat.VerifierOfF286, flat.UnmarshalF286),
	}
	maps := []shape{
		newShape[flat.M6T, flat.PlainM6]("m6", 292, flat.VerifierOfM6, flat.UnmarshalM6),
		newShape[flat.M86T, flat.PlainM86]("m86", 1084, flat.VerifierOfM86, flat.UnmarshalM86),
		newShape[flat.M166T, flat.PlainM166]("m166", 1900, flat.VerifierOfM166, flat.UnmarshalM166),
		newShape[flat.M326T, flat.PlainM326]("m326", 3540, flat.VerifierOfM326, flat.UnmarshalM326),
	}
	largePlain, largeMaps := large()
	return slices.Concat(plain, largePlain, maps, largeMaps)
}

// missing writes the code of the large shapes, unless they are built in, and returns the build tag
// that compiles them.
func missing(progress io.Writer) (tag string, err error) {
	generator := filepath.Join("internal", "flatsuite", "generate")
	if plain, _ := large(); plain != nil {
		return "", nil
	}
	if _, err := os.Stat(generator); err != nil {
		fmt.Fprintln(progress, "shapes of more than 326 fields are left out: they are built in the directory of the bench module")
		return "", nil
	}
	fmt.Fprintln(progress, "building the shapes of more than 326 fields")
	cmd := exec.Command("go", "run", "./"+filepath.ToSlash(generator))
	cmd.Stderr = progress
	return "large", cmd.Run()
}

// newShape makes a value of T, and the same of Plain, whose message has the published size but for some
// bytes: a text takes what is missing.
func newShape[T, Plain any, P interface {
	*T
	message
}](name string, bytes int, verifier func() *flatbuf.Verifier, read func([]byte) (*T, error)) shape {
	value, plain := P(new(T)), new(Plain)
	s := shape{
		name: name, bytes: bytes, value: value, plain: plain, verifier: verifier,
		fresh: func() message { return P(new(T)) },
		read: func(msg []byte) (message, error) {
			v, err := read(msg)
			return P(v), err
		},
	}
	codec, err := flatbuf.For[Plain]()
	if err != nil {
		panic(err) // of the tags that the generator wrote
	}
	s.marshal = func(b *flatbuf.Builder) job {
		return func() (uint64, error) {
			if err := codec.MarshalTo(b, plain); err != nil {
				return 0, err
			}
			return uint64(len(b.FinishedBytes())), nil
		}
	}
	s.unmarshal = func(msg []byte) (any, error) {
		v := new(Plain)
		return v, codec.Unmarshal(msg, v)
	}
	for _, v := range []any{value, plain} {
		fill(reflect.ValueOf(v).Elem(), value.Maps())
	}
	if missing := bytes - len(s.message()); missing > 0 {
		text := strings.Repeat("text ", missing/5+1)[:missing]
		for _, v := range []any{value, plain} {
			reflect.ValueOf(v).Elem().FieldByName("Text").SetString(text)
		}
	}
	return s
}

// fill sets all fields but the text of a shape.
func fill(v reflect.Value, maps []bool) {
	v.FieldByName("Id").SetInt(1<<40 + 12345)
	v.FieldByName("Created").SetInt(1_700_000_000_000)
	v.FieldByName("Name").SetString("a name of some length")
	v.FieldByName("Tags").Set(reflect.ValueOf([]string{"first", "second", "third", "the fourth"}))
	v.FieldByName("Active").SetBool(true)
	for i, isMap := range maps {
		f := v.FieldByName(fmt.Sprintf("F%d", i))
		if !isMap {
			f.SetInt(int64(20_000 + i))
			continue
		}
		e := reflect.New(f.Type().Elem().Elem())
		e.Elem().FieldByName("Key").SetString(fmt.Sprintf("key%d", i))
		e.Elem().FieldByName("Value").SetInt(int64(30_000 + i))
		f.Set(reflect.Append(f, e))
	}
}

// message returns the message as ours builds it.
func (s *shape) message() []byte {
	var b flatbuf.Builder
	b.Finish(s.value.BuildOurs(&b))
	return b.FinishedBytes()
}
