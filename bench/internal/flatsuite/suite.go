package flatsuite

import (
	"fmt"
	"reflect"
	"slices"

	google "github.com/google/flatbuffers/go"
	"github.com/thrum-rpc/thrum/bench/internal/gen/flat"
	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/flatbuf"
	"google.golang.org/protobuf/proto"
)

// Suite is the suite "flatbuffers".
func Suite() harness.Suite {
	return harness.Suite{
		Name:  "flatbuffers",
		About: "FlatBuffers built, read and verified, against Google's Go runtime and Protobuf",
		Groups: func() ([]harness.Group, error) {
			var groups []harness.Group
			for _, s := range shapes() {
				groups = append(groups, s.groups()...)
			}
			return groups, nil
		},
		Missing: missing, Also: calls, AlsoTime: callsTime, Marks: marks,
	}
}

// job does a piece of work once. What it returns is kept, so that no work is
// left out.
type job func() (uint64, error)

// contender is somebody's way to do each work; nil for what it does not do.
type contender struct {
	name string
	jobs map[string]func() job // each call makes a job with buffers of its own
}

// works have the works in the order of the report.
var works = []string{"build", "marshal", "object", "read", "read-some", "verify", "roundtrip"}

func (s *shape) groups() []harness.Group {
	msg := s.message()
	us := s.ours(msg)
	structs := s.structs(msg)
	us.jobs["marshal"] = structs["marshal"]
	// How our ways compare with each other: the object form with the typed builder, and the
	// codec of plain structs with both.
	packed := contender{name: "pack", jobs: map[string]func() job{"build": s.packed(), "marshal": s.packed()}}
	typed := contender{name: "typed", jobs: map[string]func() job{"marshal": us.jobs["build"]}}
	codec := contender{name: "structs", jobs: map[string]func() job{"object": structs["object"]}}
	peers := []contender{s.google(msg), s.googleObject(msg), s.protobuf(), s.vtprotobuf(), packed, typed, codec}
	var groups []harness.Group
	for _, w := range works {
		g := harness.Group{
			Work: w, Shape: s.name, Bytes: len(msg), Check: func() error { return s.check(msg) },
			Contestants: []harness.Contestant{contestant(harness.Ours, us.jobs[w])},
		}
		for _, p := range peers {
			if p.jobs[w] == nil {
				continue
			}
			g.Contestants = append(g.Contestants, contestant(p.name, p.jobs[w]))
			g.Pairs = append(g.Pairs, harness.Pair{Ours: harness.Ours, Peer: p.name, Label: p.name})
		}
		groups = append(groups, g)
	}
	return groups
}

func contestant(name string, make func() job) harness.Contestant {
	return harness.Contestant{Name: name, New: func() (harness.Worker, error) {
		do := make()
		var sum uint64
		return func(n int) error {
			for range n {
				v, err := do()
				if err != nil {
					return err
				}
				sum += v
			}
			return nil
		}, nil
	}}
}

// ours is the code of package gen.
func (s *shape) ours(msg []byte) contender {
	verifier, packed := s.verifier(), s.packed()
	read := func(read func(*flatbuf.Table) uint64) func() job {
		return func() job {
			return func() (uint64, error) {
				t := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
				return read(&t), nil
			}
		}
	}
	return contender{name: harness.Ours, jobs: map[string]func() job{
		"build": func() job {
			b := new(flatbuf.Builder)
			return func() (uint64, error) {
				b.Reset()
				b.Finish(s.value.BuildOurs(b))
				return uint64(len(b.FinishedBytes())), nil
			}
		},
		"object": func() job {
			pack := packed()
			return func() (uint64, error) {
				n, err := pack()
				if err == nil {
					_, err = s.read(msg)
				}
				return n, err
			}
		},
		"read":      read(s.value.ReadOurs),
		"read-some": read(s.value.ReadSomeOurs),
		"verify": func() job {
			return func() (uint64, error) { return 0, verifier.Verify(msg) }
		},
		"roundtrip": func() job {
			b := new(flatbuf.Builder)
			return func() (uint64, error) {
				b.Reset()
				b.Finish(s.value.BuildOurs(b))
				msg := b.FinishedBytes()
				if err := verifier.Verify(msg); err != nil {
					return 0, err
				}
				t := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
				return s.value.ReadOurs(&t), nil
			}
		},
	}}
}

// packed builds by the object form.
func (s *shape) packed() func() job {
	return func() job {
		b := new(flatbuf.Builder)
		return func() (uint64, error) {
			b.Reset()
			b.Finish(s.value.Pack(b))
			return uint64(len(b.FinishedBytes())), nil
		}
	}
}

// structs are the works of the codec of plain Go structs.
func (s *shape) structs(msg []byte) map[string]func() job {
	marshal := func() job { return s.marshal(new(flatbuf.Builder)) }
	return map[string]func() job{
		"marshal": marshal,
		"object": func() job {
			marshal := marshal()
			return func() (uint64, error) {
				n, err := marshal()
				if err == nil {
					_, err = s.unmarshal(msg)
				}
				return n, err
			}
		},
	}
}

func (s *shape) google(msg []byte) contender {
	read := func(read func(*google.Table) uint64) func() job {
		return func() job {
			return func() (uint64, error) {
				t := google.Table{Bytes: msg, Pos: google.GetUOffsetT(msg)}
				return read(&t), nil
			}
		}
	}
	return contender{name: "google", jobs: map[string]func() job{
		"build": func() job {
			b := google.NewBuilder(0)
			return func() (uint64, error) {
				b.Reset()
				b.Finish(s.value.BuildGoogle(b))
				return uint64(len(b.FinishedBytes())), nil
			}
		},
		"read":      read(s.value.ReadGoogle),
		"read-some": read(s.value.ReadSomeGoogle),
		"roundtrip": func() job { // without verification, which Google's runtime does not have
			b := google.NewBuilder(0)
			return func() (uint64, error) {
				b.Reset()
				b.Finish(s.value.BuildGoogle(b))
				msg := b.FinishedBytes()
				t := google.Table{Bytes: msg, Pos: google.GetUOffsetT(msg)}
				return s.value.ReadGoogle(&t), nil
			}
		},
	}}
}

// googleObject packs the object form, and for the work object unpacks it too. Its
// builder is reused as google's is.
func (s *shape) googleObject(msg []byte) contender {
	pack := func() job {
		b := google.NewBuilder(0)
		return func() (uint64, error) {
			b.Reset()
			b.Finish(s.value.PackGoogle(b))
			return uint64(len(b.FinishedBytes())), nil
		}
	}
	return contender{name: "google-object", jobs: map[string]func() job{
		"build":   pack,
		"marshal": pack,
		"object": func() job {
			pack := pack()
			return func() (uint64, error) {
				n, err := pack()
				t := google.Table{Bytes: msg, Pos: google.GetUOffsetT(msg)}
				s.fresh().UnpackGoogle(&t)
				return n, err
			}
		},
	}}
}

// protobuf is protobuf-go: fields are set, and in the round trip read again, by
// generated code; messages and the buffer are reused.
func (s *shape) protobuf() contender {
	marshal := func(buf []byte, m flat.ProtoMessage) ([]byte, error) {
		m.Fill(s.value)
		return proto.MarshalOptions{}.MarshalAppend(buf[:0], m)
	}
	return contender{name: "protobuf", jobs: map[string]func() job{
		"build": func() job {
			m, buf := s.value.NewProto(), []byte(nil)
			return func() (n uint64, err error) {
				buf, err = marshal(buf, m)
				return uint64(len(buf)), err
			}
		},
		"roundtrip": func() job {
			m, back, buf := s.value.NewProto(), s.value.NewProto(), []byte(nil)
			return func() (n uint64, err error) {
				if buf, err = marshal(buf, m); err != nil {
					return 0, err
				}
				if err = proto.Unmarshal(buf, back); err != nil {
					return 0, err
				}
				return back.Read(), nil
			}
		},
	}}
}

// vtMessage is a message for which vtprotobuf's generator has written methods.
type vtMessage interface {
	flat.ProtoMessage
	Reset()
	SizeVT() int
	MarshalToSizedBufferVT([]byte) (int, error)
	UnmarshalVT([]byte) error
}

// vtprotobuf is protobuf with vtprotobuf's methods. It does nothing for the large shapes
// unless they were built, by the tag vtprotobuf.
func (s *shape) vtprotobuf() contender {
	c := contender{name: "vtprotobuf"}
	if _, ok := s.value.NewProto().(vtMessage); !ok {
		return c
	}
	marshal := func(buf []byte, m vtMessage) ([]byte, error) {
		m.Fill(s.value)
		n := m.SizeVT()
		buf = slices.Grow(buf[:0], n)[:n]
		_, err := m.MarshalToSizedBufferVT(buf)
		return buf, err
	}
	c.jobs = map[string]func() job{
		"build": func() job {
			m, buf := s.value.NewProto().(vtMessage), []byte(nil)
			return func() (n uint64, err error) {
				buf, err = marshal(buf, m)
				return uint64(len(buf)), err
			}
		},
		"roundtrip": func() job {
			m, back, buf := s.value.NewProto().(vtMessage), s.value.NewProto().(vtMessage), []byte(nil)
			return func() (n uint64, err error) {
				if buf, err = marshal(buf, m); err != nil {
					return 0, err
				}
				back.Reset() // UnmarshalVT merges
				if err = back.UnmarshalVT(buf); err != nil {
					return 0, err
				}
				return back.Read(), nil
			}
		},
	}
	return c
}

// check fails unless both sides read the same from each other's messages.
func (s *shape) check(msg []byte) error {
	verifier := s.verifier()
	if off := len(msg) - s.bytes; off*50 > s.bytes || -off*50 > s.bytes {
		return fmt.Errorf("a message of %d bytes, not of %d", len(msg), s.bytes)
	}
	for _, pack := range []func(*google.Builder) google.UOffsetT{s.value.BuildGoogle, s.value.PackGoogle} {
		b := google.NewBuilder(0)
		b.Finish(pack(b))
		theirs := b.FinishedBytes()
		if off := len(theirs) - len(msg); off*50 > len(msg) || -off*50 > len(msg) {
			return fmt.Errorf("a message of Google's has %d bytes, ours %d", len(theirs), len(msg))
		}
		structs := new(flatbuf.Builder)
		if _, err := s.marshal(structs)(); err != nil {
			return err
		}
		packed := new(flatbuf.Builder)
		packed.Finish(s.value.Pack(packed))
		for _, m := range [][]byte{theirs, msg, structs.FinishedBytes(), packed.FinishedBytes()} {
			if err := verifier.Verify(m); err != nil {
				return err
			}
			if err := s.checkReads(m); err != nil {
				return err
			}
		}
	}
	t := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
	want := s.value.ReadOurs(&t)
	for _, peer := range []contender{s.protobuf(), s.vtprotobuf()} {
		if peer.jobs == nil {
			continue
		}
		if read, err := peer.jobs["roundtrip"]()(); err != nil || read != want {
			return fmt.Errorf("read %x, %s %x: %v", want, peer.name, read, err)
		}
	}
	return nil
}

func (s *shape) checkReads(m []byte) error {
	ours := flatbuf.Table{Bytes: m, Pos: flatbuf.GetIndirectOffset(m, 0)}
	theirs := google.Table{Bytes: m, Pos: google.GetUOffsetT(m)}
	if a, b := s.value.ReadOurs(&ours), s.value.ReadGoogle(&theirs); a != b {
		return fmt.Errorf("read %x, Google %x", a, b)
	}
	if a, b := s.value.ReadSomeOurs(&ours), s.value.ReadSomeGoogle(&theirs); a != b {
		return fmt.Errorf("read %x of some fields, Google %x", a, b)
	}
	plain, err := s.unmarshal(m)
	if err != nil || !reflect.DeepEqual(plain, s.plain) {
		return fmt.Errorf("the Go struct is another: %v", err)
	}
	object, err := s.read(m)
	if err != nil || !reflect.DeepEqual(object, s.value) {
		return fmt.Errorf("the object form is another: %v", err)
	}
	back := s.fresh()
	if back.UnpackGoogle(&theirs); !reflect.DeepEqual(back, s.value) {
		return fmt.Errorf("the object form of Google is another")
	}
	return nil
}
