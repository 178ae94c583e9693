package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/common"
	"github.com/thrum-rpc/thrum/examples/shop/parcels"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// open returns a shop and a client that calls it over a connection in memory.
func open(t *testing.T) (*store.Store, *shop.ShopClient) {
	t.Helper()
	s := store.New()
	return s, shop.NewShopClient(rpctest.Start(t, shop.NewShopService(s)))
}

func pointer[T any](v T) *T { return &v }

func TestBooksAreFoundThroughAClient(t *testing.T) {
	_, c := open(t)
	ctx := context.Background()
	b, err := c.GetBook(ctx, 1, common.Currency_USD)
	if err != nil || b.Title != "The Left Hand of Darkness" || *b.Price != (common.Money{Currency: common.Currency_USD, Minor: 1428}) {
		t.Errorf("book 1: %v %v", b, err)
	}
	if cover, err := c.Cover(ctx, 1); err != nil || !bytes.HasPrefix(cover, []byte("\x89PNG")) {
		t.Errorf("cover 1: %q %v", cover, err)
	}
	if v, err := c.Version(ctx); err != nil || v != "bookshop 1" {
		t.Errorf("version: %q %v", v, err)
	}
	for _, search := range []struct {
		s    shop.Search
		want string
	}{
		{shop.Search{Page: 1, Size: 20}, "[1 2 3 4 5]"},
		{shop.Search{Page: 2, Size: 2}, "[3 4]"},
		{shop.Search{Page: 9, Size: 9}, "[]"},
		{shop.Search{Text: pointer("GÖDEL"), Page: 1, Size: 20}, "[2]"},
		{shop.Search{Tags: []string{"classic", "fiction"}, Page: 1, Size: 20}, "[1]"},
		{shop.Search{Formats: []shop.Format{shop.Format_EBOOK, shop.Format_AUDIO}, Page: 1, Size: 20}, "[4 5]"},
		{shop.Search{MinRating: pointer(4.1), Page: 1, Size: 20}, "[1 2]"},
	} {
		found, err := c.Search(ctx, &search.s)
		ids := []int64{}
		for _, b := range found {
			ids = append(ids, b.Id)
		}
		if got := fmt.Sprint(ids); err != nil || got != search.want {
			t.Errorf("%v: found %s, want %s (%v)", &search.s, got, search.want, err)
		}
	}
}

func TestSubjectsAndShelvesKeepTheirShape(t *testing.T) {
	_, c := open(t)
	tree, err := c.Subjects(context.Background())
	if err != nil || tree.Narrower[1].Narrower[1].SeeAlso.Name != "Mathematics" {
		t.Errorf("subjects: %v %v", tree, err)
	}
	shelves, err := c.Shelves(context.Background())
	var got []string
	for shelf, ids := range shelves {
		got = append(got, fmt.Sprint(*shelf, ids))
	}
	sort.Strings(got)
	if want := "[{2 3} [1] {4 1} [2 3]]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("shelves: %v %v, want %s", got, err, want)
	}
}

func TestDeclaredExceptionsReachTheClient(t *testing.T) {
	_, c := open(t)
	ctx := context.Background()
	var missing *common.NotFound
	if _, err := c.GetBook(ctx, 99, common.Currency_EUR); !errors.As(err, &missing) || missing.Key != "99" || missing.GetMessage() != "there is no book 99" {
		t.Errorf("book 99: %v", err)
	}
	var stock *shop.OutOfStock
	if _, err := c.Drill(ctx, shop.Failure_OUT_OF_STOCK); !errors.As(err, &stock) || stock.Book != 5 {
		t.Errorf("second exception of a method: %v", err)
	}
	var undeclared *rpc.ApplicationException
	for _, how := range []shop.Failure{shop.Failure_UNDECLARED, shop.Failure_PANIC} {
		if _, err := c.Drill(ctx, how); !errors.As(err, &undeclared) || undeclared.Type != rpc.InternalError {
			t.Errorf("%s: %v", how, err)
		}
	}
	if n, err := c.Drill(ctx, shop.Failure_NONE); err != nil || n != 4 {
		t.Errorf("a drill that does not fail: %d %v", n, err)
	}
}

func TestOrdersLiveAndEnd(t *testing.T) {
	_, c := open(t)
	ctx := context.Background()
	draft := shop.NewDraft()
	draft.Lines = []*shop.Line{{Book: 2, Quantity: 2}, {Book: 4, Quantity: 1, Note: pointer("a present")}}
	draft.Delivery = &shop.Delivery{Pickup: &shop.Shelf{Aisle: 1, Level: 1}}
	o, err := c.PlaceOrder(ctx, "Ada", draft)
	if err != nil || o.Id != 1 || o.Total.Minor != (2*4200+799)*95/100 || *o.Lines[1].Note != "a present" || o.Delivery.Pickup.Aisle != 1 {
		t.Fatalf("placed: %v %v", o, err)
	}
	var stock *shop.OutOfStock
	if _, err := c.PlaceOrder(ctx, "Bob", draft); !errors.As(err, &stock) || stock.Book != 2 || stock.Left != 0 {
		t.Errorf("ordered twice: %v", err)
	}
	o, err = c.Redirect(ctx, 1, &shop.Delivery{Email: pointer("ada@example.org")})
	if err != nil || o.Delivery.Pickup != nil || o.Delivery.GetEmail() != "ada@example.org" {
		t.Errorf("redirected: %v %v", o, err)
	}
	if err := c.CancelOrder(ctx, 1, "changed my mind"); err != nil {
		t.Errorf("cancelled: %v", err)
	}
	var late *shop.TooLate
	if err := c.CancelOrder(ctx, 1, ""); !errors.As(err, &late) || late.State != shop.OrderState_CANCELLED {
		t.Errorf("cancelled twice: %v", err)
	}
	o, err = c.GetOrder(ctx, 1)
	want := map[shop.OrderState]int64{shop.OrderState_NEW: 1767225660, shop.OrderState_CANCELLED: 1767225720}
	if err != nil || !reflect.DeepEqual(o.History, want) {
		t.Errorf("history: %v %v", o, err)
	}
	if n, err := c.Stock(ctx, []int64{2, 5, 77}); err != nil || !reflect.DeepEqual(n, map[int64]int32{2: 2, 5: 0}) {
		t.Errorf("stock after the end: %v %v", n, err)
	}
}

func TestEverythingComesBackAsItWent(t *testing.T) {
	_, c := open(t)
	sent := shop.NewEverything()
	sent.Flag, sent.Tiny, sent.Small, sent.Medium, sent.Large = true, -128, -32768, -1<<31, -1<<63
	sent.Ratio, sent.Text, sent.Data = -0.1, "тест \x00", []byte{0, 255}
	sent.Numbers, sent.Words = []int32{1, -1}, []string{"a", "b"}
	sent.ByText = map[string]float64{"": 1e300}
	sent.ByNumber = map[int64]string{-1: "minus one"}
	sent.ByEnum = map[shop.Format][]*shop.Author{shop.Format_AUDIO: {{Name: "A", Born: pointer(int16(1900))}, {Name: "B"}}}
	sent.Author = &shop.Author{Name: "C"}
	sent.Subject = &shop.Subject{Name: "top", Narrower: []*shop.Subject{{Name: "below", Narrower: []*shop.Subject{}}}}
	sent.Delivery = &shop.Delivery{Parcel: &shop.Address{Lines: []string{"x"}, Country: "FR"}}
	sent.Nested = []map[string][]bool{{"x": {true, false}}, {}}
	sent.Maybe = pointer(int32(0))
	sent.Blobs = [][]byte{{1}, {}}
	sent.Shelves = []*shop.Shelf{{Aisle: 1, Level: 2}}
	sent.ByBool = map[bool]int8{true: 1, false: 0}
	sent.ByStruct = map[*shop.Shelf][]int16{}
	got, err := c.Echo(context.Background(), sent)
	if err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("sent %v\n got %v\n%v", sent, got, err)
	}
	sent.ByStruct = map[*shop.Shelf][]int16{{Aisle: 3, Level: 4}: {5}}
	got, err = c.Echo(context.Background(), sent)
	if err != nil || len(got.ByStruct) != 1 {
		t.Fatalf("a map with struct keys: %v %v", got, err)
	}
	for shelf, ids := range got.ByStruct {
		if *shelf != (shop.Shelf{Aisle: 3, Level: 4}) || ids[0] != 5 {
			t.Errorf("a map with struct keys holds %v: %v", *shelf, ids)
		}
	}
}

func TestManyArgumentsArriveInTheirPlaces(t *testing.T) {
	_, c := open(t)
	got, err := c.Describe(context.Background(), true, -8, -16, -32, -64, 0.5, "text", []byte{1, 255},
		shop.Format_EBOOK, []string{"a", "b"}, map[string]int32{"x": 1, "y": 2})
	if want := `true -8 -16 -32 -64 0.5 "text" 01ff EBOOK [a b] {x=1 y=2}`; err != nil || got != want {
		t.Errorf("got %s, want %s (%v)", got, want, err)
	}
}

func TestOnewayCallsTakeEffect(t *testing.T) {
	s, c := open(t)
	ctx := context.Background()
	if err := errors.Join(c.Note(ctx, "rain"), c.Viewed(ctx, 3, "Ada"), c.Viewed(ctx, 99, "Ada")); err != nil {
		t.Fatal(err)
	}
	// Calls of one connection may run at the same time, so the effect is waited for.
	for len(s.Notes()) == 0 || s.Views(3) == 0 {
		if err := c.Ping(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Notes(); len(got) != 1 || got[0] != "rain" {
		t.Errorf("notes: %q", got)
	}
}

func TestParcelsUseTheYoungerTypes(t *testing.T) {
	c := parcels.NewParcelsClient(rpctest.Start(t, parcels.NewParcelsService(store.Parcels{})))
	ctx := context.Background()
	id := [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	p, err := c.Track(ctx, id)
	if err != nil || p.Weight != 0.75 || p.Id != id || len(p.Contents) != 1 || p.To.Country != "GB" {
		t.Fatalf("tracked: %v %v", p, err)
	}
	if again, err := c.EchoParcel(ctx, p); err != nil || !reflect.DeepEqual(again, p) {
		t.Errorf("echo: %v %v", again, err)
	}
	var missing *common.NotFound
	if _, err := c.Track(ctx, [16]byte{}); !errors.As(err, &missing) {
		t.Errorf("an unknown parcel: %v", err)
	}
}

func TestBuyersTogetherGetNoMoreThanThereIs(t *testing.T) {
	_, c := open(t)
	var wait sync.WaitGroup
	sold := make(chan struct{}, 20)
	for range 20 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			draft := &shop.Draft{Lines: []*shop.Line{{Book: 1, Quantity: 1}}}
			if _, err := c.PlaceOrder(context.Background(), "Bob", draft); err == nil {
				sold <- struct{}{}
			}
		}()
	}
	wait.Wait()
	if len(sold) != 7 {
		t.Errorf("sold %d copies of 7", len(sold))
	}
}
