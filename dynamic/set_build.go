package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the making of what leads to a value that is set and was absent.

// makes reports whether anything is set at the edge or behind it.
func (e *editor) makes(g *edge) bool {
	for _, slot := range g.slots {
		if e.at(slot).Exists() {
			return true
		}
	}
	if g.next != nil {
		for i := range g.next.edges {
			if e.makes(&g.next.edges[i]) {
				return true
			}
		}
	}
	return false
}

// build appends what an edge leads to where nothing was: a value, or a new
// struct or container of wire type t with what is set in it.
func (e *editor) build(g *edge, t thriftwire.Type) *diag.Fault {
	if g.next == nil {
		x := e.at(g.slots[0])
		if f := e.accept(x, g.step.typ, t); f != nil {
			return f
		}
		return e.put(x)
	}
	br := g.next
	if br.typ == nil {
		return diag.NewFault(diag.NotFound, -1, "there is no value, and without a schema none can be made")
	}
	switch t {
	case thriftwire.Struct:
		var none marks
		at := e.done
		if f := e.addFields(at, br, &none, 0); f != nil {
			return f
		}
		e.dst = thriftwire.AppendStop(e.dst)
		return nil
	case thriftwire.Map:
		h := mapHeader{at: len(e.dst), key: wireOf(br.typ.Key()), elem: wireOf(br.typ.Elem())}
		e.dst = e.proto.appendMap(e.dst, h.key, h.elem, 0)
		h.size = len(e.dst) - h.at
		var none marks
		_, f := e.addEntries(e.done, br, &none, &h, 0, true, 0)
		return f
	default:
		return e.buildList(br)
	}
}

func (e *editor) buildList(br *branch) *diag.Fault {
	t := wireOf(br.typ.Elem())
	head, count := listHeader{at: len(e.dst), elem: t}, 0
	e.dst = e.proto.appendList(e.dst, t, 0)
	head.size = len(e.dst) - head.at
	for i := range br.edges {
		g := &br.edges[i]
		if !e.makes(g) {
			continue
		}
		if g.isElement() || g.step.kind == stepBefore && g.step.num != 0 {
			return g.located(outOfRange(-1, 0))
		}
		var f *diag.Fault
		if t, count, f = e.insert(e.done, g, t, count); f != nil {
			return f
		}
	}
	_, f := e.finishCount(head, t, count, e.done, 0, true, 0)
	return f
}
