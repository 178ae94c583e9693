package interop

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
)

// TestPythonReadsAndWritesUUID covers uuid, which the compiler that makes the
// peers' code does not know, and fbthrift's float with it.
func TestPythonReadsAndWritesUUID(t *testing.T) {
	python := pythonPeer(t)
	_, port := startShop(t)
	const id, label = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c9"
	out, err := exec.CommandContext(t.Context(), python.command[0], filepath.Join("python", "parcel.py"), port, id).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	// By field id, as in examples/shop/parcels.thrift.
	type fields = map[string]any
	type list = []any
	want := list{
		fields{"0": fields{
			"1": id, "2": 1.0, "3": 0.75,
			"4": fields{"1": list{"Ada Lovelace", "12 St James's Square"}, "2": "GB"},
			"5": fields{label: float64(float32(0.7))},
			"6": list{fields{"1": "Berlin", "2": 1767232800.0}, fields{"1": "Dover", "2": 1767319200.0}},
		}},
		fields{"0": fields{
			"1": id, "2": 7.0, "3": float64(float32(0.1)),
			"4": fields{"1": list{}, "2": "GB"},
			"5": fields{id: -2.5},
			"6": list{},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
