package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/common"
)

// This file holds the catalogue's side of the shop; orders.go has the orders.

// Store is the bookshop. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	titles []title // the book with number n stands at n-1; books never change
	views  map[common.BookID]int
	notes  []string
	orders []*shop.Order // the order with number n stands at n-1
	now    int64         // seconds since 1970; a minute passes with every change
	drills int32
}

var _ shop.Shop = (*Store)(nil)

// New returns a shop with a few books and no orders.
func New() *Store {
	return &Store{titles: catalogue(), views: make(map[common.BookID]int), now: 1767225600}
}

// maxNotes bounds the log, of which the latest lines are kept.
const maxNotes = 100

func (s *Store) Version(context.Context) (string, error) { return "bookshop 1", nil }

func (s *Store) Ping(context.Context) error { return nil }

func (s *Store) Note(_ context.Context, line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) == maxNotes {
		s.notes = slices.Delete(s.notes, 0, 1)
	}
	s.notes = append(s.notes, line)
	return nil
}

// Notes returns the latest lines of the log, the oldest first.
func (s *Store) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// title returns the book with that number.
func (s *Store) title(id common.BookID) (*title, error) {
	if id < 1 || id > int64(len(s.titles)) {
		return nil, missing("book", id)
	}
	return &s.titles[id-1], nil
}

func missing(kind string, id int64) error {
	return &common.NotFound{Kind: kind, Key: strconv.FormatInt(id, 10), Message: pointer(fmt.Sprintf("there is no %s %d", kind, id))}
}

func (s *Store) GetBook(_ context.Context, id common.BookID, currency common.Currency) (*shop.Book, error) {
	t, err := s.title(id)
	if err != nil {
		return nil, err
	}
	rate, ok := thousandths[currency]
	if !ok {
		return nil, &common.NotFound{Kind: "currency", Key: strconv.Itoa(int(currency))}
	}
	book := *t.book
	book.Price = &common.Money{Currency: currency, Minor: t.book.Price.Minor * rate / 1000}
	return &book, nil
}

func (s *Store) Search(_ context.Context, search *shop.Search) ([]*shop.Book, error) {
	if search == nil {
		search = shop.NewSearch()
	}
	found := []*shop.Book{}
	for _, t := range s.titles {
		if matches(t.book, search) {
			found = append(found, t.book)
		}
	}
	size := min(max(int(search.Size), 1), common.MAX_PAGE_SIZE)
	from := min((max(int(search.Page), 1)-1)*size, len(found))
	return found[from:min(from+size, len(found))], nil
}

func matches(b *shop.Book, s *shop.Search) bool {
	if s.Text != nil && !strings.Contains(strings.ToLower(b.Title), strings.ToLower(*s.Text)) {
		return false
	}
	for _, tag := range s.Tags {
		if !slices.Contains(b.Tags, tag) {
			return false
		}
	}
	if len(s.Formats) > 0 && !slices.Contains(s.Formats, b.Format) {
		return false
	}
	return s.MinRating == nil || b.Rating != nil && *b.Rating >= *s.MinRating
}

func (s *Store) Cover(_ context.Context, id common.BookID) ([]byte, error) {
	t, err := s.title(id)
	if err != nil {
		return nil, err
	}
	if t.book.Thumbnail == nil {
		return nil, missing("cover", id)
	}
	return t.book.Thumbnail, nil
}

func (s *Store) Viewed(_ context.Context, id common.BookID, _ string) error {
	if _, err := s.title(id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[id]++
	return nil
}

// Views returns how often a book was looked at.
func (s *Store) Views(id common.BookID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[id]
}

func (s *Store) Subjects(context.Context) (*shop.Subject, error) { return subjects(), nil }

func (s *Store) Shelves(context.Context) (map[*shop.Shelf][]common.BookID, error) {
	ids := make(map[shop.Shelf][]common.BookID)
	for _, t := range s.titles {
		if t.book.Shelf != nil {
			ids[*t.book.Shelf] = append(ids[*t.book.Shelf], t.book.Id)
		}
	}
	shelves := make(map[*shop.Shelf][]common.BookID)
	for shelf, books := range ids {
		shelves[&shelf] = books
	}
	return shelves, nil
}

// Stock leaves out books that the shop does not know.
func (s *Store) Stock(_ context.Context, ids []common.BookID) (map[common.BookID]int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stock := make(map[common.BookID]int32)
	for _, id := range ids {
		if t, err := s.title(id); err == nil {
			stock[id] = t.copies
		}
	}
	return stock, nil
}

func (s *Store) Echo(_ context.Context, value *shop.Everything) (*shop.Everything, error) {
	if value == nil {
		return nil, errors.New("echo: the value is missing")
	}
	return value, nil
}

func (s *Store) Describe(_ context.Context, flag bool, tiny int8, small int16, medium int32, large int64, ratio float64,
	text string, data []byte, format shop.Format, words []string, counts map[string]int32) (string, error) {
	keys := make([]string, 0, len(counts))
	for k, n := range counts {
		keys = append(keys, fmt.Sprintf("%s=%d", k, n))
	}
	sort.Strings(keys)
	return fmt.Sprintf("%t %d %d %d %d %g %q %x %s [%s] {%s}", flag, tiny, small, medium, large, ratio,
		text, data, format, strings.Join(words, " "), strings.Join(keys, " ")), nil
}

func (s *Store) Drill(_ context.Context, how shop.Failure) (int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drills++
	switch how {
	case shop.Failure_NOT_FOUND:
		return 0, missing("fire", 1)
	case shop.Failure_OUT_OF_STOCK:
		return 0, &shop.OutOfStock{Book: 5, Left: 0}
	case shop.Failure_UNDECLARED:
		return 0, errors.New("this error is not declared")
	case shop.Failure_PANIC:
		panic("this is a drill")
	}
	return s.drills, nil
}
