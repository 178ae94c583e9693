package store

import (
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/common"
)

// This file holds what the shop has.

// title is a book with the number of its copies.
type title struct {
	book   *shop.Book
	copies int32
}

func catalogue() []title {
	leGuin := author("Ursula K. Le Guin", 1929)
	return []title{
		{&shop.Book{
			Id: 1, Title: "The Left Hand of Darkness", Authors: []*shop.Author{leGuin},
			Format: shop.Format_PAPERBACK, Price: euros(1299), Rating: pointer(4.1), Tags: []string{"classic", "fiction"},
			Titles: map[string]string{"de": "Die linke Hand der Dunkelheit"}, Thumbnail: []byte("\x89PNG\r\n\x1a\n"),
			InPrint: true, Shelf: &shop.Shelf{Aisle: 2, Level: 3}, Languages: []string{"en", "de"},
		}, 7},
		{&shop.Book{
			Id: 2, Title: "Gödel, Escher, Bach", Authors: []*shop.Author{author("Douglas R. Hofstadter", 1945)},
			Format: shop.Format_HARDBACK, Price: euros(4200), Rating: pointer(4.3), Tags: []string{"classic", "science"},
			Titles: map[string]string{"fr": "Gödel, Escher, Bach : les brins d'une guirlande éternelle"},
			Shelf:  &shop.Shelf{Aisle: 4, Level: 1}, Languages: []string{"en"},
		}, 2},
		{&shop.Book{
			Id: 3, Title: "The Mythical Man-Month", Authors: []*shop.Author{author("Frederick P. Brooks Jr.", 1931)},
			Format: shop.Format_PAPERBACK, Price: euros(3450), Rating: pointer(4.0), Tags: []string{"science"},
			Titles: map[string]string{}, InPrint: true, Shelf: &shop.Shelf{Aisle: 4, Level: 1}, Languages: []string{"en"},
		}, 4},
		{&shop.Book{
			Id: 4, Title: "Le città invisibili", Authors: []*shop.Author{author("Italo Calvino", 1923)},
			Format: shop.Format_EBOOK, Price: euros(799), Tags: []string{"fiction"},
			Titles: map[string]string{"en": "Invisible Cities"}, InPrint: true, Languages: []string{"it"},
		}, 1000},
		{&shop.Book{
			Id: 5, Title: "A Wizard of Earthsea", Authors: []*shop.Author{leGuin},
			Format: shop.Format_AUDIO, Price: euros(1599), Rating: pointer(4.0), Tags: []string{"fiction"},
			Titles: map[string]string{}, InPrint: true, Languages: []string{"en"},
		}, 0},
	}
}

func subjects() *shop.Subject {
	mathematics := &shop.Subject{Name: "Mathematics", Narrower: []*shop.Subject{}}
	return &shop.Subject{Name: "Books", Narrower: []*shop.Subject{
		{Name: "Fiction", Narrower: []*shop.Subject{
			{Name: "Fantasy", Narrower: []*shop.Subject{}},
			{Name: "Science fiction", Narrower: []*shop.Subject{}},
		}},
		{Name: "Science", Narrower: []*shop.Subject{
			mathematics,
			{Name: "Computing", Narrower: []*shop.Subject{}, SeeAlso: mathematics},
		}},
	}}
}

func author(name string, born int16) *shop.Author { return &shop.Author{Name: name, Born: &born} }

func euros(cents int64) *common.Money {
	return &common.Money{Currency: common.Currency_EUR, Minor: cents}
}

// thousandths has what one euro is worth.
var thousandths = map[common.Currency]int64{
	common.Currency_EUR: 1000, common.Currency_GBP: 850, common.Currency_USD: 1100,
}

func pointer[T any](v T) *T { return &v }
