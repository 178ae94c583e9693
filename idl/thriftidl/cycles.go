package thriftidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// checkImpossible reports structs of which no value can exist, because each
// would have to contain another of its kind: a chain of required fields, or a
// union whose every field is such a struct.
//
// It computes the structs that can exist, starting from those that need no
// other: each struct waits for its required struct fields, each union for any
// of its fields.
//
// It is a warning: the Apache compiler's own tests hold such structs.
func (r *resolver) checkImpossible() {
	if r.rep.Errors > 0 {
		return
	}
	waiting := make(map[*schema.StructDef]int) // required fields not yet known to be possible
	users := make(map[*schema.StructDef][]*schema.StructDef)
	where := make(map[*schema.StructDef]*typeSym)
	var all, ready []*schema.StructDef
	for _, u := range r.units {
		for _, n := range u.tree.decls {
			if _, ok := n.(*structNode); !ok {
				continue
			}
			sym := u.scope.types[n.base().name.name]
			def := sym.strct
			where[def] = sym
			all = append(all, def)
			needs := needed(def)
			for _, other := range needs {
				users[other] = append(users[other], def)
			}
			waiting[def] = len(needs)
			if len(needs) == 0 {
				ready = append(ready, def)
			}
		}
	}
	possible := make(map[*schema.StructDef]bool)
	for len(ready) > 0 {
		def := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		if possible[def] {
			continue
		}
		possible[def] = true
		for _, user := range users[def] {
			if waiting[user]--; waiting[user] == 0 || user.Flavor() == schema.Union {
				ready = append(ready, user)
			}
		}
	}
	reported := make(map[*schema.StructDef]bool)
	for _, def := range all {
		if !possible[def] && !reported[def] {
			r.reportImpossible(def, possible, reported, where)
		}
	}
}

// needed returns the structs of which def needs a value: all of them for a
// struct, one of them for a union. It is empty for a union with another choice.
func needed(def *schema.StructDef) []*schema.StructDef {
	var list []*schema.StructDef
	for _, f := range def.Fields() {
		isStruct := f.Type().Kind() == schema.Struct
		switch {
		case def.Flavor() == schema.Union && !isStruct:
			return nil
		case isStruct && (def.Flavor() == schema.Union || f.Requiredness() == schema.Required):
			list = append(list, f.Type().Struct())
		}
	}
	return list
}

// reportImpossible follows the chain of impossible structs from def until it
// bites its tail, and reports that ring once.
func (r *resolver) reportImpossible(def *schema.StructDef, possible, reported map[*schema.StructDef]bool, where map[*schema.StructDef]*typeSym) {
	var chain []*schema.Field
	at := make(map[*schema.StructDef]int)
	for {
		if reported[def] {
			break // def only leads to a ring that has been reported
		}
		if from, ok := at[def]; ok {
			r.reportRing(def, chain[from:], where)
			break
		}
		at[def] = len(chain)
		for _, f := range def.Fields() {
			t := f.Type()
			if t.Kind() == schema.Struct && !possible[t.Struct()] && (def.Flavor() == schema.Union || f.Requiredness() == schema.Required) {
				chain = append(chain, f)
				def = t.Struct()
				break
			}
		}
	}
	for seen := range at {
		reported[seen] = true
	}
}

func (r *resolver) reportRing(def *schema.StructDef, ring []*schema.Field, where map[*schema.StructDef]*typeSym) {
	const mostNotes = 8
	names := []string{report.Clip(def.Name())}
	for _, f := range ring[:min(len(ring), mostNotes)] {
		names = append(names, report.Clip(f.Type().Struct().Name()))
	}
	if len(ring) > mostNotes {
		names = append(names, "…")
	}
	sym := where[def]
	d := r.warnf(sym.unit, sym.node.base().name.pos, codeImpossibleStruct, "no value of %s can exist: it contains itself (%s)",
		report.Clip(def.Name()), strings.Join(names, " → "))
	for _, f := range ring[:min(len(ring), mostNotes)] {
		d.Notes = append(d.Notes, report.Note(f.Span(), "%s needs %s here", report.Clip(f.Struct().Name()), report.Clip(f.Type().Struct().Name())))
	}
	d.Hint = "a union needs a field of another kind"
	for _, f := range ring {
		if f.Requiredness() == schema.Required {
			d.Hint = "make one of these fields optional"
		}
	}
}
