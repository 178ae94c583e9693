package interop

// FlatBuffers' Python library, with the code that flatc makes of the schema: it reads
// what we write and the reverse, by the object API and by accessors.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/internal/conform/fbs"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

// pythonLacks is what flatc's Python back end refuses, or writes no Python of, with what
// stands for it.
var pythonLacks = strings.NewReplacer(
	", Point, Text: string", "", // members of unions that are no tables
	" things: [Thing];", "", // vectors of unions
	"far: string (offset64); wide: [ubyte] (vector64);", "", // parts with 64 bits
	` = "none"`, "", " = []", "", // defaults of what is no number
	" self: Every;", " again: Every;", // self is an argument of Python's
	` (nested_flatbuffer: "Item")`, "", " (flexbuffer)", "", // bytes to Python, and here
	` (hash: "fnv1a_32")`, "", ` (hash: "fnv1a_64")`, "", ` (hash: "fnv1_64")`, "",
)

// pythonCase is a line to flat.py, pythonAnswer one from there.
type (
	pythonCase struct {
		Message []byte          `json:"message"`
		Value   json.RawMessage `json:"value"`
	}
	pythonAnswer struct {
		Object    json.RawMessage `json:"object"`
		Accessors json.RawMessage `json:"accessors"`
		Packed    []byte          `json:"packed"`
		Built     []byte          `json:"built"`
	}
)

// flatPython runs flat.py on the cases, with code for the schema.
func flatPython(t *testing.T, schema string, cases []pythonCase) []pythonAnswer {
	t.Helper()
	compiler := flatc(t)
	interpreter := need(t, filepath.Join(cache(t), "python", "bin", "python"), setup)
	dir := t.TempDir()
	path := filepath.Join(dir, "every.fbs")
	if err := os.WriteFile(path, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "--python", "--gen-object-api", "--gen-onefile", "-o", dir, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var in, errs bytes.Buffer
	for _, c := range cases {
		if err := json.NewEncoder(&in).Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join("python", "flat.py"))
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+dir)
	cmd.Stdin, cmd.Stderr = &in, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	var answers []pythonAnswer
	for lines := bufio.NewReader(bytes.NewReader(out)); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var a pythonAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d messages", len(answers), len(cases))
	}
	return answers
}

func TestFlatBuffersInPython(t *testing.T) {
	schema := pythonLacks.Replace(fbs.Every())
	file, list := fbsidl.Load("every.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"every.fbs": []byte(schema)}))
	if file == nil {
		t.Fatal(list.Err())
	}
	c, err := flatjson.New(file.Root(), flatjson.EnumNumbers())
	if err != nil {
		t.Fatal(err)
	}
	layout, err := flatbuf.LayoutOf(file.Root())
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := flatbuf.NewVerifier(layout, 0, flatbuf.FileIdentifier("EVRY"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []pythonCase
	for _, text := range []string{
		`{"s":"x"}`, `{"s":""}`, `{"s":"ü 漢 😀","lacking":"there","opt":0}`,
		`{"s":"x","b":false,"i8":-128,"u8":255,"i16":-32768,"u16":65535,"i32":-2147483648,"u32":4294967295}`,
		`{"s":"x","i64":-9223372036854775808,"u64":18446744073709551615,"f":0.25,"d":-1e300,"h":4294967295,"ha":-1,"h64":18446744073709551615}`,
		`{"s":"x","color":11,"mood":-1,"moods":[4,-1,0,3]}`, `{"s":"x","color":0,"mood":0,"f":0,"i16":0,"opt":-5}`,
		`{"s":"x","point":{"x":1.5,"y":-2},"box":{"from":{"x":0.5,"y":3},"marks":[1,2,255],"mood":-1,"id":7}}`,
		`{"s":"x","item":{"name":"a","price":2.5},"thing_type":"Item","thing":{"name":"b","color":9}}`,
		`{"s":"x","thing_type":"Other","thing":{"name":""}}`,
		`{"s":"x","bytes":[0,1,255],"shorts":[-1,2,32767],"doubles":[0.5,-1e-300],"texts":["","é",""],"empty":[1,-1]}`,
		`{"s":"x","bytes":[],"shorts":[],"texts":[],"items":[],"boxes":[],"numbered":[],"nested":[],"flex":[4,4,1]}`,
		`{"s":"x","items":[{"name":"a"},{"name":"b","price":1},{"name":"ba"}],"numbered":[{},{"id":3},{"id":9223372036854775808}]}`,
		`{"s":"x","boxes":[{"from":{"x":0,"y":0},"marks":[0,0,1],"mood":0,"id":1},{"from":{"x":1,"y":2},"marks":[3,4,5],"mood":4,"id":6}]}`,
		`{"s":"1","again":{"s":"2","i8":1,"again":{"s":"3","items":[{"name":"deep"}]}}}`,
	} {
		message, err := c.AppendMessage(nil, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		cases = append(cases, pythonCase{message, json.RawMessage(text)})
	}
	for i, a := range flatPython(t, schema, cases) {
		value := string(cases[i].Value)
		want, err := c.AppendJSON(nil, cases[i].Message)
		if err != nil {
			t.Fatal(err)
		}
		written := map[string][]byte{"the object API": a.Packed, "the builder's functions": a.Built}
		for by, text := range map[string][]byte{"objects": a.Object, "accessors": a.Accessors} {
			message, err := c.AppendMessage(nil, text) // which leaves out what is the default
			if err != nil {
				t.Errorf("%s, read by %s as %s: %v", value, by, text, err)
				continue
			}
			written[by] = message
		}
		for by, message := range written {
			if err := verifier.Verify(message); err != nil {
				t.Errorf("%s, by %s: %v", value, by, err)
			}
			if got, err := c.AppendJSON(nil, message); err != nil || string(got) != string(want) {
				t.Errorf("%s, by %s: %v\n got %s\nwant %s", value, by, err, got, want)
			}
		}
	}
}
