package golden_test

// How handlers serve methods in the forms that they have.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/gen/internal/golden/forms"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// library serves stock by a callback, titles by a future, note by both and in
// the plain form, and lend not at all.
type library struct {
	forms.UnimplementedLibrary
	notes chan string
}

func (l library) Ping(context.Context) error { return nil }

func (l library) StockCallback(title string, reply forms.LibraryStockReply) {
	switch title {
	case "":
		reply.Fail(fmt.Errorf("wrapped: %w", &forms.Missing{Title: "no title"}))
	case "broken":
		go reply.Fail(errors.New("out of paper"))
	default:
		time.AfterFunc(time.Millisecond, func() { reply.Return(int64(len(title))) })
	}
}

func (l library) TitlesFuture(_ context.Context, limit, offset int32) *rpc.Future[[]string] {
	f := rpc.NewFuture[[]string]()
	go func() {
		if limit < 0 {
			f.Reject(&rpc.ApplicationException{Type: 77, Message: "less than none"})
			return
		}
		f.Resolve([]string{fmt.Sprint(limit), fmt.Sprint(offset)}[:min(limit, 2)])
	}()
	return f
}

func (l library) Note(context.Context, string) error { panic("the callback comes first") }

func (l library) NoteFuture(context.Context, string) *rpc.Future[struct{}] {
	panic("the callback comes first")
}

func (l library) NoteCallback(text string, reply rpc.Reply[struct{}]) {
	l.notes <- text
	reply.Done()
}

func TestAGeneratedServiceServesTheFormsOfItsHandler(t *testing.T) {
	l := library{notes: make(chan string, 1)}
	client := forms.NewLibraryClient(rpctest.Start(t, forms.NewLibraryService(l)))
	ctx := t.Context()
	if err := client.Ping(ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
	if n, err := client.Stock(ctx, "Emma"); err != nil || n != 4 {
		t.Errorf("stock: %d, %v", n, err)
	}
	var missing *forms.Missing
	if _, err := client.Stock(ctx, ""); !errors.As(err, &missing) || missing.Title != "no title" {
		t.Errorf("a declared exception: %v", err)
	}
	var e *rpc.ApplicationException
	if _, err := client.Stock(ctx, "broken"); !errors.As(err, &e) || e.Message != "out of paper" {
		t.Errorf("another error: %v", err)
	}
	for limit, want := range map[int32]string{0: "[]", 1: "[1]", 2: "[2 9]"} {
		if got, err := client.Titles(ctx, limit, 9); err != nil || fmt.Sprint(got) != want {
			t.Errorf("titles: %v, %v, want %s", got, err, want)
		}
	}
	if _, err := client.Titles(ctx, -1, 0); !errors.As(err, &e) || e.Type != 77 {
		t.Errorf("a rejected future: %v", err)
	}
	if err := client.Lend(ctx, "Emma"); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
		t.Errorf("a method that is not served: %v", err)
	}
	if err := client.Note(ctx, "hello"); err != nil || <-l.notes != "hello" {
		t.Errorf("note: %v", err)
	}
}
