package flatproto_test

import (
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatproto"
)

// These tests let Protobuf's compiler read the .proto files.

// compiles writes a .proto file, if that is possible, and compiles it.
func compiles(t testing.TB, file *schema.File) error {
	t.Helper()
	out, err := flatproto.AppendSchema(nil, file)
	if err != nil {
		return err
	}
	if file, list := protoidl.Load("x.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"x.proto": out})); file == nil {
		t.Errorf("%v\n%s", list.Err(), out)
	}
	return nil
}

func TestNamesThatProtobufTakesForOneAreRefusedWithBothPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"table T { a_b: int; aB: string; }":                                                  "1:21 1:11 name in JSON in Protobuf: aB",
		"table A {} table B {} table C {} union U { a_b: A, x: B, aB: C } table R { u: U; }": "1:58 1:44 name in JSON in Protobuf: aB",
		"struct S { a_: int; b: int; _a: int; a: int; }":                                     "1:38 1:12 name in JSON in Protobuf: a",
		"enum E : int { Red, Green, RED }":                                                   "1:28 1:16 name without case in Protobuf: Red",
		"enum E : int { a_b, B, A__B_ }":                                                     "1:24 1:16 name without case in Protobuf: AB",
		"enum e_f : int { _, E_F }":                                                          "1:21 1:18 name without case in Protobuf: EF",
		"enum A : int { B_C } enum A_B : int { C }":                                          "1:39 1:16 name in Protobuf: A_B_C",
		"enum A : int { B } table A_B {}":                                                    "1:16 1:26 name in Protobuf: A_B",
		"enum A : int { B = 1 } table A_UNSPECIFIED {}":                                      "1:6 1:30 name in Protobuf: A_UNSPECIFIED",
		"table S {} rpc_service S { M(S): S; }":                                              "1:7 1:24 name in Protobuf: S",
		"namespace a.b; table T {} namespace c; table a_b_T { t: a.b.T; } rpc_service S { M(a_b_T): a_b_T; }": "1:22 1:46 name in Protobuf: a_b_T",
	} {
		list, _ := compiles(t, load(t, text)).(diag.List)
		if len(list) != 1 || len(list[0].Notes) != 1 {
			t.Errorf("%s: %v", text, list)
			continue
		}
		place := func(s diag.Span) string { return strings.TrimPrefix(s.Position().String(), "every.fbs:") }
		got := place(list[0].Span) + " " + place(list[0].Notes[0].Span) + " " + list[0].Message
		if start, end, _ := strings.Cut(want, " name"); !strings.HasPrefix(got, start) || !strings.HasSuffix(got, " name"+end) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestNamesThatProtobufTellsApartAreKept(t *testing.T) {
	for _, text := range []string{
		"table value { x: int; } table Other { y: int; } union U { value, Other } table R { u: U; }",
		"enum E : int { UNSPECIFIED = 1, Unspecified0 = 2 }",
		"table T { aB: int; ab: int; a_b_: int (deprecated); }",
		"table message { x: int; } table option { m: message; } enum reserved : int { a } table T { optional: message; required: option; repeated: reserved = null; group: int; } " +
			"table stream {} rpc_service optional { rpc(stream): option; M(message): stream (streaming: \"client\"); }",
		"table Hello {} table Bye {} rpc_service S { Hello(Hello): Bye; Other(Bye): Hello; Bye(Hello): Hello (streaming: \"bidi\"); }",
		"namespace n; table M {} namespace a.b; table a {} table S_ {} rpc_service S { n_M(n.M): S_; a(n.M): a; b(a): n.M; }",
		"namespace a; table T { n: int; } enum E : int { x } namespace b; table R { a_T: a.T; a_E: a.E; t: [a.T]; e: [a.E]; }",
		"namespace a.message; table stream {} union oneof { stream } table T { o: oneof; s: [stream]; } rpc_service S { M(stream): T; }",
	} {
		if err := compiles(t, load(t, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzAppendSchema writes whatever a schema of FlatBuffers declares: Protobuf's compiler reads it, or it is refused.
func FuzzAppendSchema(f *testing.F) {
	for _, text := range []string{every, "enum E : int { a } table T { e: E; } rpc_service S { M(T): T; }", "namespace a; /// d\nstruct S { a: [int:3]; } union U { S, s: string }"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, _ := fbsidl.Load("x.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"x.fbs": text}))
		if file != nil {
			compiles(t, file)
		}
	})
}
