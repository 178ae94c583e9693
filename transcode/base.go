package transcode

import (
	"path"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the base of a request or reply: what the caller's framework,
// and not its JSON, says about a call.

// Base makes fields of type base.Base and base.BaseResp the caller's. They stand in the
// struct that is converted, or in those that a method takes and returns; the types are
// the structs of these names in base.thrift, or in a schema without files.
//
// A base.Base that is given to [Converter.AppendThriftBase], or by a method RequestBase() []byte of
// an [HTTPRequest], is written unless the JSON has one; if both are there, merge, if
// not nil, appends one of both, each given and taken as a struct in the binary protocol. A
// base.BaseResp is not written to JSON but returned by [Converter.AppendJSONBase], or given to a
// method SetReplyBase([]byte) of an [HTTPResponse].
func Base(merge func(dst, inJSON, given []byte) ([]byte, error)) Option {
	return func(o *options) { o.base, o.mergeBase = true, merge }
}

// AppendThriftBase is AppendThrift with the base of the request, a struct in
// the binary protocol, empty if there is none. The option [Base] must be given.
func (c *Converter) AppendThriftBase(dst, json, base []byte) ([]byte, error) {
	r := fromJSON{c.start(dst, json)}
	r.http = &r.memory().http
	if !c.opts.base {
		r.fail(diag.Unsupported, failed, "the converter was made without the option Base")
	}
	if r.fault != nil || !r.give(base) {
		c.release(r.mem)
		return dst, r.fault
	}
	out, err := c.whole(&r, dst, &c.root)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendJSONBase is AppendJSON, and returns the base of the reply, which
// aliases thrift; nil if it has none.
func (c *Converter) AppendJSONBase(dst, thrift []byte) (out, base []byte, n int, err error) {
	w := toJSON{c.start(dst, thrift)}
	w.http = &w.memory().http
	p := failed
	out = dst
	if !w.tooLong() {
		out, p = w.value(dst, 0, &c.root)
	}
	base = w.http.base
	c.release(w.mem)
	if p < 0 {
		return dst, nil, 0, w.fault
	}
	return out, base, p, nil
}

// give takes the base of the request if it is one struct, or nothing.
func (r *fromJSON) give(base []byte) bool {
	if len(base) > 0 && thriftwire.Skip(base, thriftwire.Struct, r.depth) != len(base) {
		r.fail(diag.InvalidValue, failed, "the base of the request is no struct")
		return false
	}
	r.http.given = base
	return true
}

// mergeBase merges the base that stands in dst from from on, and came before p in the JSON, with
// the given one.
func (r *fromJSON) mergeBase(dst []byte, from, p int) ([]byte, int) {
	merge := r.conv.opts.mergeBase
	if merge == nil || r.http == nil || len(r.http.given) == 0 {
		return dst, p
	}
	merged, err := merge(nil, dst[from:], r.http.given)
	if err != nil {
		return dst, r.codecFailed(err, p)
	}
	if thriftwire.Skip(merged, thriftwire.Struct, r.depth) != len(merged) || len(merged) == 0 {
		return dst, r.fail(diag.InvalidValue, p, "the merged base is no struct")
	}
	if dst = append(dst[:from], merged...); len(dst) > r.limit {
		return dst, r.tooLarge(p)
	}
	return dst, p
}

// bindBase lets the root, which is d, have a base.
func (k *compiler) bindBase(d *schema.StructDef) error {
	bound, err := k.baseStruct(d.Type(), k.conv.root)
	k.conv.root = bound
	return err
}

// bindBases lets the structs in fields of d, which is the root, have a base.
func (k *compiler) bindBases(d *schema.StructDef) error {
	for i, f := range d.Fields() {
		t := &k.conv.root.strct.fields[i].typ
		bound, err := k.baseStruct(f.Type(), *t)
		if err != nil {
			return err
		}
		*t = bound
	}
	return nil
}

// baseStruct returns what converts values of t, plain otherwise, with their base.
func (k *compiler) baseStruct(t *schema.Type, plain typ) (typ, error) {
	if plain.kind != schema.Struct || t.Struct().Flavor() == schema.Union {
		return plain, nil
	}
	none := &httpOptions{
		requestParts: func(*schema.Field) []Part { return nil },
		replyParts:   func(*schema.Field) []Part { return nil },
	}
	in, err := k.binder(none).bind(t.Struct(), true, false)
	if err != nil {
		return plain, err
	}
	r := replyBinder{k, none, map[*schema.StructDef]*reply{}}
	out, err := r.bind(t.Struct(), true)
	return k.special(special{what: boundStruct, bound: in, reply: out}, plain), err
}

// isBase reports whether t is the struct of that name of base.thrift, or of a
// schema without files.
func isBase(t *schema.Type, name string) bool {
	if t.Kind() != schema.Struct || t.Struct().Name() != name {
		return false
	}
	file := t.Struct().File()
	return file == nil || path.Base(file.Path()) == "base.thrift"
}
