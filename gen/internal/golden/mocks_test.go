package golden_test

// How generated mocks are used.

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gen/internal/golden/forms"
	"github.com/thrum-rpc/thrum/gen/internal/golden/forms/formsmock"
	"github.com/thrum-rpc/thrum/gen/internal/golden/streams"
	"github.com/thrum-rpc/thrum/gen/internal/golden/streams/streamsmock"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// inStock is code to test: it calls a library by its interface.
func inStock(ctx context.Context, l forms.Library, title string) bool {
	n, err := l.Stock(ctx, title)
	return err == nil && n > 0
}

func TestAMockStandsInForAnInterface(t *testing.T) {
	m := formsmock.NewMockLibrary(t)
	m.StockFunc = func(_ context.Context, title string) (int64, error) {
		if title == "lost" {
			return 0, &forms.Missing{Title: title}
		}
		return int64(len(title)), nil
	}
	if !inStock(t.Context(), m, "Ulysses") || inStock(t.Context(), m, "") || inStock(t.Context(), m, "lost") {
		t.Error("the functions' answers are not those of the mock")
	}
	var titles []string
	for _, c := range m.StockCalls.All() {
		titles = append(titles, c.Title)
	}
	if got := strings.Join(titles, ","); got != "Ulysses,,lost" {
		t.Errorf("recorded: %q", got)
	}
}

func TestAMockAnswersItsClient(t *testing.T) {
	m := formsmock.NewMockLibrary(t)
	m.PingFunc = func(context.Context) error { return nil }
	m.StockFunc = func(_ context.Context, title string) (int64, error) { return 0, &forms.Missing{Title: title} }
	noted := make(chan string, 1)
	m.NoteFunc = func(_ context.Context, text string) error { noted <- text; return nil }
	c := m.Client(t)
	if err := c.Ping(t.Context()); err != nil || m.PingCalls.Len() != 1 {
		t.Errorf("an inherited method: %v, %d calls", err, m.PingCalls.Len())
	}
	var missing *forms.Missing
	if _, err := c.Stock(t.Context(), "Emma"); !errors.As(err, &missing) || missing.Title != "Emma" {
		t.Errorf("a declared exception: %v", err)
	}
	if err := c.Note(t.Context(), "late"); err != nil || <-noted != "late" {
		t.Errorf("a oneway method: %v", err)
	}
}

func TestAMockSaysWhatIsNotSet(t *testing.T) {
	m := &formsmock.MockLibrary{} // which has no test to fail
	var e *rpc.ApplicationException
	if err := m.Client(t).Lend(t.Context(), "Emma"); !errors.As(err, &e) || !strings.Contains(e.Message, "MockLibrary.LendFunc") {
		t.Errorf("got %v", err)
	}
	if m.LendCalls.Len() != 1 {
		t.Error("the call is not recorded")
	}
}

func TestAMockStreams(t *testing.T) {
	m := streamsmock.NewMockNotes(t)
	m.CountFunc = notes{}.Count
	m.AddFunc = notes{}.Add
	m.EchoFunc = func(ctx context.Context, s stream.BidiStreamingServer[streams.Note, streams.Note]) error {
		if _, err := s.Recv(ctx); err != nil {
			return err
		}
		return errors.New("enough")
	}
	c, ctx := m.Client(t), t.Context()
	count, err := c.Count(ctx, &streams.Note{Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := count.Recv(ctx); err != nil || n.Number != 0 {
		t.Errorf("got %v, %v", n, err)
	}
	if _, err := count.Recv(ctx); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if all := m.CountCalls.All(); len(all) != 1 || all[0].Number != 1 {
		t.Errorf("recorded: %v", all)
	}
	add, err := c.Add(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := add.Send(ctx, &streams.Note{Number: 5}); err != nil {
		t.Fatal(err)
	}
	if sum, err := add.CloseAndRecv(ctx); err != nil || sum.Total != 5 {
		t.Errorf("got %v, %v", sum, err)
	}
	echo, err := c.Echo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := echo.Send(ctx, &streams.Note{}); err != nil {
		t.Fatal(err)
	}
	if _, err := echo.Recv(ctx); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("a failing stream: %v", err)
	}
}
