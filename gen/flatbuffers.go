package gen

import (
	"github.com/thrum-rpc/thrum/gen/internal/fbs"
	"github.com/thrum-rpc/thrum/schema"
)

// FlatBuffers returns the Go source for files of FlatBuffers and, unless [Includes]
// says otherwise, for the files that they include. Names and signatures are
// those of Google's compiler, so that code written for its output needs other imports
// and no other change; there is more beside them: see the package's documentation.
// The same schema and options give the same bytes.
//
// What a file declares belongs to the Go package that it names by the attribute
// "go_package=…", else to the one that [GoPackage] names, else to one for each
// namespace, a/b for a.b; what is in no namespace to one named after the file. A
// package is imported as [ImportPrefix] + "/" + its path, unless its path begins
// with the prefix. Of the other options only Includes, Services, Mocks and Forms count.
//
// The error is a [diag.List] where the schema holds something that Go cannot
// express: packages that would import each other, two types with one name in
// a package, a type without a capital letter that another package needs.
//
// FlatBuffers does not change the files and may run concurrently with itself.
func FlatBuffers(files []*schema.File, opts ...Option) ([]File, error) {
	o := newOptions(opts)
	out, err := fbs.Go(files, fbs.Options{Prefix: o.prefix, Package: o.goPackage, Includes: o.includes, Services: !o.noServices, Mocks: o.mocks, Forms: o.forms})
	if err != nil {
		return nil, err
	}
	list := make([]File, len(out))
	for i, f := range out {
		list[i] = File(f)
	}
	return list, nil
}
