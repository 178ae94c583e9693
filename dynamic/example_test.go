package dynamic_test

import (
	"cmp"
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

func Example() {
	item := schema.NewStruct(schema.DeclSpec{Name: "Item"}, schema.PlainStruct)
	item.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "name", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "price", Type: schema.Basic(schema.I64)}),
	})
	order := schema.NewStruct(schema.DeclSpec{Name: "Order"}, schema.PlainStruct)
	order.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "items", Type: schema.ListOf(item.Type())}),
	})
	message, err := dynamic.AppendAny(nil, order.Type(), map[string]any{
		"items": []any{map[string]any{"name": "pen", "price": 120}, map[string]any{"name": "ink", "price": 350}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// One path, compiled once for many messages.
	price, err := dynamic.Compile(order.Type(), dynamic.Name("items"), dynamic.Index(1), dynamic.Name("price"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := price.Get(dynamic.NewValue(order.Type(), message).Node)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Int())

	// A changed copy of the message.
	changed, err := price.AppendSet(nil, dynamic.NewValue(order.Type(), message).Node, dynamic.NewI64(300))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(order.Type(), changed).Any())

	_, err = v.Text()
	fmt.Println(err)
	// Output:
	// 350 <nil>
	// map[items:[map[name:pen price:120] map[name:ink price:300]]] <nil>
	// type mismatch: a string or binary expected, got i64 (offset 0) [type-mismatch]
}

// shelf is a struct with a list of books.
func shelf() *schema.Type {
	book := schema.NewStruct(schema.DeclSpec{Name: "Book"}, schema.PlainStruct)
	book.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "title", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "pages", Type: schema.Basic(schema.I32)}),
	})
	shelf := schema.NewStruct(schema.DeclSpec{Name: "Shelf"}, schema.PlainStruct)
	shelf.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "owner", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "books", Type: schema.ListOf(book.Type())}),
	})
	return shelf.Type()
}

func books() dynamic.Value {
	b, err := dynamic.AppendAny(nil, shelf(), map[string]any{"owner": "Ada", "books": []any{
		map[string]any{"title": "Long", "pages": 900}, map[string]any{"title": "Short", "pages": 90}, map[string]any{"title": "Leaflet", "pages": 2}}})
	if err != nil {
		fmt.Println(err)
	}
	return dynamic.NewValue(shelf(), b)
}

func ExampleTree() {
	var tree dynamic.Tree // or one of a TreePool
	if err := tree.Load(books()); err != nil {
		fmt.Println(err)
		return
	}
	pages := func(book dynamic.Item) int64 {
		v, _ := book.Get(dynamic.Name("pages")).Value()
		n, _ := v.Int()
		return n
	}
	list := tree.Root().Get(dynamic.Name("books"))
	list.Filter(func(book dynamic.Item) bool { return pages(book) > 10 })
	list.Sort(func(a, b dynamic.Item) int { return cmp.Compare(pages(a), pages(b)) })

	message, err := tree.Append(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(shelf(), message).Any())
	// Output:
	// map[books:[map[pages:90 title:Short] map[pages:900 title:Long]] owner:Ada] <nil>
}

func ExampleNewMask() {
	mask, err := dynamic.NewMask(shelf(), "books(title)")
	if err != nil {
		fmt.Println(err)
		return
	}
	message, _, err := mask.Append(nil, books().Raw())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(shelf(), message).Any())

	_, err = dynamic.NewMask(shelf(), "books(titel)")
	fmt.Println(err)
	// Output:
	// map[books:[map[title:Long] map[title:Short] map[title:Leaflet]]] <nil>
	// Book has no field titel at books (offset 6) [unknown-field]
}

func ExampleCompileAll() {
	paths, err := dynamic.CompileAll(shelf(),
		[]dynamic.Step{dynamic.Name("owner")},
		[]dynamic.Step{dynamic.Name("books"), dynamic.Index(1), dynamic.Name("title")})
	if err != nil {
		fmt.Println(err)
		return
	}
	found := make([]dynamic.Value, paths.Len())
	if err := paths.Get(books().Node, found); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found[0].Text())
	fmt.Println(found[1].Text())

	// The same paths set; a Node that does not exist deletes.
	message, err := paths.AppendSet(nil, books().Node, []dynamic.Node{{}, dynamic.NewString("Shorter")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(shelf(), message).Any())
	// Output:
	// Ada <nil>
	// Short <nil>
	// map[books:[map[pages:900 title:Long] map[pages:90 title:Shorter] map[pages:2 title:Leaflet]]] <nil>
}

func ExamplePath_AppendFilter() {
	list, err := dynamic.Compile(shelf(), dynamic.Name("books"))
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := dynamic.Compile(list.Type().Elem(), dynamic.Name("pages"))
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := list.AppendFilter(nil, books().Node, func(book *dynamic.Iterator) bool {
		v, _ := pages.Get(book.Value().Node)
		n, _ := v.Int()
		return n > 10
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(shelf(), message).Any())
	// Output:
	// map[books:[map[pages:900 title:Long] map[pages:90 title:Short]] owner:Ada] <nil>
}

// A path compiled once serves messages of all protocols, and what is set is
// brought into that of the message.
func ExampleProtocol() {
	typ := shelf()
	message, err := dynamic.Compact.AppendAny(nil, typ, map[string]any{
		"books": []any{map[string]any{"title": "Emma", "pages": 474}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := dynamic.Compile(typ, dynamic.Name("books"), dynamic.Index(0), dynamic.Name("pages"))
	if err != nil {
		fmt.Println(err)
		return
	}
	changed, err := pages.AppendSet(nil, dynamic.Compact.NewValue(typ, message).Node, dynamic.NewI32(475))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.Compact.NewValue(typ, changed).Any())

	binary, err := dynamic.Compact.NewValue(typ, changed).AppendIn(nil, dynamic.Binary)
	fmt.Println(len(message), len(changed), len(binary), err)
	// Output:
	// map[books:[map[pages:475 title:Emma]]] <nil>
	// 13 13 28 <nil>
}
