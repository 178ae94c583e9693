package generic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

// This file replaces IDL under load, ten thousand times.

// revision is IDL that differs from every other revision's: in a method's
// name, in fields that come and go, and in the order of things.
func revision(n int) map[string][]byte {
	extra := fmt.Sprintf("%d: optional list<Item> extra%d", 10+n%7, n)
	if n%2 == 0 {
		extra = fmt.Sprintf("%d: map<string, i64> extra%d", 20+n%5, n)
	}
	return map[string][]byte{
		"types.thrift": []byte("struct Item { 1: required i64 id, 2: string name, " + extra + " }\nexception Refused { 1: i64 id }"),
		"shop.thrift": []byte(fmt.Sprintf(`include "types.thrift"
			service Maps { types.Item get(1: i64 id, 2: string name) throws (1: types.Refused refused) string rev%d() }
			service JSON { types.Item fetch(1: i64 id, 2: string name) throws (1: types.Refused refused) }`, n)),
	}
}

// soak is a server and its clients, all by one source of IDL.
type soak struct {
	source     *idl.Source
	server     *rpc.Server
	maps, json *generic.Client
	calls      atomic.Int64
	alive      atomic.Int64 // schemas that are not collected
}

func newSoak(t *testing.T, o idl.Origin) *soak {
	s := &soak{server: rpc.NewServer()}
	caller := rpctest.Serve(t, s.server)
	var err error
	if s.source, err = idl.Open(o, idl.Report(func(error) {})); err != nil {
		t.Fatal(err)
	}
	stop, err := s.source.Follow(func(set *idl.Set) error { return s.take(caller, set) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// take gives a new schema to all: to the server first, so that clients never
// call what it does not know.
func (s *soak) take(caller rpc.Caller, set *idl.Set) error {
	maps, err := set.Service("Maps")
	if err != nil {
		return err
	}
	jsons, err := set.Service("JSON")
	if err != nil {
		return err
	}
	for _, service := range []*schema.Service{maps, jsons} {
		s.alive.Add(1)
		runtime.AddCleanup(service, func(alive *atomic.Int64) { alive.Add(-1) }, &s.alive)
	}
	served, err := generic.ServeJSON(jsons, answerJSON)
	if err != nil {
		return err
	}
	if err := s.server.Replace(generic.ServeMaps(maps, answerMaps)); err != nil {
		return err
	}
	if err := s.server.Replace(served); err != nil {
		return err
	}
	if s.maps == nil {
		s.maps, s.json = generic.New(caller, maps), generic.New(caller, jsons)
	} else {
		s.maps.Replace(maps)
		s.json.Replace(jsons)
	}
	return nil
}

// refused tells which ids end with the exception.
func refused(id int64) bool { return id%10 == 3 }

func answerMaps(_ context.Context, m *schema.Method, args map[string]any) (any, error) {
	if m.Name() != "get" {
		return m.Name(), nil
	}
	if id := args["id"].(int64); refused(id) {
		return nil, generic.Throw(m, "Refused", map[string]any{"id": id})
	}
	item := map[string]any{"id": args["id"], "name": args["name"]}
	for _, f := range m.Returns().Struct().Fields() {
		if f.Type().Kind() == schema.List { // as the schema of this call has it
			item[f.Name()] = []any{map[string]any{"id": 1}}
		}
	}
	return item, nil
}

func answerJSON(_ context.Context, m *schema.Method, args []byte) ([]byte, error) {
	var in struct{ ID int64 }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if refused(in.ID) {
		return nil, generic.ThrowJSON(m, "refused", []byte(`{"id": `+strconv.FormatInt(in.ID, 10)+`}`))
	}
	return args, nil
}

// call makes one call of every kind and checks the answers.
func (s *soak) call(ctx context.Context, id int64) error {
	name := "item " + strconv.FormatInt(id, 10)
	x, err := s.maps.Call(ctx, "get", map[string]any{"id": id, "name": name})
	if err := check(id, err, func() bool {
		item, ok := x.(map[string]any)
		return ok && item["id"] == id && item["name"] == name
	}); err != nil {
		return fmt.Errorf("map: %w: %v", err, x)
	}
	text, err := s.json.CallJSON(ctx, "fetch", []byte(fmt.Sprintf(`{"id": %d, "name": %q}`, id, name)))
	if err := check(id, err, func() bool { return string(text) == fmt.Sprintf(`{"id":%d,"name":%q}`, id, name) }); err != nil {
		return fmt.Errorf("JSON: %w: %s", err, text)
	}
	args := append(append([]byte{10, 0, 1}, dynamic.NewI64(id).Raw()...), 0)
	v, err := s.maps.CallEncoded(ctx, "get", args)
	if err := check(id, err, func() bool {
		got, err := v.Get(dynamic.Name("id"))
		n, errInt := got.Int()
		return err == nil && errInt == nil && n == id
	}); err != nil {
		return fmt.Errorf("encoded: %w: %x", err, v.Raw())
	}
	s.calls.Add(3)
	return nil
}

// check returns what is wrong with the end of a call.
func check(id int64, err error, good func() bool) error {
	thrown, ok := err.(*generic.Exception)
	switch {
	case refused(id) && ok && thrown.Name() == "Refused":
		return nil
	case refused(id):
		return fmt.Errorf("the exception is missing: %w", err)
	case err != nil:
		return err
	case !good():
		return fmt.Errorf("another answer")
	}
	return nil
}

// load lets workers call until the end of work.
func (s *soak) load(t *testing.T, work func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	done := make(chan struct{})
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for id := int64(w); ; id += 4 {
				select {
				case <-done:
					return
				default:
				}
				if err := s.call(ctx, id); err != nil {
					t.Errorf("call %d: %v", id, err)
					return
				}
			}
		})
	}
	defer workers.Wait()
	defer close(done)
	work(ctx)
}

// run replaces the IDL from one revision to another under load, and checks
// each time that the new one is in use.
func (s *soak) run(t *testing.T, from, to int) {
	t.Helper()
	s.load(t, func(ctx context.Context) {
		for n := from; n < to && !t.Failed(); n++ {
			if err := s.source.Replace(idl.Memory(revision(n))); err != nil {
				t.Errorf("revision %d: %v", n, err)
			}
			method := fmt.Sprintf("rev%d", n)
			if x, err := s.maps.Call(ctx, method, nil); x != method || err != nil {
				t.Errorf("%s: %v, %v", method, x, err)
			}
		}
	})
}

// rest returns the bytes and goroutines in use once nothing runs, and waits
// until no more than the schema in use is left.
func (s *soak) rest(t *testing.T) (heap uint64, goroutines int) {
	t.Helper()
	const current = 2 // services of the set in use
	for end := time.Now().Add(20 * time.Second); ; {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // for cleanups and workers that end
		if s.alive.Load() <= current || time.Now().After(end) {
			break
		}
	}
	if n := s.alive.Load(); n > current {
		t.Errorf("%d services of old schemas are kept", n-current)
	}
	runtime.GC() // a second time, for what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

func TestTenThousandReplacementsUnderLoadLoseNoCallAndNoMemory(t *testing.T) {
	replacements := 10_000
	if testing.Short() {
		replacements = 300
	}
	s := newSoak(t, idl.Memory(revision(0)))
	warm := replacements / 10
	s.run(t, 1, warm)
	heap, goroutines := s.rest(t)
	s.run(t, warm, replacements+1)
	heapAfter, goroutinesAfter := s.rest(t)

	if allowed := heap + heap/4 + 1<<20; heapAfter > allowed {
		t.Errorf("the heap grew from %d to %d bytes", heap, heapAfter)
	}
	if goroutinesAfter > goroutines+4 {
		t.Errorf("%d goroutines, then %d", goroutines, goroutinesAfter)
	}
	t.Logf("%d replacements, %d calls; heap %d, then %d bytes", replacements, s.calls.Load(), heap, heapAfter)
}

// Files are written one after the other and not in one step, so that a look in
// between finds IDL that is wrong, or right but without a service.
func TestFilesWrittenUnderLoadLoseNoCall(t *testing.T) {
	dir := t.TempDir()
	write := func(n int) {
		for name, text := range revision(n) {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0)
	s := newSoak(t, idl.Dir(dir))
	ctx, stop := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.source.Watch(ctx, time.Millisecond)
	}()
	defer func() {
		stop()
		<-watched
	}()
	s.load(t, func(ctx context.Context) {
		for n := 1; n <= 50; n++ {
			write(n)
			method := fmt.Sprintf("rev%d", n)
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
				x, err := s.maps.Call(ctx, method, nil)
				if x == method && err == nil {
					break
				}
				if time.Now().After(end) {
					t.Errorf("%s: %v, %v", method, x, err)
					return
				}
			}
		}
	})
	if n := s.calls.Load(); n == 0 {
		t.Error("no call was made")
	}
}
